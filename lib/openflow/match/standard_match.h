// What OpenFlow 1.0's match and 1.1's standard match have in common. Internal to this folder.
#pragma once

#include <cstdint>

#include "lib/openflow/match.h"

namespace sluice {

constexpr uint16_t kNoVlan = 0xffff;   // OFP_VLAN_NONE, OFPVID_NONE
constexpr uint16_t kAnyVlan = 0xfffe;  // OFPVID_ANY, of 1.1 only
constexpr MacAddress kAllMacBits = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// Exactly this value.
void MatchExactly(OfMatch& match, FieldId id, uint64_t value);
void MatchMac(OfMatch& match, FieldId id, const MacAddress& mac, const MacAddress& mask);
void MatchIpv4(OfMatch& match, FieldId id, uint32_t address, uint32_t mask);

// IPv4 addresses mean something.
bool HasIpv4Fields(uint16_t eth_type);
// How many low bits do not count; more than 32: `mask` is no prefix.
uint32_t WildcardBits(uint32_t mask);

struct StandardVlan {
  bool fits = true;  // whether the form can say it
  bool has_vid = false, has_pcp = false;
  uint16_t vid = 0;
  uint8_t pcp = 0;
};
StandardVlan StandardVlanOf(const OfMatch& match, OfVersion version);

// struct ofp11_match whole; reading starts behind type and length.
void EncodeStandardMatch11(const OfMatch& match, WireWriter& out);
OfResult<OfMatch> DecodeStandardMatch11(WireReader& in);

}  // namespace sluice
