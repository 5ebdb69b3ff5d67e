// The text of datapath flows and actions, as ovs-dpctl(8) and `ovs-appctl dpctl/...` read and print it.
//
//   recirc_id(0),in_port(2),eth(src=...,dst=...),eth_type(0x0800),ipv4(src=10.0.0.1/255.255.255.0,proto=6,frag=no),tcp(dst=80)
//   set(eth(dst=...)),push_vlan(vid=5,pcp=0),2,recirc(0x1)
//
// VLANs: eth_type(0x8100),vlan(vid=1,pcp=0),encap(eth_type(0x0800),...), nested twice for two tags.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>

#include "lib/flow/actions.h"
#include "lib/flow/flow_key.h"

namespace sluice {

struct Match {
  FlowKey key;  // already masked
  FlowMask mask;
};

// Translates port names in text to numbers and back. Either may be empty: then only numbers are read and printed.
struct PortNames {
  std::function<absl::StatusOr<uint32_t>(std::string_view name)> to_number;
  std::function<std::string(uint32_t number)> to_name;
};

// A flow's key and mask. Fields that are not named are wildcarded; a named field without a mask is exact. The error
// names the token and its column, and what was expected.
absl::StatusOr<Match> ParseMatch(std::string_view text, const PortNames& ports);
std::string FormatMatch(const Match& match, const PortNames& ports);

absl::StatusOr<ActionList> ParseActions(std::string_view text, const PortNames& ports);
// "drop" for an empty list.
std::string FormatActions(const ActionList& actions, const PortNames& ports);

// A unique flow id: "ufid:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".
struct Ufid {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const Ufid&) const = default;
};
absl::StatusOr<Ufid> ParseUfid(std::string_view text);
std::string FormatUfid(const Ufid& ufid);

// TCP flags as dump-flows prints them after "flags:": letters of "SFPRU.ECN", where the dot is ACK; "none" for none.
std::string FormatTcpFlagLetters(uint16_t flags);

}  // namespace sluice
