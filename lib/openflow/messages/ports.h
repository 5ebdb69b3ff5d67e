// Descriptions of ports, which several messages carry.
#pragma once

#include "lib/openflow/messages/registry.h"

namespace sluice::messages {

// struct ofp_phy_port of 1.0 (48 bytes), ofp_port of 1.1-1.3 (64 bytes), of 1.4+ with properties.
OfResult<OfPortDesc> ReadPortDesc(WireReader& in, const Form& form);
void WritePortDesc(const OfPortDesc& port, const Form& form, WireWriter& out);

}  // namespace sluice::messages
