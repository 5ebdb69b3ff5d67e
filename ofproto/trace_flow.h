// A flow as ofproto/trace is given one and prints one: the text of OpenFlow fields (ovs-fields(7)), as far as the flow
// key has them.
//
//   tcp,in_port=1,vlan_tci=0x0000,dl_src=...,dl_dst=...,nw_src=10.0.0.1,...,tp_dst=80
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>

#include "lib/flow/flow_key.h"

namespace sluice {

// Reads "in_port=1,tcp,dl_src=..." into a key; fields that are not named are zero. `ofport` gets the input port as it
// is written, number or name (empty: none); the key's in_port is left zero. The error names the field.
struct TraceFlow {
  FlowKey key;
  std::string in_port;
};
absl::StatusOr<TraceFlow> ParseTraceFlow(std::string_view text);

// All fields of the key, as after "Flow: ". `in_port`: how the input port reads.
std::string FormatTraceFlow(const FlowKey& key, std::string_view in_port);
// The fields that `mask` has bits of, as after "Megaflow: ".
std::string FormatMegaflow(const FlowKey& key, const FlowMask& mask, std::string_view in_port);

}  // namespace sluice
