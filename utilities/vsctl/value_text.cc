#include "utilities/vsctl/value_text.h"

#include <algorithm>

#include "lib/ovsdb/json.h"
#include "utilities/vsctl/names.h"

namespace sluice::vsctl {

const std::vector<std::string> kSetOperators = {"="};
const std::vector<std::string> kFindOperators = {"=",    "!=",  "<",   ">",    "<=",   ">=",   "{=}",
                                                 "{!=}", "{<}", "{>}", "{<=}", "{>=}", "{in}", "{not-in}"};

absl::Status Symbols::CheckName(const std::string& name) {
  if (name.starts_with('@')) return absl::OkStatus();
  return InvalidArgument("row id \"{}\" does not begin with \"@\"", name);
}

absl::StatusOr<Uuid> Symbols::DefineNew(const std::string& name) {
  SLUICE_RETURN_IF_ERROR(CheckName(name));
  if (uses_[name].defined) return InvalidArgument("row id \"{}\" may only be specified on one --id option", name);
  uses_[name].defined = true;
  return names_.try_emplace(name, Uuid::Random()).first->second;
}

absl::Status Symbols::DefineExisting(const std::string& name, const Uuid& row) {
  SLUICE_RETURN_IF_ERROR(CheckName(name));
  if (uses_[name].defined) return InvalidArgument("row id \"{}\" may only be specified on one --id option", name);
  if (names_.contains(name)) {
    return InvalidArgument("row id \"{}\" specified on \"get\" command was used before it was defined", name);
  }
  // It is in the database already: whether something refers to it is not this line's business.
  uses_[name] = {.defined = true, .strong = true, .weak = true};
  names_[name] = row;
  return absl::OkStatus();
}

void Symbols::NoteReferences(const Datum& datum, const ColumnType& type) {
  const auto note = [this](const std::vector<Atom>& atoms, const BaseType& base) {
    if (base.type != AtomType::kUuid) return;
    for (const auto& [name, uuid] : names_) {
      if (std::find(atoms.begin(), atoms.end(), Atom(uuid)) == atoms.end()) continue;
      (base.ref_type == BaseType::RefType::kWeak ? uses_[name].weak : uses_[name].strong) = true;
    }
  };
  note(datum.keys, type.key);
  if (type.value) note(datum.values, *type.value);
}

absl::Status Symbols::Check(std::vector<std::string>* warnings) const {
  for (const auto& [name, uuid] : names_) {
    const auto use = uses_.find(name);
    if (use == uses_.end() || !use->second.defined) {
      return InvalidArgument("row id \"{0}\" is referenced but never created (e.g. with \"-- --id={0} create ...\")",
                             name);
    }
    if (use->second.strong) continue;
    warnings->push_back(
        fmt::format("row id \"{}\" was created but {} to it was inserted, so it will not actually appear "
                    "in the database",
                    name, use->second.weak ? "only a weak reference" : "no reference"));
  }
  return absl::OkStatus();
}

namespace {

// A string that is written with quotes, as JSON's.
absl::StatusOr<std::string> Unquote(std::string_view text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  if (json.ok() && json->is_string()) return json->get<std::string>();
  if (text.size() < 2 || !text.ends_with('"'))
    return InvalidArgument("{}: missing quote at end of quoted string", text);
  return InvalidArgument("{}: not a valid quoted string; escapes are those of JSON, \\\" for a quote", text);
}

}  // namespace

absl::StatusOr<Atom> ParseAtom(std::string_view text, const BaseType& type, Symbols& symbols) {
  if (type.type != AtomType::kString || text.empty()) {
    const absl::StatusOr<Datum> datum =
        text.empty() ? InvalidArgument("An empty string is not valid as input; use \"\" to represent the empty string")
                     : ColumnType{.key = type, .min = 1, .max = 1}.ParseText(text, symbols.names());
    if (!datum.ok()) return datum.status();
    return datum->keys[0];
  }
  Atom atom{std::string(text)};
  if (text.starts_with('"')) {
    absl::StatusOr<std::string> unquoted = Unquote(text);
    if (!unquoted.ok()) return unquoted.status();
    atom = *std::move(unquoted);
  }
  SLUICE_RETURN_IF_ERROR(type.Check(atom));
  return atom;
}

absl::StatusOr<Datum> ParseDatum(std::string_view text, const ColumnType& type, Symbols& symbols) {
  return type.ParseText(text, symbols.names());
}

absl::StatusOr<std::string> TakeToken(std::string_view& text) {
  constexpr std::string_view kDelimiters = ":=, []{}!<>";
  size_t end = 0;
  if (text.starts_with('"')) {
    for (end = 1; end < text.size() && text[end] != '"'; ++end) {
      if (text[end] == '\\') ++end;
    }
    if (end >= text.size()) return InvalidArgument("{}: quoted string extends past end of argument", text);
    ++end;
  } else {
    while (end < text.size() && kDelimiters.find(text[end]) == std::string_view::npos) ++end;
  }
  std::string token(text.substr(0, end));
  text.remove_prefix(end);
  return token;
}

namespace {

absl::StatusOr<const ColumnSchema*> TakeColumn(std::string_view& text, const TableSchema& table) {
  const std::string_view whole = text;
  const absl::StatusOr<std::string> name = TakeToken(text);
  if (!name.ok()) return name.status();
  if (name->empty()) return InvalidArgument("{}: missing column name", whole);
  return FindColumn(table, *name);
}

// The column and the key; the rest stays in `text`.
absl::StatusOr<ColumnArgument> TakeColumnAndKey(std::string_view& text, const TableSchema& table) {
  ColumnArgument argument;
  const absl::StatusOr<const ColumnSchema*> column = TakeColumn(text, table);
  if (!column.ok()) return column.status();
  argument.column = *column;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    absl::StatusOr<std::string> key = TakeToken(text);
    if (!key.ok()) return key.status();
    argument.key = *std::move(key);
  }
  return argument;
}

std::string OperatorList(const std::vector<std::string>& operators) {
  std::string list;
  for (size_t i = 0; i < operators.size(); ++i) {
    if (i > 0) list += i + 1 < operators.size() ? ", " : ", or ";
    list += fmt::format("\"{}\"", operators[i]);
  }
  return list;
}

}  // namespace

absl::StatusOr<const ColumnSchema*> ParseColumnName(std::string_view text, const TableSchema& table) {
  return TakeColumn(text, table);
}

absl::StatusOr<ColumnArgument> ParseColumnArgument(std::string_view text, const TableSchema& table) {
  std::string_view rest = text;
  absl::StatusOr<ColumnArgument> argument = TakeColumnAndKey(rest, table);
  if (argument.ok() && !rest.empty()) {
    return InvalidArgument("{}: trailing garbage \"{}\" in argument", text, rest);
  }
  return argument;
}

absl::StatusOr<ColumnArgument> ParseColumnArgument(std::string_view text, const TableSchema& table,
                                                   const std::vector<std::string>& operators) {
  std::string_view rest = text;
  absl::StatusOr<ColumnArgument> argument = TakeColumnAndKey(rest, table);
  if (!argument.ok()) return argument;
  for (const std::string& op : operators) {
    // The longest: "<=" is not "<".
    if (rest.starts_with(op) && op.size() > argument->op.size()) argument->op = op;
  }
  argument->value = rest.substr(argument->op.size());
  if (argument->op.empty() || argument->value.empty()) {
    return InvalidArgument("{}: argument does not end in {} followed by a value.", text, OperatorList(operators));
  }
  return argument;
}

}  // namespace sluice::vsctl
