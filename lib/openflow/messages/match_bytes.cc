#include "lib/openflow/messages/match_bytes.h"

namespace sluice::messages {
namespace {

constexpr uint32_t kNxmCookie = 0x00013c08;
constexpr uint32_t kNxmCookieMasked = 0x00013d10;

}  // namespace

uint16_t WriteNxmMatch(const OfMatch& match, const CookieMatch* cookie, OfVersion version, WireWriter& out) {
  size_t start = out.size();
  EncodeEntries(match, MatchForm::kNxm, version, out);
  if (cookie != nullptr && cookie->mask != 0) {
    bool exact = cookie->mask == UINT64_MAX;
    out.U32(exact ? kNxmCookie : kNxmCookieMasked);
    out.U64(cookie->cookie & cookie->mask);
    if (!exact) out.U64(cookie->mask);
  }
  auto length = static_cast<uint16_t>(out.size() - start);
  out.PadFrom(start, 8);
  return length;
}

OfResult<OfMatch> ReadNxmMatch(WireReader& in, size_t length, bool loose, CookieMatch* cookie) {
  size_t padded = (length + 7) / 8 * 8;
  if (padded > in.left()) {
    return Fail(OfError::kBmcBadLen, "match of {} bytes, where {} are left", length, in.left());
  }
  return DecodeEntries(in.Take(padded).subspan(0, length), loose, cookie);
}

OfResult<OfMatch> ReadOxmLoose(WireReader& in) {
  constexpr uint16_t kOxmMatch = 1;
  WireReader peek = in;
  uint16_t type = peek.U16();
  size_t length = peek.U16();
  size_t padded = (length + 7) / 8 * 8;
  if (!peek.ok() || length < 4 || padded > in.left()) {
    return Fail(OfError::kBmcBadLen, "match of {} bytes, where {} are left", length, in.left());
  }
  if (type != kOxmMatch) return Fail(OfError::kBmcBadType, "match of type {} instead of 1", type);
  return DecodeEntries(in.Take(padded).subspan(4, length - 4), true, nullptr);
}

}  // namespace sluice::messages
