// ActionComposer: puts outputs of differing packets into one list of datapath actions, with changes of headers and tags
// only where an output needs another packet than the one at that point.
#pragma once

#include <cstdint>
#include <utility>

#include "lib/flow/actions.h"
#include "ofproto/xlate/vlan_tags.h"

namespace sluice {

class ActionComposer {
 public:
  // `tags`: of the packet as it arrives. Both references outlive the composer.
  ActionComposer(const TagStack& tags, ActionList& actions, FlowMask& looked_at)
      : current_(tags), actions_(&actions), looked_at_(looked_at) {}

  // The packet at this point of the list; of its VLAN fields only the tags count.
  void set_packet(const FlowKey& packet) { packet_ = packet; }
  const FlowKey& packet() const { return packet_; }
  const TagStack& current() const { return current_; }

  // How many tags are to be popped and pushed for an output with `tags` now.
  size_t ChangesFor(const TagStack& tags);
  // Makes it this packet. `knows_payload`: as CommitHeaders() has it.
  void Commit(const FlowKey& packet, const TagStack& tags, bool knows_payload);
  // The packet as it is leaves by this datapath port; at most `snaplen` bytes of it if that is not 0.
  void Output(uint32_t port, uint32_t snaplen);
  void Add(Action action);

  // Of all lists.
  size_t size() const { return size_; }

  // From now on actions go into `nested`, until Leave() of what this returns.
  struct Place {
    ActionList* actions;
    FlowKey packet;
    TagStack tags;
  };
  Place Enter(ActionList& nested) { return {std::exchange(actions_, &nested), packet_, current_}; }
  void Leave(const Place& place) {
    actions_ = place.actions;
    packet_ = place.packet;
    current_ = place.tags;
  }

 private:
  // How many tags from the bottom can stay.
  size_t SharedWith(const TagStack& wanted);
  void ChangeTags(const TagStack& wanted);

  FlowKey packet_;
  TagStack current_;
  ActionList* actions_;
  FlowMask& looked_at_;
  size_t size_ = 0;
};

}  // namespace sluice
