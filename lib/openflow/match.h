// Matches as text and as bytes: OpenFlow 1.0's ofp_match, 1.1's standard match, and lists of NXM and OXM entries.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/openflow/field.h"
#include "lib/openflow/wire.h"

namespace sluice {

// Text
// -----------------------------------------------------------------------------------------------------------------

// "priority=5,ip,in_port=1,nw_dst=10.0.0.0/8" as ovs-ofctl dump-flows prints it (its order and abbreviations);
// `priority` is printed unless it is 32768. An empty match and that priority give "".
std::string FormatMatch(const OfMatch& match, uint16_t priority, const OfNames& names);
// One item of a match, "nw_dst=10.0.0.0/8" or "ip": adds it. `used`: whether the word is a match item at all; if not,
// nothing was done. Fields' prerequisites are checked by CheckMatch at the end, for the order of items is free.
absl::Status ParseMatchItem(std::string_view key, std::string_view value, const OfNames& names, OfMatch& match,
                            bool& used);
// Whether all fields of the match have their prerequisites; the message names the field and what it needs.
OfStatus CheckMatch(const OfMatch& match);

// Wire
// -----------------------------------------------------------------------------------------------------------------

enum class MatchForm : uint8_t { kNxm, kOxm };

// A list of entries without header or padding. `version` chooses among OXM forms of later versions.
void EncodeEntries(const OfMatch& match, MatchForm form, OfVersion version, WireWriter& out);
// Also a cookie: NXM_NX_COOKIE entries of a flow mod's match go to `cookie`, if that is not nullptr. `loose`: unknown
// entries are passed over (statistics requests, packet-in metadata), instead of kBmcBadField.
struct CookieMatch {
  uint64_t cookie = 0;
  uint64_t mask = 0;
};
OfResult<OfMatch> DecodeEntries(Bytes entries, bool loose, CookieMatch* cookie);

// struct ofp_match of OpenFlow 1.1 (OFPMT_STANDARD) and 1.2+ (OFPMT_OXM), with header and padding to 8 bytes.
void EncodeMatch(const OfMatch& match, OfVersion version, WireWriter& out);
OfResult<OfMatch> DecodeMatch(WireReader& in, OfVersion version);
// The 40 bytes of OpenFlow 1.0. False: it cannot say all of the match (use NXM).
bool EncodeMatch10(const OfMatch& match, WireWriter& out);
OfResult<OfMatch> DecodeMatch10(WireReader& in);
// Whether 1.0's (or with k11, 1.1's standard) match can express it.
bool FitsStandardMatch(const OfMatch& match, OfVersion version);

// A field's header and value (and mask) in actions: set_field, load2, learn.
void EncodeFieldEntry(const FieldInfo& field, const FieldValue& value, const FieldValue* mask, OfVersion version,
                      WireWriter& out);
struct FieldEntry {
  const FieldInfo* field = nullptr;
  FieldValue value;
  FieldValue mask;  // exact if the entry had none
  bool masked = false;
};
OfResult<FieldEntry> DecodeFieldEntry(WireReader& in);
// A header alone, 4 bytes, or 8 with an experimenter.
void EncodeFieldHeader(const FieldInfo& field, OfVersion version, WireWriter& out);
OfResult<const FieldInfo*> DecodeFieldHeader(WireReader& in);

}  // namespace sluice
