// Flows as ofproto/trace is given them and prints them: the text of OpenFlow matches (ovs-fields(7)).
//
//   tcp,in_port=1,vlan_tci=0x0000,dl_src=...,dl_dst=...,nw_src=10.0.0.1,...,tp_dst=80
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "lib/openflow/flow.h"
#include "lib/openflow/match.h"

namespace sluice {

// Reads "in_port=1,tcp,dl_src=..."; fields that are not named are zero. The error names the field.
absl::StatusOr<OfFlow> ParseTraceFlow(std::string_view text, const OfNames& names);

// All that a packet of this kind has, as after "Flow: "; of the pipeline's fields those that are not zero.
std::string FormatTraceFlow(const OfFlow& flow);
// What of `flow` a translation looked at, as after "Megaflow: ".
std::string FormatMegaflow(const OfFlow& flow, const OfMask& mask);

}  // namespace sluice
