// CompactMatch: an OfMatch in few bytes: only the words of the flow that have a mask, and the mask shared by all rules
// that have the same. Immutable.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "lib/openflow/flow.h"

namespace sluice {

// The words of an OfMask that are not zero.
struct MatchMask {
  explicit MatchMask(const OfMask& mask);

  uint64_t words = 0;  // bit i: word i is there
  size_t count = 0;
  std::array<uint8_t, OfFlow::kWords> index;  // the first `count`: which word, ascending
  std::array<uint64_t, OfFlow::kWords> mask;  // the first `count`: its bits

  OfMask Expand() const;
  size_t Hash() const;
  // Whether every bit of `other` is a bit of this one.
  bool Covers(const MatchMask& other) const;
  // Where word `i` is among the first `count`; the word must be there.
  size_t Position(size_t i) const { return static_cast<size_t>(std::popcount(words & ((uint64_t{1} << i) - 1))); }

  friend bool operator==(const MatchMask& a, const MatchMask& b) {
    return a.words == b.words && std::equal(a.mask.begin(), a.mask.begin() + a.count, b.mask.begin());
  }
};

class CompactMatch {
 public:
  // `value` is zero where the mask is.
  CompactMatch(std::shared_ptr<const MatchMask> mask, const OfFlow& value);

  OfMatch Expand() const;
  operator OfMatch() const { return Expand(); }  // NOLINT: readers see a match

  const MatchMask& mask() const { return *mask_; }
  // The value of the mask's word at `position`.
  uint64_t value(size_t position) const { return values_[position]; }

  bool Matches(const OfFlow& flow) const {
    for (size_t i = 0; i < mask_->count; ++i) {
      if ((flow.Word(mask_->index[i]) & mask_->mask[i]) != values_[i]) return false;
    }
    return true;
  }
  // Whether this matches nothing that `other` does not match: OpenFlow's loose comparison.
  bool IsWithin(const MatchMask& other, const OfFlow& other_value) const;
  // Whether one flow can match both.
  bool Overlaps(const CompactMatch& other) const;
  bool HasValue(const OfFlow& value) const;

 private:
  std::shared_ptr<const MatchMask> mask_;
  // Five words hold a match on the port and TCP's five-tuple.
  absl::InlinedVector<uint64_t, 5> values_;
};

}  // namespace sluice
