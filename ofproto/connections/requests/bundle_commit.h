// Carries out the messages of a bundle together: all of them or none.
#pragma once

#include "ofproto/connections/requests/request.h"

namespace sluice {

struct BundleFailure {
  size_t index = 0;  // of the message
  OfFailure failure;
};

// Flow mods are published in one step, group mods right before them: a packet sees old flows or new ones, and the new
// ones find their groups. Port mods and packet-outs, checked before, follow.
std::optional<BundleFailure> CommitBundle(OfRequest& request, std::vector<BundledMessage>& messages);

}  // namespace sluice
