// What the database says of OpenFlow: Controller and Flow_Table rows and the protocols of a Bridge.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ofproto/config.h"
#include "vswitchd/row_reader.h"

namespace sluice {

// By target, so that rows and what the switch reports of them are in one order.
std::vector<RowReader> ControllerRows(const RowReader& bridge);
std::vector<ControllerConfig> ReadControllers(const RowReader& bridge);
// All, if the column is empty.
OfVersions ReadProtocols(const RowReader& bridge);
std::map<uint8_t, FlowTableRow> ReadFlowTables(const RowReader& bridge);

}  // namespace sluice
