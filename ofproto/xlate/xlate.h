// Translation: from a packet's flow key to the datapath actions that the configuration wants, and the bits of the key
// that mattered.
//
// A pure function of the topology and the MAC tables, but for learning, which is asked for. Called in PMD threads
// (misses), in the revalidator and in the main thread (trace). The topology is read under RCU by the caller.
// Wildcards are minimal: in_port, recirc_id, eth_type, the VLAN tags within vlan_limit, and what the decision used:
// eth_dst and eth_src where NORMAL forwards or learns, ARP fields for a gratuitous ARP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/flow/actions.h"
#include "lib/flow/flow_key.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

// Something that a flow does besides its actions: replayed whenever the flow's statistics are pushed.
struct XlateEffect {
  enum class Kind : uint8_t { kLearn, kMirror, kPatchOutput, kPatchInput };
  Kind kind = Kind::kLearn;
  std::shared_ptr<MacTable> macs;  // kLearn: refresh this address
  uint16_t vlan = 0;
  MacAddress mac{};
  uint64_t bundle = 0;
  std::shared_ptr<MirrorCounters> mirror;
  std::shared_ptr<PatchCounters> patch;
};

// What a MAC table said, on which the result depends.
struct XlateLookup {
  std::shared_ptr<MacTable> macs;
  uint16_t vlan = 0;
  MacAddress mac{};
  std::optional<uint64_t> found;  // a bundle
};

struct XlateIn {
  const Topology& topology;
  const FlowKey& key;
  bool learn = true;  // put source addresses into MAC tables; false for revalidation without traffic and for dry traces
  MacTable::Clock::time_point now;
  // Told each step, for ofproto/trace; indentation level and text. Empty: none.
  std::function<void(int depth, const std::string& text)> report;
};

struct XlateOut {
  ActionList actions;  // empty: drop
  FlowMask wildcards;  // one bits: looked at
  std::vector<XlateEffect> effects;
  // With the same topology, and as long as these find the same, the result is the same.
  std::vector<XlateLookup> lookups;
  std::string drop_reason;  // when the actions are empty: one line for trace ("no port with this number", ...)
  bool in_known_port = true;
};

// Bridges are passed through patch ports at most this often; then the packet is dropped.
constexpr int kMaxPatchDepth = 64;

XlateOut Translate(const XlateIn& in);

}  // namespace sluice
