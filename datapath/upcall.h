// The upcall: what the datapath asks when no flow matches. datapath declares it, ofproto implements it.
#pragma once

#include <memory>

#include "datapath/flow_data.h"
#include "lib/flow/actions.h"
#include "lib/flow/flow_text.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

struct UpcallVerdict {
  ActionList actions;              // for this packet; empty: drop, counted as kNoFlow
  bool install = false;            // install a flow with these actions and `wildcards`
  FlowMask wildcards;              // one bits: looked at by the translation
  std::unique_ptr<FlowData> data;  // for that flow; may be nullptr
};

class UpcallHandler {
 public:
  virtual ~UpcallHandler() = default;

  // A packet with `key` missed. Called in the PMD thread that missed, which may block here for as long as a translation
  // takes; several threads may call at once. The packet is only lent.
  virtual UpcallVerdict OnMiss(const FlowKey& key, const DpPacket& packet) = 0;
  // The userspace() action, and output to a controller. Same threading. The packet is only lent. Returns whether
  // anybody listened; if not it is counted as kUserspace.
  virtual bool OnUserspace(const FlowKey& key, const DpPacket& packet, const UserspaceAction& action) = 0;
};

// Drops and counts: the handler of a datapath without bridges.
class DropUpcallHandler final : public UpcallHandler {
 public:
  UpcallVerdict OnMiss(const FlowKey&, const DpPacket&) override { return {}; }
  bool OnUserspace(const FlowKey&, const DpPacket&, const UserspaceAction&) override { return false; }
};

}  // namespace sluice
