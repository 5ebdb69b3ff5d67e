#include "ofproto/ofport_text.h"

#include "ofproto/switch.h"

namespace sluice {

std::string OfportText(uint16_t ofport) { return ofport == kOfportLocal ? "LOCAL" : std::to_string(ofport); }

}  // namespace sluice
