#include "ofproto/flow_record.h"

#include <algorithm>

namespace sluice {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint16_t kTcpFin = 1, kTcpRst = 4;

void CountRule(const XlateEffect& effect, const FlowTraffic& traffic) {
  effect.pipeline->tables.CountLookup(effect.table, effect.rule != nullptr, traffic.frames);
  if (effect.rule == nullptr) return;
  RuleCounters& counters = *effect.rule->counters;
  counters.packets.fetch_add(traffic.frames, kRelaxed);
  counters.bytes.fetch_add(traffic.bytes, kRelaxed);
  const int64_t used = OfClockMs(traffic.used);
  int64_t known = counters.used_ms.load(kRelaxed);
  while (known < used && !counters.used_ms.compare_exchange_weak(known, used, kRelaxed)) continue;
}

}  // namespace

void PushEffects(const std::vector<XlateEffect>& effects, const FlowTraffic& traffic) {
  const auto [frames, bytes, used, tcp_flags] = traffic;
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
      case XlateEffect::Kind::kRule:
        CountRule(effect, traffic);
        break;
      case XlateEffect::Kind::kGroup:
        effect.group->packets.fetch_add(frames, kRelaxed);
        effect.group->bytes.fetch_add(bytes, kRelaxed);
        break;
      case XlateEffect::Kind::kLearnFlow:
        effect.pipeline->tables.Learn(effect.learned->mod, effect.learned->limit, used);
        break;
      case XlateEffect::Kind::kFinTimeout:
        if ((tcp_flags & (kTcpFin | kTcpRst)) != 0) {
          effect.pipeline->tables.ShortenTimeouts(*effect.rule, effect.idle, effect.hard);
        }
        break;
    }
  }
}

void FlowRecord::Update(XlateOut&& out, uint64_t topology) {
  effects_ = std::move(out.effects);
  lookups_ = std::move(out.lookups);
  tables_ = std::move(out.tables);
  holds_ = std::move(out.holds);
  topology_ = topology;
}

bool FlowRecord::Holds(uint64_t topology) const {
  if (topology_ != topology) return false;
  for (const XlateTables& tables : tables_) {
    if (tables.pipeline->version() != tables.version) return false;
  }
  return std::all_of(lookups_.begin(), lookups_.end(), [](const XlateLookup& lookup) {
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
  PushEffects(effects_, {.frames = new_frames,
                         .bytes = new_bytes,
                         .used = MacTable::Clock::time_point(std::chrono::milliseconds(stats.last_used_ms.Get())),
                         .tcp_flags = static_cast<uint16_t>(stats.tcp_flags.Get())});
}

uint64_t FlowRecord::LastUse(const FlowStats& stats) const { return std::max(made_ms_, stats.last_used_ms.Get()); }

}  // namespace sluice
