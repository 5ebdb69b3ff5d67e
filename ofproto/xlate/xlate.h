// Translation: from a packet's flow key to the datapath actions that the configuration and the flow tables want, and the
// bits of the key that mattered.
//
// A pure function of the topology, the pipelines and the MAC tables, but for learning, which is asked for. Called in PMD
// threads (misses), in the revalidator and in the main thread (trace, packet-out). The topology is read under RCU by the
// caller. Wildcards are minimal: in_port, recirc_id, eth_type, and what the decision used: what lookups in flow tables
// needed, what actions read or changed, the VLAN tags within vlan_limit, eth_dst and eth_src where NORMAL forwards or
// learns, ARP fields for a gratuitous ARP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/flow/actions.h"
#include "lib/flow/flow_key.h"
#include "ofproto/xlate/frozen_state.h"
#include "ofproto/xlate/topology.h"
#include "ofproto/xlate/trace_tree.h"

namespace sluice {

// The flow that a learn action adds or keeps alive.
struct LearnedFlow {
  FlowMod mod;
  uint32_t limit = 0;
};

// Something that a flow does besides its actions: replayed whenever the flow's statistics are pushed.
struct XlateEffect {
  enum class Kind : uint8_t {
    kLearn,  // refresh `mac`
    kMirror,
    kPatchOutput,
    kPatchInput,
    kRule,  // a lookup in `table` of `pipeline` found `rule`, or nothing
    kGroup,
    kLearnFlow,
    kFinTimeout,  // when TCP ends, `rule` may be idle for `idle` and live for `hard` seconds more
  };
  Kind kind = Kind::kLearn;
  std::shared_ptr<MacTable> macs;
  uint16_t vlan = 0;
  MacAddress mac{};
  uint64_t bundle = 0;
  std::shared_ptr<MirrorCounters> mirror;
  std::shared_ptr<PatchCounters> patch;
  uint8_t table = 0;
  uint16_t idle = 0;
  uint16_t hard = 0;
  RulePtr rule;
  std::shared_ptr<OfPipeline> pipeline;
  std::shared_ptr<GroupCounters> group;
  std::shared_ptr<const LearnedFlow> learned;
};

// What a MAC table said, on which the result depends.
struct XlateLookup {
  std::shared_ptr<MacTable> macs;
  uint16_t vlan = 0;
  MacAddress mac{};
  std::optional<uint64_t> found;  // a bundle
};
// The tables that were used, as they were then (OfPipeline::version()).
struct XlateTables {
  std::shared_ptr<OfPipeline> pipeline;
  uint64_t version = 0;
};

// A beginning other than that of a packet that came in by the key's port: a packet-out, the rest of a paused packet, or
// if there are neither actions nor a state, a packet in table 0 with whatever fields.
struct XlateStart {
  const XBridge& bridge;
  OfFlow pipeline;  // fields that are not in the packet: in_port, registers, ..., and mark and priority
  const OfActions* actions = nullptr;
  const FrozenState* resumed = nullptr;
};

struct XlateIn {
  const Topology& topology;
  const FlowKey& key;
  // Teach MAC tables and learn actions; false for revalidation without traffic and for dry traces.
  bool learn = true;
  MacTable::Clock::time_point now;
  // Gets every step, for ofproto/trace; nullptr: none.
  std::deque<TraceNode>* trace = nullptr;
  // nullptr: neither recirculation nor packets to controllers.
  XlateIds* ids = nullptr;
  const XlateStart* start = nullptr;
};

struct XlateOut {
  ActionList actions;  // empty: drop
  FlowMask wildcards;  // one bits: looked at
  std::vector<XlateEffect> effects;
  // With the same topology, as long as these find the same and the tables have the same versions, the result is the
  // same.
  std::vector<XlateLookup> lookups;
  std::vector<XlateTables> tables;
  // What the actions refer to by number; good as long as these are held.
  std::vector<std::shared_ptr<const void>> holds;
  std::string drop_reason;  // when the actions are empty: one line for trace ("no port with this number", ...)
  bool in_known_port = true;
  bool failed = false;  // given up because of a limit: see drop_reason

  // For ofproto/trace: the packet as it came and as it was at the end, in the bridge where it came in.
  OfFlow first_flow;
  OfFlow final_flow;
  OfMask of_wildcards;
  std::string bridge;
  // Where the packet comes back, and its key then.
  struct Recirculation {
    uint32_t id = 0;
    FlowKey key;
  };
  std::vector<Recirculation> recirculations;
};

// Bridges are passed through patch ports at most this often; then the packet is dropped.
constexpr int kMaxPatchDepth = 64;
// Resubmits within each other, and in all, of one packet (ovs-actions(7), resubmit).
constexpr int kMaxResubmitDepth = 64;
constexpr int kMaxResubmits = 4096;
constexpr size_t kMaxStackBytes = 65536;

XlateOut Translate(const XlateIn& in);

}  // namespace sluice
