#include "ofproto/upcall_handler.h"

#include <utility>

#include "lib/packet/egress.h"
#include "ofproto/flow_record.h"

namespace sluice {

UpcallVerdict UpcallTranslator::OnMiss(const FlowKey& key, const DpPacket& packet) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const MacTable::Clock::time_point now = MacTable::Clock::now();
  const Topology& topology = *state_.topology.Load();
  XlateOut out = Translate({.topology = topology, .key = key, .learn = true, .now = now});
  state_.upcalls.fetch_add(1, kRelaxed);
  // It may have learned something that other flows depend on; and the flow wants to be looked after.
  revalidator_.Wake();

  UpcallVerdict verdict{.actions = std::move(out.actions), .wildcards = out.wildcards};
  // A port that is in no bridge yet: its next packets may fare better.
  if (!out.in_known_port) return verdict;
  if (flows_.flow_count() < state_.flow_limit.load(kRelaxed)) {
    verdict.install = true;
    verdict.data = std::make_unique<FlowRecord>(std::move(out), topology.generation, ToMilliseconds(now));
    return verdict;
  }
  state_.upcalls_over_limit.fetch_add(1, kRelaxed);
  bool is_super = packet.offload.IsSuper();
  PushEffects(out.effects, is_super ? WireFrames(packet) : 1, is_super ? WireBytes(packet) : packet.length(), now);
  return verdict;
}

// Nothing of this switch asks for packets yet.
bool UpcallTranslator::OnUserspace(const FlowKey&, const DpPacket&, const UserspaceAction&) { return false; }

}  // namespace sluice
