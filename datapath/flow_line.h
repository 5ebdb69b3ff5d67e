// A flow of a datapath as dump-flows commands show it.
#pragma once

#include <string>

#include "datapath/flow_table.h"

namespace sluice {

// "recirc_id(0),in_port(1),..., packets:1, bytes:60, used:0.1s, actions:2"; `more` puts the ufid in front and adds the
// wire frames. Under the table's writer mutex, or by an RCU reader.
std::string FormatFlowLine(const DpFlow& flow, const PortNames& names, bool more);
// The same as one JSON object.
std::string FormatFlowJson(const DpFlow& flow, const PortNames& names);

}  // namespace sluice
