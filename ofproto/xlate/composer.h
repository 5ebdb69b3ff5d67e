// ActionComposer: puts outputs with differing VLAN tags into one list of datapath actions, with tag changes only where
// an output needs other tags than the packet has at that point.
#pragma once

#include <cstdint>

#include "lib/flow/actions.h"
#include "ofproto/xlate/vlan_tags.h"

namespace sluice {

class ActionComposer {
 public:
  // `tags`: of the packet as it arrives. Both references outlive the composer.
  ActionComposer(const TagStack& tags, ActionList& actions, FlowMask& looked_at)
      : current_(tags), actions_(actions), looked_at_(looked_at) {}

  // Of the packet at this point of the list.
  const TagStack& current() const { return current_; }
  // How many tags are to be popped and pushed for an output with `tags` now.
  size_t ChangesFor(const TagStack& tags);
  // The packet with `tags` leaves by this datapath port; at most `snaplen` bytes of it if that is not 0.
  void Output(uint32_t port, const TagStack& tags, uint32_t snaplen);

 private:
  // How many tags from the bottom can stay.
  size_t SharedWith(const TagStack& wanted);
  void ChangeTags(const TagStack& wanted);

  TagStack current_;
  ActionList& actions_;
  FlowMask& looked_at_;
};

}  // namespace sluice
