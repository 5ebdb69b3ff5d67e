// Values and "column:key=value" arguments as people type them (ovs-vsctl(8) "Database Values", find, set).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/schema.h"

namespace sluice::vsctl {

// The "@name"s of a command line and the rows that they stand for.
class Symbols {
 public:
  using Names = std::map<std::string, Uuid, std::less<>>;

  // A row is called `name` from here on ("--id="). The UUID is that by which earlier values on the line refer to it.
  absl::StatusOr<Uuid> DefineNew(const std::string& name);
  // The same for a row that is there; it cannot have been referred to before.
  absl::Status DefineExisting(const std::string& name, const Uuid& row);

  // For the parser: it adds the names that it meets.
  Names* names() { return &names_; }
  // Notes that a column of this type was given this value.
  void NoteReferences(const Datum& datum, const ColumnType& type);

  // At the end: an error for a name that was never defined; warnings for rows that nothing refers to.
  absl::Status Check(std::vector<std::string>* warnings) const;

 private:
  struct Use {
    bool defined = false;
    bool strong = false;
    bool weak = false;
  };
  static absl::Status CheckName(const std::string& name);

  Names names_;
  std::map<std::string, Use, std::less<>> uses_;
};

// One atom: the whole text is it, commas and spaces included, but for a string in double quotes, which is JSON's.
absl::StatusOr<Atom> ParseAtom(std::string_view text, const BaseType& type, Symbols& symbols);
absl::StatusOr<Datum> ParseDatum(std::string_view text, const ColumnType& type, Symbols& symbols);

// "column[:key]", and with operators "column[:key]<operator>value".
struct ColumnArgument {
  const ColumnSchema* column = nullptr;
  std::optional<std::string> key;  // as typed
  std::string op;                  // one of those that were allowed
  std::string value;               // as typed; not empty
};
// Of any of those, the column alone; the rest is not looked at.
absl::StatusOr<const ColumnSchema*> ParseColumnName(std::string_view text, const TableSchema& table);

extern const std::vector<std::string> kSetOperators;   // =
extern const std::vector<std::string> kFindOperators;  // =, !=, <, ..., {not-in}
absl::StatusOr<ColumnArgument> ParseColumnArgument(std::string_view text, const TableSchema& table);
absl::StatusOr<ColumnArgument> ParseColumnArgument(std::string_view text, const TableSchema& table,
                                                   const std::vector<std::string>& operators);

// Up to the next delimiter, or a quoted string with its quotes. Takes it off `text`.
absl::StatusOr<std::string> TakeToken(std::string_view& text);

}  // namespace sluice::vsctl
