// What a flow table can do, as OFPMP_TABLE_FEATURES says it (OpenFlow 1.5.1, 7.3.5.17). All tables can do the same, but
// for where goto_table may go.
#pragma once

#include "ofproto/connections/requests/request.h"

namespace sluice {

// Tables that controllers see: the last is kept for the switch itself.
constexpr uint8_t kShownTables = kMaxTable;

OfTableFeatures FeaturesOf(const FlowTables& tables, uint8_t table, OfVersion version);

// "table0", or what the Flow_Table row says.
std::string TableName(const FlowTables& tables, uint8_t table);

}  // namespace sluice
