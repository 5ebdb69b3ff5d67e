// Datapath actions: what is done with the packets of a flow. Plain data, made at flow set-up, read on the fast path.
//
// The meaning of each follows the Open vSwitch kernel and userspace datapaths (linux/openvswitch.h, ovs-actions(7)). On a
// super-packet every action acts as if on each of its segments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lib/flow/flow_key.h"

namespace sluice {

struct Action;
using ActionList = std::vector<Action>;

struct OutputAction {
  uint32_t port = 0;  // datapath port number
};
struct DropAction {};
// Sets fields of one header (set(...), masked where the text gives value/mask). Only fields of `header` may have mask bits.
struct SetAction {
  enum class Header : uint8_t {
    kEthernet,  // eth_src, eth_dst
    kVlan,      // vlan_tci (vid, pcp) of the outer tag
    kIpv4,      // src, dst, tos, ttl
    kIpv6,      // src, dst, label, tclass, hlimit
    kTcp, kUdp, kSctp,  // ports
    kArp,       // op, sip, tip, sha, tha
    kIcmp, kIcmpv6,     // type, code
    kNd,        // target, sll, tll
    kMpls,      // top label stack entry
    kPriority, kMark,   // skb_priority, skb_mark
  };
  Header header = Header::kEthernet;
  FlowKey value;
  FlowMask mask;  // all-ones over a field: plain set
};
struct PushVlanAction {
  Be16 tpid;  // 0x8100 or 0x88a8
  Be16 tci;   // without kVlanPresent
};
struct PopVlanAction {};
struct PushMplsAction {
  Be16 eth_type;  // 0x8847 or 0x8848
  Be32 lse;
};
struct PopMplsAction {
  Be16 eth_type;  // of what is below
};
struct RecircAction {
  uint32_t id = 0;
};
// Writes a hash into dp_hash: over L4 5-tuple (kL4, kSymL4).
struct HashAction {
  enum class Algorithm : uint8_t { kL4, kSymL4 };
  Algorithm algorithm = Algorithm::kL4;
  uint32_t basis = 0;
};
struct CloneAction {
  ActionList actions;
};
struct SampleAction {
  uint32_t probability = 0;  // of UINT32_MAX
  ActionList actions;
};
struct TruncAction {
  uint32_t max_length = 0;  // frame bytes, for the next output only; at least 14
};
struct CheckPktLenAction {
  uint16_t length = 0;  // frame bytes, Ethernet header included, VLAN tags not; compared per segment
  ActionList if_greater;
  ActionList if_less_or_equal;
};
struct UserspaceAction {
  uint32_t pid = 0;
  std::vector<uint8_t> userdata;
  bool include_actions = false;
  uint32_t tunnel_out_port = UINT32_MAX;  // UINT32_MAX: none
};

struct Action {
  std::variant<OutputAction, DropAction, SetAction, PushVlanAction, PopVlanAction, PushMplsAction, PopMplsAction,
               RecircAction, HashAction, CloneAction, SampleAction, TruncAction, CheckPktLenAction, UserspaceAction>
      value;
};

}  // namespace sluice
