// Matches of the Nicira forms: a list of NXM entries whose length stands before them.
#pragma once

#include "lib/openflow/messages/registry.h"

namespace sluice::messages {

// Writes the entries, and one for the cookie if it has a mask, and zeros up to a multiple of 8 bytes. Returns the
// length without the zeros.
uint16_t WriteNxmMatch(const OfMatch& match, const CookieMatch* cookie, OfVersion version, WireWriter& out);
// Reads `length` bytes of entries and the padding.
OfResult<OfMatch> ReadNxmMatch(WireReader& in, size_t length, bool loose, CookieMatch* cookie);
// A match of OpenFlow 1.2+ whose unknown entries are passed over.
OfResult<OfMatch> ReadOxmLoose(WireReader& in);
inline OfPort InPortOf(const OfMatch& match) { return static_cast<OfPort>(match.value.in_port); }
inline void SetInPort(OfPort port, OfMatch& match) {
  match.value.in_port = port;
  match.mask.in_port = 0xffff;
}

}  // namespace sluice::messages
