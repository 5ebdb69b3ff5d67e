#include "ofproto/flow_record.h"

#include <algorithm>

namespace sluice {

void PushEffects(const std::vector<XlateEffect>& effects, uint64_t frames, uint64_t bytes,
                 MacTable::Clock::time_point used) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (const XlateEffect& effect : effects) {
    switch (effect.kind) {
      case XlateEffect::Kind::kLearn:
        effect.macs->Refresh(effect.vlan, effect.mac, effect.bundle, used);
        break;
      case XlateEffect::Kind::kMirror:
        effect.mirror->packets.fetch_add(frames, kRelaxed);
        effect.mirror->bytes.fetch_add(bytes, kRelaxed);
        break;
      case XlateEffect::Kind::kPatchOutput:
        effect.patch->tx_packets.fetch_add(frames, kRelaxed);
        effect.patch->tx_bytes.fetch_add(bytes, kRelaxed);
        break;
      case XlateEffect::Kind::kPatchInput:
        effect.patch->rx_packets.fetch_add(frames, kRelaxed);
        effect.patch->rx_bytes.fetch_add(bytes, kRelaxed);
        break;
    }
  }
}

void FlowRecord::Update(XlateOut&& out, uint64_t topology) {
  effects_ = std::move(out.effects);
  lookups_ = std::move(out.lookups);
  topology_ = topology;
}

bool FlowRecord::Holds(uint64_t topology) const {
  return topology_ == topology && std::all_of(lookups_.begin(), lookups_.end(), [](const XlateLookup& lookup) {
           return lookup.macs->Lookup(lookup.vlan, lookup.mac) == lookup.found;
         });
}

void FlowRecord::Push(const FlowStats& stats) {
  // A user may have cleared the flow's statistics: then it all counts anew.
  uint64_t frames = stats.wire_frames;
  uint64_t bytes = stats.bytes;
  if (frames < pushed_frames_) pushed_frames_ = pushed_bytes_ = 0;
  uint64_t new_frames = frames - pushed_frames_;
  uint64_t new_bytes = bytes - std::min(bytes, pushed_bytes_);
  if (new_frames == 0) return;
  pushed_frames_ = frames;
  pushed_bytes_ = bytes;
  PushEffects(effects_, new_frames, new_bytes,
              MacTable::Clock::time_point(std::chrono::milliseconds(stats.last_used_ms.Get())));
}

uint64_t FlowRecord::LastUse(const FlowStats& stats) const { return std::max(made_ms_, stats.last_used_ms.Get()); }

}  // namespace sluice
