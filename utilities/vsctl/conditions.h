// The conditions of find and wait-until: "column[:key]<operator>value".
#pragma once

#include <string>

#include "utilities/vsctl/command.h"

namespace sluice::vsctl {

// Whether the row fulfils it.
absl::StatusOr<bool> Fulfils(Context& context, const TableSchema& table, const Uuid& row, const std::string& condition);

// How two values of one type compare by an operator of kFindOperators.
bool CompareBy(const std::string& op, const Datum& a, const Datum& b);

}  // namespace sluice::vsctl
