#include <algorithm>
#include <utility>

#include "lib/ovsdb/client.h"

namespace sluice {

namespace {

// The name of an inserted row inside the transaction: an <id> of RFC 7047.
std::string SymbolName(const Uuid& uuid) {
  std::string name = "row" + uuid.ToString();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Json UuidJson(const Uuid& uuid) { return Json::array({"uuid", uuid.ToString()}); }

Json WhereRow(const Uuid& row) { return Json::array({Json::array({"_uuid", "==", UuidJson(row)})}); }

void Merge(const Datum& elements, bool is_map, Datum* value) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t found = value->Find(elements.keys[i]);
    if (found == Datum::npos) {
      value->keys.push_back(elements.keys[i]);
      if (is_map) value->values.push_back(elements.values[i]);
      value->Normalize(is_map);
    } else if (is_map) {
      value->values[found] = elements.values[i];
    }
  }
}

// Elements without values take away keys, whatever their value.
void Remove(const Datum& elements, bool is_map, Datum* value) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t found = value->Find(elements.keys[i]);
    if (found == Datum::npos) continue;
    if (is_map && !elements.values.empty() && elements.values[i] != value->values[found]) continue;
    value->keys.erase(value->keys.begin() + found);
    if (is_map) value->values.erase(value->values.begin() + found);
  }
}

}  // namespace

struct TransactionBuilder::Mutation {
  std::string column;
  bool is_map;
  MutationKind kind;
  Datum elements;  // of kIncrement: by how much
};

// What is to happen to one row.
struct TransactionBuilder::RowEdit {
  const TableSchema* table;
  Uuid uuid;
  bool inserted = false;
  bool deleted = false;
  std::map<std::string, Datum> columns;
  std::vector<Mutation> mutations;

  const ColumnType* Type(std::string_view column) const {
    const size_t index = table->FindColumn(column);
    return index == TableSchema::npos ? nullptr : &table->columns[index].type;
  }
  // The value that the column gets, if that is known here: a mutation then changes it.
  Datum* Known(const std::string& column, const ColumnType& type) {
    const auto found = columns.find(column);
    if (found != columns.end()) return &found->second;
    return inserted ? &columns.emplace(column, type.Default()).first->second : nullptr;
  }

  size_t OperationCount() const {
    if (deleted) return inserted ? 0 : 1;
    return inserted ? 1 : !columns.empty() + !mutations.empty();
  }
};

// Finds or makes the row's edit; null if the schema lacks the table.
TransactionBuilder::RowEdit* TransactionBuilder::Edit(std::string_view table, const Uuid& row) {
  const auto schema = schema_.tables.find(table);
  if (schema == schema_.tables.end()) return nullptr;
  const auto [found, is_new] = index_.try_emplace(row, edits_.size());
  if (is_new) {
    edits_.push_back(std::make_shared<RowEdit>());
    edits_.back()->table = &schema->second;
    edits_.back()->uuid = row;
  }
  return edits_[found->second].get();
}

Uuid TransactionBuilder::Insert(std::string_view table) {
  const Uuid uuid = Uuid::Random();
  if (RowEdit* edit = Edit(table, uuid)) edit->inserted = true;
  return uuid;
}

void TransactionBuilder::Set(std::string_view table, const Uuid& row, std::string_view column, Datum value) {
  RowEdit* const edit = Edit(table, row);
  if (edit == nullptr || edit->Type(column) == nullptr) return;
  std::erase_if(edit->mutations, [&](const Mutation& mutation) { return mutation.column == column; });
  edit->columns.insert_or_assign(std::string(column), std::move(value));
}

void TransactionBuilder::Mutate(std::string_view table, const Uuid& row, std::string_view column, MutationKind kind,
                                Datum elements) {
  RowEdit* const edit = Edit(table, row);
  const ColumnType* const type = edit == nullptr ? nullptr : edit->Type(column);
  if (type == nullptr) return;
  const std::string name(column);
  Datum* const known = edit->Known(name, *type);
  if (known == nullptr) {
    edit->mutations.push_back({name, type->is_map(), kind, std::move(elements)});
  } else if (kind == MutationKind::kAdd) {
    Merge(elements, type->is_map(), known);
  } else if (kind == MutationKind::kRemove) {
    Remove(elements, type->is_map(), known);
  } else {
    *known = Datum::Scalar(known->IntegerOr(0) + elements.IntegerOr(0));
  }
}

void TransactionBuilder::AddTo(std::string_view table, const Uuid& row, std::string_view column, Datum elements) {
  Mutate(table, row, column, MutationKind::kAdd, std::move(elements));
}
void TransactionBuilder::RemoveFrom(std::string_view table, const Uuid& row, std::string_view column, Datum elements) {
  Mutate(table, row, column, MutationKind::kRemove, std::move(elements));
}
void TransactionBuilder::Increment(std::string_view table, const Uuid& row, std::string_view column, int64_t by) {
  Mutate(table, row, column, MutationKind::kIncrement, Datum::Scalar(by));
}

void TransactionBuilder::Delete(std::string_view table, const Uuid& row) {
  if (RowEdit* edit = Edit(table, row)) edit->deleted = true;
}

void TransactionBuilder::Verify(std::string_view table, const Uuid& row, std::string_view column, Datum value) {
  const auto schema = schema_.tables.find(table);
  if (schema == schema_.tables.end()) return;
  const size_t index = schema->second.FindColumn(column);
  if (index == TableSchema::npos) return;
  Json expected = Json::object();
  expected[std::string(column)] = DatumJson(value, schema->second.columns[index].type.is_map());
  head_.push_back({{"op", "wait"},
                   {"table", std::string(table)},
                   {"timeout", 0},
                   {"where", WhereRow(row)},
                   {"columns", Json::array({std::string(column)})},
                   {"until", "=="},
                   {"rows", Json::array({std::move(expected)})}});
}

void TransactionBuilder::Assert(std::string_view lock) {
  head_.insert(head_.begin(), Json{{"op", "assert"}, {"lock", std::string(lock)}});
}

void TransactionBuilder::Comment(std::string_view text) {
  tail_.push_back({{"op", "comment"}, {"comment", std::string(text)}});
}

bool TransactionBuilder::empty() const {
  return std::none_of(edits_.begin(), edits_.end(), [](const auto& edit) { return edit->OperationCount() > 0; });
}

Json TransactionBuilder::Build() const {
  Json operations = head_;
  for (const auto& edit : edits_) {
    AddOperations(*edit, &operations);
  }
  for (const Json& operation : tail_) {
    operations.push_back(operation);
  }
  return operations;
}

void TransactionBuilder::AddOperations(const RowEdit& edit, Json* operations) const {
  const std::string& table = edit.table->name;
  if (edit.OperationCount() == 0) return;
  if (edit.deleted) {
    operations->push_back({{"op", "delete"}, {"table", table}, {"where", WhereRow(edit.uuid)}});
    return;
  }
  Json row = Json::object();
  for (const auto& [column, value] : edit.columns) {
    row[column] = DatumJson(value, edit.Type(column)->is_map());
  }
  if (edit.inserted) {
    operations->push_back(
        {{"op", "insert"}, {"table", table}, {"uuid-name", SymbolName(edit.uuid)}, {"row", std::move(row)}});
    return;
  }
  if (!row.empty()) {
    operations->push_back(
        {{"op", "update"}, {"table", table}, {"where", WhereRow(edit.uuid)}, {"row", std::move(row)}});
  }
  if (!edit.mutations.empty()) {
    Json mutations = Json::array();
    for (const Mutation& mutation : edit.mutations) {
      AddMutation(mutation, &mutations);
    }
    operations->push_back(
        {{"op", "mutate"}, {"table", table}, {"where", WhereRow(edit.uuid)}, {"mutations", std::move(mutations)}});
  }
}

void TransactionBuilder::AddMutation(const Mutation& mutation, Json* mutations) const {
  const auto add = [&](const char* mutator, Json value) {
    mutations->push_back(Json::array({mutation.column, mutator, std::move(value)}));
  };
  if (mutation.kind == MutationKind::kIncrement) {
    add("+=", mutation.elements.IntegerOr(0));
    return;
  }
  const bool keys_only = mutation.elements.values.empty();
  if (mutation.kind == MutationKind::kRemove) {
    add("delete", DatumJson(mutation.elements, mutation.is_map && !keys_only));
    return;
  }
  // Inserting into a map leaves keys that are there as they are.
  if (mutation.is_map) add("delete", DatumJson(Datum{mutation.elements.keys, {}}, false));
  add("insert", DatumJson(mutation.elements, mutation.is_map));
}

// As DatumToJson writes it, but rows inserted here by their names.
Json TransactionBuilder::DatumJson(const Datum& datum, bool is_map) const {
  if (!is_map && datum.size() == 1) return AtomJson(datum.keys[0]);
  Json elements = Json::array();
  for (size_t i = 0; i < datum.size(); ++i) {
    Json key = AtomJson(datum.keys[i]);
    elements.push_back(is_map ? Json::array({std::move(key), AtomJson(datum.values[i])}) : std::move(key));
  }
  return Json::array({is_map ? "map" : "set", std::move(elements)});
}

Json TransactionBuilder::AtomJson(const Atom& atom) const {
  if (const Uuid* uuid = std::get_if<Uuid>(&atom)) {
    const auto found = index_.find(*uuid);
    const bool inserted = found != index_.end() && edits_[found->second]->inserted;
    return inserted ? Json::array({"named-uuid", SymbolName(*uuid)}) : UuidJson(*uuid);
  }
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Uuid>) {
          return UuidJson(value);
        } else {
          return value;
        }
      },
      atom);
}

std::optional<size_t> TransactionBuilder::ResultIndex(const Uuid& inserted) const {
  const auto found = index_.find(inserted);
  if (found == index_.end() || !edits_[found->second]->inserted || edits_[found->second]->deleted) return std::nullopt;
  size_t index = head_.size();
  for (size_t i = 0; i < found->second; ++i) {
    index += edits_[i]->OperationCount();
  }
  return index;
}

absl::Status TransactionError(const Json& results) {
  if (!results.is_array()) {
    return MakeStatus(absl::StatusCode::kInternal, "transaction: the results are no JSON array");
  }
  for (const Json& result : results) {
    const auto error = result.is_object() ? result.find("error") : result.end();
    if (error == result.end() || !error->is_string()) continue;
    const std::string tag = error->get<std::string>();
    const auto details = result.find("details");
    const std::string text =
        details != result.end() && details->is_string() ? fmt::format("{}: {}", tag, details->get<std::string>()) : tag;
    return MakeStatus(tag == "timed out" ? absl::StatusCode::kAborted : absl::StatusCode::kFailedPrecondition, text);
  }
  return absl::OkStatus();
}

}  // namespace sluice
