// The names of a bridge's ports in OpenFlow's texts.
#pragma once

#include <string_view>

#include "lib/openflow/ofp.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

// Of interfaces; the functions hold the bridge's ports as they are now.
OfNames NamesOf(const Topology& topology, std::string_view bridge);

}  // namespace sluice
