// OFPT_REQUESTFORWARD (OpenFlow 1.4+, 7.4.6): other controllers learn of group and meter mods.
#pragma once

#include "ofproto/connections/requests/request.h"

namespace sluice {

enum class ForwardReason : uint8_t { kGroupMod = 0, kMeterMod = 1 };

void ForwardRequest(const OfRequest& request, ForwardReason reason);

}  // namespace sluice
