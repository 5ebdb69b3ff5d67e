// FieldTrie: the prefix trie of one field of flows: an IP address or a transport port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/openflow/field.h"
#include "ofproto/flows/classifier/prefix_trie.h"
#include "ofproto/flows/classifier/stages.h"
#include "ofproto/flows/compact_match.h"

namespace sluice {

class FieldTrie {
 public:
  // nullptr: prefixes of the field cannot be indexed.
  static std::unique_ptr<FieldTrie> Make(FieldId field);

  Stage stage() const { return stage_; }
  // Whether both are of the same bits of the flow, like ip_src and arp_spa.
  bool IsOf(const FieldTrie& other) const { return offset_ == other.offset_; }

  // How many leading bits of the field the mask has; 0 if it has none, or others than leading ones.
  size_t PrefixLength(const MatchMask& mask) const;
  TrieResult Lookup(const OfFlow& flow) const;
  // Sets the field's first bits in the mask.
  void Unwildcard(size_t bits, OfMask& mask) const;

  // Writer: of a rule whose mask has that prefix length, at least 1.
  void Add(const CompactMatch& match, size_t length);
  void Remove(const CompactMatch& match, size_t length);

 private:
  FieldTrie(size_t offset, size_t size, Stage stage) : offset_(offset), size_(size), stage_(stage) {}

  // The field, left-aligned. `word_at(i)` gives word i of the flow that it is read from.
  template <typename WordAt>
  Uint128 Read(WordAt&& word_at) const;
  Uint128 ReadMatch(const CompactMatch& match) const;
  bool is_wide() const { return size_ > sizeof(uint32_t); }

  const size_t offset_;  // in OfFlow, bytes
  const size_t size_;    // bytes: 2, 4 or 16
  const Stage stage_;
  PrefixTrie<uint32_t> narrow_;
  PrefixTrie<Uint128> wide_;
};

}  // namespace sluice
