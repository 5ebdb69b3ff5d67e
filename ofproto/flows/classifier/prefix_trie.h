// PrefixTrie: which prefixes of one field a table's rules have, so that a lookup learns from few bits that none of some
// lengths can match.
//
// A binary trie without nodes of one child that stand for no prefix. Every node has its whole prefix, so that nothing
// is copied when it moves: changes are single stores of an edge. One writer; readers need no lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "lib/base/rcu.h"

namespace sluice {

__extension__ using Uint128 = unsigned __int128;

inline size_t LeadingZeros(uint32_t key) { return static_cast<size_t>(std::countl_zero(key)); }
inline size_t LeadingZeros(Uint128 key) {
  const auto high = static_cast<uint64_t>(key >> 64);
  return static_cast<size_t>(high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(key)));
}

struct TrieResult {
  // How many leading bits of the value were looked at. Values that agree on them get the same result.
  size_t bits = 0;
  // The lengths of the prefixes that the value has, 0 to 128.
  std::array<uint64_t, 3> lengths{};

  bool Has(size_t length) const { return (lengths[length / 64] >> (length % 64) & 1) != 0; }
  void Set(size_t length) { lengths[length / 64] |= uint64_t{1} << (length % 64); }
};

// Keys are left-aligned: bit 0 is the most significant.
template <typename Key>
class PrefixTrie {
 public:
  static constexpr size_t kBits = sizeof(Key) * 8;

  PrefixTrie() = default;
  ~PrefixTrie() { DeleteAll(root_.load(std::memory_order_relaxed)); }
  PrefixTrie(const PrefixTrie&) = delete;
  PrefixTrie& operator=(const PrefixTrie&) = delete;

  // Reader, under RCU.
  TrieResult Lookup(Key value) const;

  // Writer. A prefix may be added several times; `key` is zero behind its length, which is at least 1.
  void Add(Key key, size_t length);
  void Remove(Key key, size_t length);  // it was added
  bool empty() const { return root_.load(std::memory_order_relaxed) == nullptr; }

 private:
  struct Node {
    Node(Key prefix, size_t prefix_length, uint32_t uses)
        : key(prefix), length(static_cast<uint8_t>(prefix_length)), count(uses) {}

    const Key key;
    const uint8_t length;
    std::atomic<uint32_t> count;  // times that it was added; 0: a fork only
    std::array<std::atomic<Node*>, 2> child{};
  };
  using Edge = std::atomic<Node*>;

  static size_t Bit(Key key, size_t i) { return static_cast<size_t>(key >> (kBits - 1 - i) & 1); }
  static Key Prefix(Key key, size_t length) { return length == 0 ? 0 : key >> (kBits - length) << (kBits - length); }
  static size_t Common(Key a, Key b, size_t limit) { return std::min(a == b ? kBits : LeadingZeros(a ^ b), limit); }
  // Takes a node that stands for nothing out of its edge, if it has at most one child.
  static bool Dissolve(Edge& edge);
  static void DeleteAll(Node* node);

  Edge root_{nullptr};
};

template <typename Key>
TrieResult PrefixTrie<Key>::Lookup(Key value) const {
  TrieResult result;
  for (const Node* node = root_.load(std::memory_order_acquire); node != nullptr;) {
    const size_t common = Common(node->key, value, node->length);
    if (common < node->length) {
      result.bits = common + 1;
      break;
    }
    result.bits = node->length;
    if (node->count.load(std::memory_order_relaxed) != 0) result.Set(node->length);
    if (node->length == kBits) break;
    const size_t bit = Bit(value, node->length);
    const Node* next = node->child[bit].load(std::memory_order_acquire);
    if (next == nullptr && node->child[1 - bit].load(std::memory_order_acquire) != nullptr) ++result.bits;
    node = next;
  }
  return result;
}

template <typename Key>
void PrefixTrie<Key>::Add(Key key, size_t length) {
  Edge* edge = &root_;
  Node* node;
  size_t common = 0;
  while ((node = edge->load(std::memory_order_relaxed)) != nullptr) {
    common = Common(node->key, key, std::min<size_t>(node->length, length));
    if (common < node->length) break;
    if (length == node->length) {
      node->count.store(node->count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    edge = &node->child[Bit(key, node->length)];
  }
  auto* added = new Node(key, length, 1);
  Node* top = added;
  if (node != nullptr && common == length) {
    added->child[Bit(node->key, length)].store(node, std::memory_order_relaxed);
  } else if (node != nullptr) {
    top = new Node(Prefix(key, common), common, 0);
    top->child[Bit(key, common)].store(added, std::memory_order_relaxed);
    top->child[Bit(node->key, common)].store(node, std::memory_order_relaxed);
  }
  edge->store(top, std::memory_order_release);
}

template <typename Key>
bool PrefixTrie<Key>::Dissolve(Edge& edge) {
  Node* node = edge.load(std::memory_order_relaxed);
  if (node->count.load(std::memory_order_relaxed) != 0) return false;
  Node* children[2] = {node->child[0].load(std::memory_order_relaxed), node->child[1].load(std::memory_order_relaxed)};
  if (children[0] != nullptr && children[1] != nullptr) return false;
  edge.store(children[0] != nullptr ? children[0] : children[1], std::memory_order_release);
  RcuPostponeDelete(std::unique_ptr<Node>(node));
  return true;
}

template <typename Key>
void PrefixTrie<Key>::Remove(Key key, size_t length) {
  Edge* above = nullptr;
  Edge* edge = &root_;
  Node* node = edge->load(std::memory_order_relaxed);
  while (node->length < length) {
    above = edge;
    edge = &node->child[Bit(key, node->length)];
    node = edge->load(std::memory_order_relaxed);
  }
  node->count.store(node->count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (Dissolve(*edge) && above != nullptr) Dissolve(*above);
}

template <typename Key>
void PrefixTrie<Key>::DeleteAll(Node* node) {
  if (node == nullptr) return;
  for (Edge& child : node->child) DeleteAll(child.load(std::memory_order_relaxed));
  delete node;
}

}  // namespace sluice
