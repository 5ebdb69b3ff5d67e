#include "lib/ovsdb/schema.h"

#include <algorithm>

#include "lib/ovsdb/error.h"
#include "lib/ovsdb/json.h"
#include "lib/ovsdb/json_members.h"

namespace sluice {
namespace {

bool IsVersion(std::string_view text) {
  int parts = 1;
  bool digits = false;
  for (char c : text) {
    if (c == '.' && !digits) return false;
    if (c != '.' && (c < '0' || c > '9')) return false;
    parts += c == '.';
    digits = c != '.';
  }
  return parts == 3 && digits;
}

using Members = JsonMembers;

bool IsType(const Json& json) { return json.is_string() || json.is_object(); }
bool IsMax(const Json& json) { return Members::IsUnsigned32(json) || (json.is_string() && json == "unlimited"); }

const std::string& Text(const Json& json) { return Members::Text(json); }

absl::Status ParseAtomType(const Json& json, AtomType* type) {
  bool known = false;
  *type = AtomTypeOrDefault(Text(json), &known);
  if (!known) return OvsdbSyntaxError(json, fmt::format("\"{}\" is not an atomic-type", Text(json)));
  return absl::OkStatus();
}

absl::Status ParseEnumeration(const Json& json, BaseType* base) {
  ColumnType set;
  set.key.type = base->type;
  set.max = ColumnType::kUnlimited;
  absl::StatusOr<Datum> values = set.Parse(json, nullptr);
  if (!values.ok()) return values.status();
  base->enumeration = *std::move(values);
  return absl::OkStatus();
}

void ParseNumberConstraints(Members& members, BaseType* base) {
  if (base->type == AtomType::kInteger) {
    if (const Json* min = members.Optional("minInteger", Members::IsInteger)) base->min_integer = min->get<int64_t>();
    if (const Json* max = members.Optional("maxInteger", Members::IsInteger)) base->max_integer = max->get<int64_t>();
    if (base->min_integer > base->max_integer) members.Fail("minInteger exceeds maxInteger");
  } else if (base->type == AtomType::kReal) {
    if (const Json* min = members.Optional("minReal", Members::IsNumber)) base->min_real = min->get<double>();
    if (const Json* max = members.Optional("maxReal", Members::IsNumber)) base->max_real = max->get<double>();
    if (base->min_real && base->max_real && *base->min_real > *base->max_real) {
      members.Fail("minReal exceeds maxReal");
    }
  }
}

void ParseOtherConstraints(Members& members, BaseType* base) {
  if (base->type == AtomType::kString) {
    if (const Json* min = members.Optional("minLength", Members::IsUnsigned32)) base->min_length = min->get<uint32_t>();
    if (const Json* max = members.Optional("maxLength", Members::IsUnsigned32)) base->max_length = max->get<uint32_t>();
    if (base->min_length > base->max_length) members.Fail("minLength exceeds maxLength");
  } else if (base->type == AtomType::kUuid) {
    if (const Json* table = members.Optional("refTable", Members::IsString)) base->ref_table = Text(*table);
    if (const Json* type = members.Optional("refType", Members::IsString)) {
      if (Text(*type) == "weak") {
        base->ref_type = BaseType::RefType::kWeak;
      } else if (Text(*type) != "strong") {
        members.Fail("refType must be \"strong\" or \"weak\"");
      }
    }
  }
}

absl::StatusOr<BaseType> ParseBaseType(const Json& json) {
  BaseType base;
  if (json.is_string()) {
    SLUICE_RETURN_IF_ERROR(ParseAtomType(json, &base.type));
    return base;
  }
  Members members(json, "ovsdb type");
  const Json* type = members.Required("type", Members::IsString);
  if (type == nullptr) return members.Finish();
  SLUICE_RETURN_IF_ERROR(ParseAtomType(*type, &base.type));
  if (const Json* values = members.Optional("enum", Members::IsAny)) {
    SLUICE_RETURN_IF_ERROR(ParseEnumeration(*values, &base));
  } else {
    ParseNumberConstraints(members, &base);
    ParseOtherConstraints(members, &base);
  }
  SLUICE_RETURN_IF_ERROR(members.Finish());
  return base;
}

absl::StatusOr<ColumnType> ParseColumnType(const Json& json) {
  ColumnType type;
  if (json.is_string()) {
    SLUICE_RETURN_IF_ERROR(ParseAtomType(json, &type.key.type));
    return type;
  }
  Members members(json, "ovsdb type");
  const Json* key = members.Required("key", IsType);
  if (key == nullptr) return members.Finish();
  absl::StatusOr<BaseType> key_type = ParseBaseType(*key);
  if (!key_type.ok()) return key_type.status();
  type.key = *std::move(key_type);

  if (const Json* value = members.Optional("value", IsType)) {
    absl::StatusOr<BaseType> value_type = ParseBaseType(*value);
    if (!value_type.ok()) return value_type.status();
    type.value = *std::move(value_type);
  }
  if (const Json* min = members.Optional("min", Members::IsUnsigned32)) type.min = min->get<uint32_t>();
  if (const Json* max = members.Optional("max", IsMax)) {
    type.max = max->is_string() ? ColumnType::kUnlimited : max->get<uint32_t>();
  }
  if (type.min > 1 || type.max == 0) members.Fail("ovsdb type fails constraint checks");
  SLUICE_RETURN_IF_ERROR(members.Finish());
  return type;
}

absl::StatusOr<ColumnSchema> ParseColumn(const std::string& name, const Json& json) {
  Members members(json, fmt::format("schema for column {}", name));
  ColumnSchema column;
  column.name = name;
  if (const Json* ephemeral = members.Optional("ephemeral", Members::IsBoolean))
    column.ephemeral = ephemeral->get<bool>();
  if (const Json* is_mutable = members.Optional("mutable", Members::IsBoolean))
    column.is_mutable = is_mutable->get<bool>();
  const Json* type = members.Required("type", IsType);
  SLUICE_RETURN_IF_ERROR(members.Finish());
  absl::StatusOr<ColumnType> column_type = ParseColumnType(*type);
  if (!column_type.ok()) return column_type.status();
  column.type = *std::move(column_type);
  return column;
}

absl::Status ParseIndexes(const Json& json, TableSchema* table) {
  for (const Json& index : json) {
    std::vector<std::string> columns;
    if (!index.is_array() || index.empty()) return OvsdbSyntaxError(index, "array of distinct column names expected");
    for (const Json& column : index) {
      if (!column.is_string() || table->FindColumn(Text(column)) == TableSchema::npos) {
        return OvsdbSyntaxError(index, fmt::format("{} is not a valid column name", DumpJson(column)));
      }
      if (std::find(columns.begin(), columns.end(), Text(column)) != columns.end()) {
        return OvsdbSyntaxError(index, "array of distinct column names expected");
      }
      if (table->columns[table->FindColumn(Text(column))].ephemeral) {
        return OvsdbSyntaxError(json, "ephemeral columns are not allowed to appear in table indexes");
      }
      columns.push_back(Text(column));
    }
    table->indexes.push_back(std::move(columns));
  }
  return absl::OkStatus();
}

absl::StatusOr<TableSchema> ParseTable(const std::string& name, const Json& json) {
  Members members(json, fmt::format("table schema for table {}", name));
  TableSchema table;
  table.name = name;
  const Json* columns = members.Required("columns", Members::IsObject);
  if (const Json* max_rows = members.Optional("maxRows", Members::IsUnsigned32))
    table.max_rows = max_rows->get<uint32_t>();
  if (const Json* is_root = members.Optional("isRoot", Members::IsBoolean)) table.is_root = is_root->get<bool>();
  const Json* indexes = members.Optional("indexes", Members::IsArray);
  if (table.max_rows == 0) members.Fail("maxRows must be at least 1");
  SLUICE_RETURN_IF_ERROR(members.Finish());
  if (columns->empty()) return OvsdbSyntaxError(json, "table must have at least one column");

  // The JSON object holds its members by name, which is the order that FindColumn() needs.
  for (const auto& [column_name, column_json] : columns->items()) {
    if (!IsOvsdbId(column_name)) return OvsdbSyntaxError(json, fmt::format("name must be a valid id: {}", column_name));
    if (column_name[0] == '_') {
      return OvsdbSyntaxError(json, fmt::format("names beginning with \"_\" are reserved: {}", column_name));
    }
    absl::StatusOr<ColumnSchema> column = ParseColumn(column_name, column_json);
    if (!column.ok()) return column.status();
    table.columns.push_back(*std::move(column));
  }
  if (indexes != nullptr) SLUICE_RETURN_IF_ERROR(ParseIndexes(*indexes, &table));
  return table;
}

absl::Status CheckReference(const DatabaseSchema& schema, const ColumnSchema& column, const BaseType& base) {
  if (base.ref_table.empty() || schema.tables.contains(base.ref_table)) return absl::OkStatus();
  return OvsdbError("syntax error", fmt::format("column {} refers to undefined table {}", column.name, base.ref_table));
}

absl::Status CheckReferences(const DatabaseSchema& schema) {
  for (const auto& [name, table] : schema.tables) {
    for (const ColumnSchema& column : table.columns) {
      SLUICE_RETURN_IF_ERROR(CheckReference(schema, column, column.type.key));
      if (column.type.value) SLUICE_RETURN_IF_ERROR(CheckReference(schema, column, *column.type.value));
    }
  }
  return absl::OkStatus();
}

bool AllRoot(const DatabaseSchema& schema) {
  return std::all_of(schema.tables.begin(), schema.tables.end(),
                     [](const auto& table) { return table.second.is_root; });
}

Json BaseToJson(const BaseType& base) {
  Json json = {{"type", AtomTypeName(base.type)}};
  if (base.enumeration) {
    ColumnType set;
    set.key.type = base.type;
    set.max = ColumnType::kUnlimited;
    json["enum"] = DatumToJson(*base.enumeration, set);
  }
  if (base.min_integer != INT64_MIN) json["minInteger"] = base.min_integer;
  if (base.max_integer != INT64_MAX) json["maxInteger"] = base.max_integer;
  if (base.min_real) json["minReal"] = *base.min_real;
  if (base.max_real) json["maxReal"] = *base.max_real;
  if (base.min_length != 0) json["minLength"] = base.min_length;
  if (base.max_length != UINT32_MAX) json["maxLength"] = base.max_length;
  if (!base.ref_table.empty()) json["refTable"] = base.ref_table;
  if (base.ref_type == BaseType::RefType::kWeak) json["refType"] = "weak";
  return json.size() == 1 ? json["type"] : json;
}

Json TypeToJson(const ColumnType& type) {
  Json key = BaseToJson(type.key);
  if (type.is_scalar() && key.is_string()) return key;
  Json json = {{"key", std::move(key)}};
  if (type.value) json["value"] = BaseToJson(*type.value);
  if (type.min != 1) json["min"] = type.min;
  if (type.max == ColumnType::kUnlimited) {
    json["max"] = "unlimited";
  } else if (type.max != 1) {
    json["max"] = type.max;
  }
  return json;
}

Json TableToJson(const TableSchema& table, bool all_root) {
  Json columns = Json::object();
  for (const ColumnSchema& column : table.columns) {
    Json& json = columns[column.name];
    json = {{"type", TypeToJson(column.type)}};
    if (column.ephemeral) json["ephemeral"] = true;
    if (!column.is_mutable) json["mutable"] = false;
  }
  Json json = {{"columns", std::move(columns)}};
  if (table.max_rows != UINT32_MAX) json["maxRows"] = table.max_rows;
  if (table.is_root && !all_root) json["isRoot"] = true;
  if (!table.indexes.empty()) json["indexes"] = table.indexes;
  return json;
}

}  // namespace

size_t TableSchema::FindColumn(std::string_view column) const {
  auto found =
      std::lower_bound(columns.begin(), columns.end(), column,
                       [](const ColumnSchema& schema, std::string_view wanted) { return schema.name < wanted; });
  return found != columns.end() && found->name == column ? static_cast<size_t>(found - columns.begin()) : npos;
}

absl::StatusOr<DatabaseSchema> DatabaseSchema::Parse(const Json& json) {
  Members members(json, "database schema");
  DatabaseSchema schema;
  if (const Json* name = members.Required("name", Members::IsString)) schema.name = Text(*name);
  if (const Json* version = members.Optional("version", Members::IsString)) schema.version = Text(*version);
  if (const Json* cksum = members.Optional("cksum", Members::IsString)) schema.cksum = Text(*cksum);
  const Json* tables = members.Required("tables", Members::IsObject);
  if (!schema.name.empty() && !IsOvsdbId(schema.name)) members.Fail("name must be a valid id");
  if (!schema.version.empty() && !IsVersion(schema.version)) {
    members.Fail(fmt::format("schema version \"{}\" not in format x.y.z", schema.version));
  }
  SLUICE_RETURN_IF_ERROR(members.Finish());
  for (const auto& [name, table_json] : tables->items()) {
    if (!IsOvsdbId(name) || name[0] == '_') {
      return OvsdbSyntaxError(json, fmt::format("table name {} is not a valid id or begins with \"_\"", name));
    }
    absl::StatusOr<TableSchema> table = ParseTable(name, table_json);
    if (!table.ok()) return table.status();
    schema.tables.emplace(name, *std::move(table));
  }
  SLUICE_RETURN_IF_ERROR(CheckReferences(schema));

  // Schemas older than isRoot keep their rows whether something references them or not.
  bool any_root =
      std::any_of(schema.tables.begin(), schema.tables.end(), [](const auto& table) { return table.second.is_root; });
  if (!any_root) {
    for (auto& [name, table] : schema.tables) table.is_root = true;
  }
  return schema;
}

Json DatabaseSchema::ToJson() const {
  bool all_root = AllRoot(*this);
  Json json = {{"name", name}};
  if (!version.empty()) json["version"] = version;
  if (!cksum.empty()) json["cksum"] = cksum;
  json["tables"] = Json::object();
  for (const auto& [table_name, table] : tables) json["tables"][table_name] = TableToJson(table, all_root);
  return json;
}

}  // namespace sluice
