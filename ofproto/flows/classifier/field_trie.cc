#include "ofproto/flows/classifier/field_trie.h"

#include <algorithm>
#include <cstring>

#include "lib/base/byte_order.h"

namespace sluice {

std::unique_ptr<FieldTrie> FieldTrie::Make(FieldId field) {
  auto make = [](size_t offset, size_t size, Stage stage) {
    return std::unique_ptr<FieldTrie>(new FieldTrie(offset, size, stage));
  };
  switch (field) {
    case FieldId::kIpv4Src:
    case FieldId::kArpSpa:
      return make(offsetof(FlowKey, ipv4_src), sizeof(Be32), kStageL3);
    case FieldId::kIpv4Dst:
    case FieldId::kArpTpa:
      return make(offsetof(FlowKey, ipv4_dst), sizeof(Be32), kStageL3);
    case FieldId::kIpv6Src:
      return make(offsetof(FlowKey, ipv6_src), sizeof(Ipv6Address), kStageL3);
    case FieldId::kIpv6Dst:
      return make(offsetof(FlowKey, ipv6_dst), sizeof(Ipv6Address), kStageL3);
    case FieldId::kNdTarget:
      return make(offsetof(FlowKey, nd_target), sizeof(Ipv6Address), kStageL3);
    case FieldId::kTcpSrc:
    case FieldId::kUdpSrc:
    case FieldId::kSctpSrc:
      return make(offsetof(FlowKey, tp_src), sizeof(Be16), kStageL4);
    case FieldId::kTcpDst:
    case FieldId::kUdpDst:
    case FieldId::kSctpDst:
      return make(offsetof(FlowKey, tp_dst), sizeof(Be16), kStageL4);
    default:
      return nullptr;
  }
}

template <typename WordAt>
Uint128 FieldTrie::Read(WordAt&& word_at) const {
  auto host = [&](size_t i) { return Be64::FromRaw(word_at(i)).Get(); };
  const size_t word = offset_ / 8;
  if (is_wide()) return Uint128{host(word)} << 64 | host(word + 1);
  const uint64_t from_field_on = host(word) << (offset_ % 8 * 8);
  return Uint128{from_field_on >> (64 - size_ * 8)} << (128 - size_ * 8);
}

Uint128 FieldTrie::ReadMatch(const CompactMatch& match) const {
  return Read([&](size_t i) {
    const bool is_there = (match.mask().words >> i & 1) != 0;
    return is_there ? match.value(match.mask().Position(i)) : 0;
  });
}

size_t FieldTrie::PrefixLength(const MatchMask& mask) const {
  const Uint128 bits = Read([&](size_t i) {
    const bool is_there = (mask.words >> i & 1) != 0;
    return is_there ? mask.mask[mask.Position(i)] : 0;
  });
  const size_t length = ~bits == 0 ? 128 : LeadingZeros(~bits);
  const Uint128 rest = length == 128 ? 0 : bits << length;
  return rest == 0 ? length : 0;
}

TrieResult FieldTrie::Lookup(const OfFlow& flow) const {
  const Uint128 value = Read([&](size_t i) { return flow.Word(i); });
  return is_wide() ? wide_.Lookup(value) : narrow_.Lookup(static_cast<uint32_t>(value >> 96));
}

void FieldTrie::Unwildcard(size_t bits, OfMask& mask) const {
  std::array<uint8_t, sizeof(Ipv6Address)> prefix{};
  for (size_t i = 0; i < bits; i += 8) prefix[i / 8] = static_cast<uint8_t>(0xff00 >> std::min<size_t>(bits - i, 8));
  auto* field = reinterpret_cast<uint8_t*>(&mask) + offset_;
  for (size_t i = 0; i < size_; ++i) field[i] |= prefix[i];
}

void FieldTrie::Add(const CompactMatch& match, size_t length) {
  const Uint128 key = ReadMatch(match);
  is_wide() ? wide_.Add(key, length) : narrow_.Add(static_cast<uint32_t>(key >> 96), length);
}

void FieldTrie::Remove(const CompactMatch& match, size_t length) {
  const Uint128 key = ReadMatch(match);
  is_wide() ? wide_.Remove(key, length) : narrow_.Remove(static_cast<uint32_t>(key >> 96), length);
}

}  // namespace sluice
