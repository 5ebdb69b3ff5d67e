// Packets that controllers give the switch: packet-outs, and paused packets that are resumed. Main thread.
#pragma once

#include <string_view>

#include "lib/openflow/message.h"
#include "ofproto/switch_impl.h"

namespace sluice {

// Translates the actions as those of a packet that has `out.metadata` (in_port may be kOfpController or kOfpNone), and
// has the datapath carry them out. The packet is checked: its length; the actions have been by CheckActions().
OfStatus ExecutePacketOut(Switch::Impl& the_switch, std::string_view bridge, const OfPacketOut& out);

// Goes on with a packet that a controller action paused: `packet.continuation` as it was sent, the packet as it is now.
OfStatus ResumePacket(Switch::Impl& the_switch, std::string_view bridge, const OfPacketIn& packet);

}  // namespace sluice
