// FlowRecord: what the switch keeps with a flow that it installed: what its packets do besides the flow's actions, and
// how many of them have been accounted for.
//
// Belongs to the revalidator once the flow is in the table.
#pragma once

#include <cstdint>
#include <vector>

#include "datapath/flow_data.h"
#include "datapath/flow_table.h"
#include "ofproto/xlate/xlate.h"

namespace sluice {

// Monotonic, of the clock that flows' last_used_ms is of.
inline uint64_t ToMilliseconds(MacTable::Clock::time_point time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

// Replays what a flow does besides its actions, for `frames` wire frames of `bytes` wire bytes, the last of them at
// `used`.
void PushEffects(const std::vector<XlateEffect>& effects, uint64_t frames, uint64_t bytes,
                 MacTable::Clock::time_point used);

class FlowRecord final : public FlowData {
 public:
  // `out`: of the translation with the topology of this generation. `now_ms`: when the flow was made.
  FlowRecord(XlateOut&& out, uint64_t topology, uint64_t now_ms) : made_ms_(now_ms) {
    Update(std::move(out), topology);
  }
  // The same for a flow that was never translated.
  explicit FlowRecord(uint64_t now_ms) : made_ms_(now_ms) {}

  // What a later translation gave. Takes the effects and lookups.
  void Update(XlateOut&& out, uint64_t topology);
  // Whether translation with the topology of this generation would give the same again. Cheaper than to translate.
  bool Holds(uint64_t topology) const;

  // Pushes the effects of what the flow did since the last call.
  void Push(const FlowStats& stats);
  // What threads did between the last call and the flow's end.
  void OnGone(const FlowStats& last) override { Push(last); }
  // When the flow was used last, or made.
  uint64_t LastUse(const FlowStats& stats) const;

 private:
  std::vector<XlateEffect> effects_;
  std::vector<XlateLookup> lookups_;
  uint64_t topology_ = 0;  // generation
  const uint64_t made_ms_;
  uint64_t pushed_frames_ = 0;
  uint64_t pushed_bytes_ = 0;
};

}  // namespace sluice
