// FrozenState: where translation stopped because it needs the packet anew (recirculation), and what it goes on with.
// XlateIds: the numbers under which datapath actions refer to what does not fit into them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/openflow/actions.h"
#include "ofproto/xlate/id_table.h"
#include "ofproto/xlate/packet_in.h"
#include "ofproto/xlate/topology.h"

namespace sluice {

// The rest of one list of actions, and in which rule it is.
struct FrozenFrame {
  uint8_t table = 0;
  uint64_t cookie = UINT64_MAX;
  bool is_miss = false;
  OfActions actions;

  friend bool operator==(const FrozenFrame&, const FrozenFrame&) = default;
};

struct FrozenState {
  std::string bridge;
  // Registers, metadata, in_port: what is not in the packet. The packet's fields are zero.
  OfFlow pipeline;
  MirrorMask mirrored = 0;
  std::vector<SubValue> stack;
  OfActions action_set;
  std::vector<FrozenFrame> frames;  // innermost first
  bool ends_pipeline = true;        // the action set is carried out behind the frames

  friend bool operator==(const FrozenState&, const FrozenState&) = default;
};

struct XlateIds {
  IdTable<FrozenState> frozen;
  IdTable<PacketInRecord> records;

  // Keeps numbers alive for packets that are under way without a flow that holds them.
  void Linger(std::vector<std::shared_ptr<const void>> holds, std::chrono::steady_clock::time_point now);

 private:
  static constexpr std::chrono::seconds kLinger{2};
  struct Lingering {
    std::chrono::steady_clock::time_point until;
    std::vector<std::shared_ptr<const void>> holds;
  };
  std::mutex mutex_;
  std::deque<Lingering> lingering_;
};

// For IdTable.
size_t HashOf(const FrozenState& state);
size_t HashOf(const PacketInRecord& record);

// What a UserspaceAction carries for a packet to controllers: the number of its PacketInRecord.
std::vector<uint8_t> RecordUserdata(uint32_t id);
// 0: it is not of that kind.
uint32_t RecordOfUserdata(absl::Span<const uint8_t> userdata);

}  // namespace sluice
