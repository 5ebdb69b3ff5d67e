// UpcallTranslator: what the switch answers when a packet matches no flow: translates it and lets the flow be installed
// that covers it, learning its source on the way.
//
// Called in PMD threads, which are RCU readers. Takes no lock but those of the MAC tables.
#pragma once

#include "datapath/flow_table.h"
#include "datapath/upcall.h"
#include "ofproto/forwarding_state.h"
#include "ofproto/revalidator.h"

namespace sluice {

class UpcallTranslator final : public UpcallHandler {
 public:
  // All outlive it.
  UpcallTranslator(ForwardingState& state, FlowTable& flows, Revalidator& revalidator)
      : state_(state), flows_(flows), revalidator_(revalidator) {}

  UpcallVerdict OnMiss(const FlowKey& key, const DpPacket& packet) override;
  bool OnUserspace(const FlowKey& key, const DpPacket& packet, const UserspaceAction& action) override;

 private:
  ForwardingState& state_;
  FlowTable& flows_;
  Revalidator& revalidator_;
};

}  // namespace sluice
