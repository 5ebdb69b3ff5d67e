// OVSDB schemas (RFC 7047 section 3.2): what tables and columns a database has and which values they take.
//
// Immutable once parsed. Names are ids of RFC 7047; every table also has the read-only columns _uuid and _version,
// which are not listed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/value.h"

namespace sluice {

struct BaseType {
  enum class RefType : uint8_t { kStrong, kWeak };

  AtomType type = AtomType::kString;
  std::optional<Datum> enumeration;  // a set of `type`
  int64_t min_integer = INT64_MIN;
  int64_t max_integer = INT64_MAX;
  std::optional<double> min_real;
  std::optional<double> max_real;
  uint32_t min_length = 0;  // characters (code points), of strings
  uint32_t max_length = UINT32_MAX;
  std::string ref_table;  // of UUIDs; "" for none
  RefType ref_type = RefType::kStrong;

  // What the constraint broken by `atom` is; OK if none. Referenced rows are not looked at.
  absl::Status Check(const Atom& atom) const;
};

struct ColumnType {
  static constexpr uint32_t kUnlimited = UINT32_MAX;

  BaseType key;
  std::optional<BaseType> value;  // of maps
  uint32_t min = 1;               // elements
  uint32_t max = 1;

  bool is_map() const { return value.has_value(); }
  bool is_scalar() const { return !is_map() && min == 1 && max == 1; }
  bool is_optional() const { return !is_map() && min == 0 && max == 1; }
  // For error messages: "integer", "set of up to 3 strings", "map of (string, string) pairs".
  std::string ToEnglish() const;
  Datum Default() const;
  absl::Status Check(const Datum& datum) const;

  // The value as RFC 7047 writes it: an atom, ["set",[...]], ["map",[[k,v],...]], UUIDs as ["uuid","..."].
  // `symbols`: names from ["named-uuid", name] to UUIDs; those not there yet are made up and added. nullptr: refuse.
  absl::StatusOr<Datum> Parse(const Json& json, std::map<std::string, Uuid, std::less<>>* symbols) const;
  // The utilities' text: DatumToText's reverse, lenient as ovs-vsctl is (commas or spaces, brackets optional).
  // "@name" stands for a symbol where UUIDs are expected.
  absl::StatusOr<Datum> ParseText(std::string_view text, std::map<std::string, Uuid, std::less<>>* symbols) const;
};
Json DatumToJson(const Datum& datum, const ColumnType& type);

struct ColumnSchema {
  std::string name;
  ColumnType type;
  bool ephemeral = false;  // not kept on disk
  bool is_mutable = true;
};

struct TableSchema {
  std::string name;
  std::vector<ColumnSchema> columns;  // by name
  uint32_t max_rows = UINT32_MAX;
  bool is_root = false;
  std::vector<std::vector<std::string>> indexes;

  static constexpr size_t npos = static_cast<size_t>(-1);
  size_t FindColumn(std::string_view column) const;  // index in `columns`, or npos
};

struct DatabaseSchema {
  std::string name;
  std::string version;
  std::string cksum;
  std::map<std::string, TableSchema, std::less<>> tables;

  static absl::StatusOr<DatabaseSchema> Parse(const Json& json);
  Json ToJson() const;
};

// The schema of the Open_vSwitch database that the embedded server serves, by its public names and types
// (ovs-vswitchd.conf.db(5)), version 8.3.1.
const DatabaseSchema& VswitchSchema();

}  // namespace sluice
