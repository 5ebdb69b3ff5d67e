#include "ofproto/flows/compact_match.h"

#include <algorithm>

#include "lib/base/hash.h"

namespace sluice {

MatchMask::MatchMask(const OfMask& full) {
  for (size_t i = 0; i < OfFlow::kWords; ++i) {
    if (uint64_t word = full.Word(i); word != 0) {
      words |= uint64_t{1} << i;
      index[count] = static_cast<uint8_t>(i);
      mask[count++] = word;
    }
  }
}

OfMask MatchMask::Expand() const {
  OfMask full;
  for (size_t i = 0; i < count; ++i) full.SetWord(index[i], mask[i]);
  return full;
}

size_t MatchMask::Hash() const {
  uint64_t hash = HashAdd(0, words);
  for (size_t i = 0; i < count; ++i) hash = HashAdd(hash, mask[i]);
  return hash;
}

bool MatchMask::Covers(const MatchMask& other) const {
  if ((other.words & ~words) != 0) return false;
  for (size_t i = 0; i < other.count; ++i) {
    if ((other.mask[i] & ~mask[Position(other.index[i])]) != 0) return false;
  }
  return true;
}

CompactMatch::CompactMatch(std::shared_ptr<const MatchMask> mask, const OfFlow& value)
    : mask_(std::move(mask)), values_(mask_->count) {
  for (size_t i = 0; i < mask_->count; ++i) values_[i] = value.Word(mask_->index[i]) & mask_->mask[i];
}

OfMatch CompactMatch::Expand() const {
  OfMatch match;
  for (size_t i = 0; i < mask_->count; ++i) {
    match.mask.SetWord(mask_->index[i], mask_->mask[i]);
    match.value.SetWord(mask_->index[i], values_[i]);
  }
  return match;
}

bool CompactMatch::IsWithin(const MatchMask& other, const OfFlow& other_value) const {
  if (!mask_->Covers(other)) return false;
  for (size_t i = 0; i < other.count; ++i) {
    const size_t word = other.index[i];
    if (((values_[mask_->Position(word)] ^ other_value.Word(word)) & other.mask[i]) != 0) return false;
  }
  return true;
}

bool CompactMatch::Overlaps(const CompactMatch& other) const {
  for (uint64_t common = mask_->words & other.mask_->words; common != 0; common &= common - 1) {
    const auto word = static_cast<size_t>(std::countr_zero(common));
    const size_t here = mask_->Position(word), there = other.mask_->Position(word);
    if (((values_[here] ^ other.values_[there]) & mask_->mask[here] & other.mask_->mask[there]) != 0) return false;
  }
  return true;
}

bool CompactMatch::HasValue(const OfFlow& value) const {
  for (size_t i = 0; i < mask_->count; ++i) {
    if (values_[i] != value.Word(mask_->index[i])) return false;
  }
  return true;
}

}  // namespace sluice
