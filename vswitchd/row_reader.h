// RowReader: columns of one row of the replica, in the types that configuration wants.
//
// Valid during the call that made it: the replica changes in the next turn of the loop. Absent optional values and
// columns that the server's schema lacks read as "" or nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/ovsdb/client.h"

namespace sluice {

class RowReader {
 public:
  RowReader(const OvsdbClient& client, std::string_view table, const Row& row)
      : client_(&client), table_(table), row_(&row) {}

  const Uuid& uuid() const { return row_->uuid; }
  const Datum& Column(std::string_view column) const { return client_->Get(table_, *row_, column); }
  std::string String(std::string_view column) const { return std::string(Column(column).StringOr("")); }
  bool Boolean(std::string_view column) const { return Column(column).BooleanOr(false); }
  std::optional<int64_t> Integer(std::string_view column) const;

  // The value of `key` in a map column, or nullptr.
  const std::string* Find(std::string_view column, std::string_view key) const {
    return Column(column).FindString(key);
  }
  // Values of a map column. What is not a number within [min, max] (or not true or false) is logged, naming the row by
  // `owner`, and gives the fallback.
  int64_t FindInteger(std::string_view column, std::string_view key, int64_t fallback, int64_t min, int64_t max,
                      std::string_view owner) const;
  bool FindBoolean(std::string_view column, std::string_view key, bool fallback, std::string_view owner) const;

  // The rows of `table` that the column refers to; those that are not in the replica are left out.
  std::vector<RowReader> References(std::string_view column, std::string_view table) const;

 private:
  const OvsdbClient* client_;
  std::string_view table_;  // of a literal
  const Row* row_;
};

// The one row of the table Open_vSwitch, if there is one.
std::optional<RowReader> FindRoot(const OvsdbClient& client);

}  // namespace sluice
