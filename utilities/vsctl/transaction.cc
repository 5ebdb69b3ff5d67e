#include "utilities/vsctl/transaction.h"

#include <algorithm>

#include "lib/ovsdb/client.h"
#include "lib/ovsdb/json.h"

namespace sluice::vsctl {
namespace {

// `value` with the rows that are new named as the builder names them.
Datum Renamed(Datum value, const std::map<Uuid, Uuid>& names, bool is_map) {
  const auto rename = [&names](std::vector<Atom>& atoms) {
    bool any = false;
    for (Atom& atom : atoms) {
      const auto* uuid = std::get_if<Uuid>(&atom);
      const auto found = uuid == nullptr ? names.end() : names.find(*uuid);
      if (found == names.end()) continue;
      atom = found->second;
      any = true;
    }
    return any;
  };
  rename(value.values);
  if (rename(value.keys)) value.Normalize(is_map);
  return value;
}

}  // namespace

const TableSchema* Transaction::FindTable(std::string_view table) const {
  const auto found = schema_.tables.find(table);
  return found == schema_.tables.end() ? nullptr : &found->second;
}

const Database::Table& Transaction::Base(std::string_view table) const {
  static const Database::Table kEmpty;
  return FindTable(table) == nullptr ? kEmpty : replica_(table);
}

std::vector<Uuid> Transaction::Rows(std::string_view table) const {
  std::vector<Uuid> rows;
  for (const auto& [uuid, row] : Base(table)) {
    const auto edit = edit_index_.find(uuid);
    if (edit == edit_index_.end() || !edits_[edit->second].second.deleted) rows.push_back(uuid);
  }
  for (const auto& [uuid, edit] : edits_) {
    if (edit.inserted && !edit.deleted && edit.table == table) rows.push_back(uuid);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

bool Transaction::Exists(std::string_view table, const Uuid& row) const {
  const auto edit = edit_index_.find(row);
  if (edit != edit_index_.end() && edits_[edit->second].second.table == table) {
    return !edits_[edit->second].second.deleted;
  }
  return Base(table).contains(row);
}

bool Transaction::IsInserted(const Uuid& row) const {
  const auto edit = edit_index_.find(row);
  return edit != edit_index_.end() && edits_[edit->second].second.inserted;
}

const Datum& Transaction::OldValue(const Edit& edit, std::string_view column) const {
  static const Datum kEmpty;
  const TableSchema* table = FindTable(edit.table);
  const size_t index = table == nullptr ? TableSchema::npos : table->FindColumn(column);
  if (edit.old == nullptr || index >= edit.old->columns.size()) return kEmpty;
  return edit.old->columns[index];
}

const Datum& Transaction::Get(std::string_view table, const Uuid& row, std::string_view column) const {
  static const Datum kEmpty;
  const TableSchema* schema = FindTable(table);
  const size_t index = schema == nullptr ? TableSchema::npos : schema->FindColumn(column);
  if (index == TableSchema::npos) return kEmpty;
  const auto edit = edit_index_.find(row);
  if (edit != edit_index_.end()) {
    const auto& changes = edits_[edit->second].second.changes;
    if (const auto change = changes.find(column); change != changes.end()) return change->second.value;
  }
  const auto found = Base(table).find(row);
  if (found == Base(table).end() || index >= found->second->columns.size()) return kEmpty;
  return found->second->columns[index];
}

Transaction::Edit& Transaction::EditOf(std::string_view table, const Uuid& row) {
  const auto [found, added] = edit_index_.try_emplace(row, edits_.size());
  if (!added) return edits_[found->second].second;
  Edit edit;
  edit.table = table;
  if (const auto base = Base(table).find(row); base != Base(table).end()) edit.old = base->second;
  return edits_.emplace_back(row, std::move(edit)).second;
}

Transaction::Change& Transaction::ChangeOf(std::string_view table, const Uuid& row, std::string_view column) {
  Edit& edit = EditOf(table, row);
  const auto [change, added] = edit.changes.try_emplace(std::string(column));
  if (added) change->second.value = OldValue(edit, column);
  return change->second;
}

Uuid Transaction::Insert(std::string_view table, std::optional<Uuid> uuid, bool keep_uuid) {
  const Uuid row = uuid.value_or(Uuid::Random());
  Edit& edit = EditOf(table, row);
  edit.inserted = true;
  edit.keep_uuid = keep_uuid;
  edit.deleted = false;
  edit.old = nullptr;
  // What is not set reads as the default that the server will put there.
  if (const TableSchema* schema = FindTable(table); schema != nullptr) {
    for (const ColumnSchema& column : schema->columns) edit.changes[column.name].value = column.type.Default();
  }
  return row;
}

void Transaction::Set(std::string_view table, const Uuid& row, std::string_view column, Datum value) {
  Change& change = ChangeOf(table, row, column);
  change.whole = true;
  change.value = std::move(value);
  change.added.clear();
  change.removed.clear();
}

void Transaction::AddTo(std::string_view table, const Uuid& row, std::string_view column, const Atom& element) {
  Change& change = ChangeOf(table, row, column);
  auto& keys = change.value.keys;
  const auto place = std::lower_bound(keys.begin(), keys.end(), element);
  if (place != keys.end() && *place == element) return;
  keys.insert(place, element);
  if (!change.whole && change.removed.erase(element) == 0) change.added.insert(element);
}

void Transaction::RemoveFrom(std::string_view table, const Uuid& row, std::string_view column, const Atom& element) {
  Change& change = ChangeOf(table, row, column);
  auto& keys = change.value.keys;
  const auto place = std::lower_bound(keys.begin(), keys.end(), element);
  if (place == keys.end() || *place != element) return;
  keys.erase(place);
  if (!change.whole && change.added.erase(element) == 0) change.removed.insert(element);
}

void Transaction::Delete(std::string_view table, const Uuid& row) { EditOf(table, row).deleted = true; }

void Transaction::Verify(std::string_view table, const Uuid& row, std::string_view column) {
  if (!IsInserted(row)) EditOf(table, row).verified.emplace(column);
}

bool Transaction::IsRoot(const Edit& edit) const {
  const TableSchema* table = FindTable(edit.table);
  return table != nullptr && table->is_root;
}

bool Transaction::Differs(const Edit& edit, std::string_view column, const Change& change) const {
  if (edit.inserted) return change.whole || !change.added.empty();
  return change.whole ? change.value != OldValue(edit, column) : !change.added.empty() || !change.removed.empty();
}

bool Transaction::changed() const {
  for (const auto& [uuid, edit] : edits_) {
    if (edit.deleted) {
      if (!edit.inserted && IsRoot(edit)) return true;
      continue;
    }
    if (edit.inserted) return true;
    for (const auto& [column, change] : edit.changes) {
      if (Differs(edit, column, change)) return true;
    }
  }
  return false;
}

Transaction::Operations Transaction::Build(std::string_view comment) const {
  TransactionBuilder builder(schema_);
  std::map<Uuid, Uuid> names;  // the builder's, by ours
  for (const auto& [uuid, edit] : edits_) {
    if (edit.inserted && !edit.deleted) names[uuid] = builder.Insert(edit.table);
  }
  for (const auto& [uuid, edit] : edits_) {
    for (const std::string& column : edit.verified) builder.Verify(edit.table, uuid, column, OldValue(edit, column));
    if (edit.deleted) {
      if (!edit.inserted && IsRoot(edit)) builder.Delete(edit.table, uuid);
      continue;
    }
    const Uuid row = edit.inserted ? names[uuid] : uuid;
    for (const auto& [column, change] : edit.changes) {
      if (!Differs(edit, column, change)) continue;
      const TableSchema* table = FindTable(edit.table);
      const bool is_map = table->columns[table->FindColumn(column)].type.is_map();
      if (change.whole || edit.inserted) {
        builder.Set(edit.table, row, column, Renamed(change.value, names, is_map));
        continue;
      }
      const auto elements = [](const std::set<Atom>& atoms) { return Datum{{atoms.begin(), atoms.end()}, {}}; };
      if (!change.removed.empty()) builder.RemoveFrom(edit.table, row, column, elements(change.removed));
      if (!change.added.empty()) builder.AddTo(edit.table, row, column, Renamed(elements(change.added), names, false));
    }
  }
  const bool increments = increment_ && changed();
  const bool is_new = increments && names.contains(increment_->row);
  if (is_new) {
    builder.Set(increment_->table, names[increment_->row], increment_->column, Datum::Scalar(int64_t{1}));
  } else if (increments) {
    builder.Increment(increment_->table, increment_->row, increment_->column, 1);
  }
  if (!comment.empty()) builder.Comment(comment);

  Operations operations;
  operations.json = std::make_shared<Json>(builder.Build());
  Json& json = *operations.json;
  for (const auto& [ours, theirs] : names) {
    const std::optional<size_t> index = builder.ResultIndex(theirs);
    if (!index) continue;
    operations.inserted[ours] = *index;
    if (edits_[edit_index_.at(ours)].second.keep_uuid) json[*index]["uuid"] = ours.ToString();
  }
  if (increments && !is_new) {
    // The value that others may have incremented too: what the daemon has to reach for this transaction to be done.
    operations.incremented = json.size();
    const Json where = Json::array({Json::array({"_uuid", "==", Json::array({"uuid", increment_->row.ToString()})})});
    json.push_back(
        {{"op", "select"}, {"table", increment_->table}, {"where", where}, {"columns", {increment_->column}}});
  }
  return operations;
}

}  // namespace sluice::vsctl
