#include "ofproto/xlate/mac_table.h"

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/node_hash_map.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <mutex>
#include <tuple>
#include <utility>

#include "lib/base/hash.h"

namespace sluice {
namespace {

using TimePoint = MacTable::Clock::time_point;

constexpr size_t kShards = 64;  // a power of two
// Entries that are removed without letting go of the lock that learning needs.
constexpr size_t kAtOnce = 256;

// VLAN and address in one word.
uint64_t PackKey(uint16_t vlan, const MacAddress& mac) {
  uint64_t key = vlan;
  for (uint8_t byte : mac) key = key << 8 | byte;
  return key;
}

uint16_t VlanOf(uint64_t key) { return static_cast<uint16_t>(key >> 48); }

MacAddress MacOf(uint64_t key) {
  MacAddress mac;
  for (size_t i = 0; i < mac.size(); ++i) mac[i] = static_cast<uint8_t>(key >> (8 * (mac.size() - 1 - i)));
  return mac;
}

bool IsMulticast(const MacAddress& mac) { return (mac[0] & 1) != 0; }

struct KeyHash {
  size_t operator()(uint64_t key) const { return HashFinish(HashAdd(0, key)); }
};

}  // namespace

// Two levels of locks. A shard's lock guards the part of the map that the shard holds: lookups and refreshing take only
// that. structure guards what orders the entries (ages, sizes of bundles): taken when the set of entries changes,
// before any shard's lock. At most one shard's lock is held at a time.
//
// Refreshing only advances Entry::used. The place in the order, Entry::ordered, may thus be older than the truth, never
// newer; whoever takes the oldest puts it back to its true place first if it was used since.
struct MacTable::Impl {
  struct Entry {
    uint64_t bundle = 0;
    bool is_static = false;
    TimePoint used;
    TimePoint locked_until;
    TimePoint ordered;  // under structure
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    absl::node_hash_map<uint64_t, Entry, KeyHash> entries;
    TimePoint latest;  // use that was told
  };
  struct Place {
    TimePoint ordered;
    uint64_t key;
    auto operator<=>(const Place&) const = default;
  };
  using Order = absl::btree_set<Place>;  // oldest first
  // Of a bundle with dynamic entries; by size, so that the largest is the last.
  using Size = std::pair<size_t, uint64_t>;

  Impl(uint32_t most, std::chrono::seconds age) : max_entries(most), aging(age) {}

  // The high bits of the hash, since the map uses the low ones.
  Shard& ShardOf(uint64_t key) { return shards[KeyHash()(key) >> 26 & (kShards - 1)]; }
  size_t total() const { return dynamic_entries + static_entries; }

  struct Use {
    uint64_t bundle = 0;
    TimePoint when;
    bool locks = false;  // entries
    bool moves_locked = true;
    bool may_be_past = false;
  };
  bool Change(uint64_t key, const Use& use);
  void Put(uint64_t key, uint64_t bundle, TimePoint used);
  void Take(uint64_t key, uint64_t bundle, TimePoint ordered);
  void Resize(uint64_t bundle, size_t before, size_t after);
  Place OldestOf(Order& order);
  bool EvictOne();
  void Erase(uint64_t key);
  size_t ExpireSome(uint64_t bundle, TimePoint now, size_t most);
  template <typename Predicate>
  void EraseIf(Predicate predicate);
  // What was used up to now is not to come back.
  void ForgetUses();
  void NextGeneration() { generation.fetch_add(1, std::memory_order_release); }

  std::array<Shard, kShards> shards;
  std::atomic<uint64_t> generation{1};

  mutable std::mutex structure;
  // All below is guarded by it, and functions that touch it are called under it.
  uint32_t max_entries;
  std::chrono::seconds aging;
  absl::flat_hash_map<uint64_t, Order> orders;  // by bundle, dynamic entries
  absl::btree_set<Size> sizes;
  size_t dynamic_entries = 0;
  size_t static_entries = 0;
  Statistics counts;
  TimePoint forgotten;  // uses up to this are of no interest any more
};

// The bookkeeping of one dynamic entry, at its place in the order.
void MacTable::Impl::Put(uint64_t key, uint64_t bundle, TimePoint used) {
  Order& order = orders[bundle];
  order.insert({used, key});
  Resize(bundle, order.size() - 1, order.size());
  ++dynamic_entries;
}

void MacTable::Impl::Take(uint64_t key, uint64_t bundle, TimePoint ordered) {
  auto found = orders.find(bundle);
  found->second.erase({ordered, key});
  Resize(bundle, found->second.size() + 1, found->second.size());
  if (found->second.empty()) orders.erase(found);
  --dynamic_entries;
}

void MacTable::Impl::Resize(uint64_t bundle, size_t before, size_t after) {
  if (before != 0) sizes.erase({before, bundle});
  if (after != 0) sizes.insert({after, bundle});
}

// What was not used for longest, of an order that is not empty.
MacTable::Impl::Place MacTable::Impl::OldestOf(Order& order) {
  for (;;) {
    Place oldest = *order.begin();
    Shard& shard = ShardOf(oldest.key);
    std::lock_guard lock(shard.mutex);
    Entry& entry = shard.entries.find(oldest.key)->second;
    if (entry.used <= oldest.ordered) return oldest;
    order.erase(order.begin());
    entry.ordered = entry.used;
    order.insert({entry.ordered, oldest.key});
  }
}

bool MacTable::Impl::EvictOne() {
  if (sizes.empty()) return false;
  Erase(OldestOf(orders.find(sizes.rbegin()->second)->second).key);
  ++counts.evicted;
  return true;
}

void MacTable::Impl::Erase(uint64_t key) {
  Shard& shard = ShardOf(key);
  std::lock_guard lock(shard.mutex);
  auto found = shard.entries.find(key);
  if (found->second.is_static) {
    --static_entries;
  } else {
    Take(key, found->second.bundle, found->second.ordered);
  }
  shard.entries.erase(found);
  NextGeneration();
}

void MacTable::Impl::ForgetUses() {
  TimePoint latest;
  for (Shard& shard : shards) {
    std::lock_guard lock(shard.mutex);
    latest = std::max(latest, shard.latest);
  }
  std::lock_guard lock(structure);
  forgotten = std::max(forgotten, latest);
}

// Takes structure itself, and lets go of it now and then.
template <typename Predicate>
void MacTable::Impl::EraseIf(Predicate predicate) {
  for (Shard& shard : shards) {
    std::vector<uint64_t> keys;
    {
      std::lock_guard lock(shard.mutex);
      for (const auto& [key, entry] : shard.entries) {
        if (predicate(entry)) keys.push_back(key);
      }
    }
    for (size_t from = 0; from < keys.size(); from += kAtOnce) {
      std::lock_guard structure_lock(structure);
      for (size_t i = from; i < std::min(from + kAtOnce, keys.size()); ++i) {
        std::unique_lock lock(shard.mutex);
        auto found = shard.entries.find(keys[i]);
        bool still = found != shard.entries.end() && predicate(found->second);
        lock.unlock();
        if (still) Erase(keys[i]);
      }
    }
  }
}

// Of one bundle, and at most so many. What looks young is: places are never newer than the truth.
size_t MacTable::Impl::ExpireSome(uint64_t bundle, TimePoint now, size_t most) {
  size_t expired = 0;
  for (; expired < most; ++expired) {
    auto found = orders.find(bundle);  // gone with its last entry
    if (found == orders.end() || found->second.begin()->ordered + aging > now) break;
    Place oldest = OldestOf(found->second);
    if (oldest.ordered + aging > now) break;
    Erase(oldest.key);
  }
  counts.expired += expired;
  return expired;
}

// Learns what is not just a refresh: a new address or a move.
bool MacTable::Impl::Change(uint64_t key, const Use& use) {
  std::lock_guard structure_lock(structure);
  Shard& shard = ShardOf(key);
  TimePoint locked_until = use.locks ? use.when + kGratuitousLock : TimePoint();
  {
    std::lock_guard lock(shard.mutex);
    auto found = shard.entries.find(key);
    if (found != shard.entries.end()) {
      Entry& entry = found->second;
      // Another thread may have been faster.
      if (entry.is_static || entry.bundle == use.bundle) return false;
      if (use.may_be_past && use.when <= entry.used) return false;
      if (!use.moves_locked && use.when < entry.locked_until) return false;
      Take(key, entry.bundle, entry.ordered);
      entry.bundle = use.bundle;
      entry.used = entry.ordered = std::max(entry.used, use.when);
      entry.locked_until = locked_until;
      Put(key, use.bundle, entry.ordered);
      ++counts.moved;
      NextGeneration();
      return true;
    }
  }
  if (use.may_be_past && use.when <= forgotten) return false;
  while (total() >= max_entries) {
    if (!EvictOne()) return false;  // all of them are static
  }
  std::lock_guard lock(shard.mutex);
  shard.entries.emplace(
      key, Entry{.bundle = use.bundle, .used = use.when, .locked_until = locked_until, .ordered = use.when});
  Put(key, use.bundle, use.when);
  ++counts.learned;
  NextGeneration();
  return true;
}

MacTable::MacTable(uint32_t max_entries, std::chrono::seconds aging)
    : impl_(std::make_unique<Impl>(max_entries, aging)) {}

MacTable::~MacTable() = default;

std::optional<uint64_t> MacTable::Lookup(uint16_t vlan, const MacAddress& mac) const {
  if (IsMulticast(mac)) return std::nullopt;
  uint64_t key = PackKey(vlan, mac);
  const Impl::Shard& shard = impl_->ShardOf(key);
  std::lock_guard lock(shard.mutex);
  auto found = shard.entries.find(key);
  if (found == shard.entries.end()) return std::nullopt;
  return found->second.bundle;
}

bool MacTable::Learn(uint16_t vlan, const MacAddress& mac, uint64_t bundle, bool gratuitous_arp, TimePoint now,
                     bool reflects) {
  if (IsMulticast(mac)) return false;
  uint64_t key = PackKey(vlan, mac);
  bool locks = gratuitous_arp && !reflects;
  Impl::Shard& shard = impl_->ShardOf(key);
  {
    std::lock_guard lock(shard.mutex);
    shard.latest = std::max(shard.latest, now);
    auto found = shard.entries.find(key);
    if (found != shard.entries.end()) {
      Impl::Entry& entry = found->second;
      if (entry.is_static) return false;
      if (entry.bundle == bundle) {
        entry.used = std::max(entry.used, now);
        if (locks) entry.locked_until = now + kGratuitousLock;
        return false;
      }
    }
  }
  return impl_->Change(key, {.bundle = bundle, .when = now, .locks = locks, .moves_locked = !reflects});
}

void MacTable::Refresh(uint16_t vlan, const MacAddress& mac, uint64_t bundle, TimePoint used) {
  if (IsMulticast(mac)) return;
  uint64_t key = PackKey(vlan, mac);
  Impl::Shard& shard = impl_->ShardOf(key);
  {
    std::lock_guard lock(shard.mutex);
    shard.latest = std::max(shard.latest, used);
    auto found = shard.entries.find(key);
    if (found != shard.entries.end()) {
      Impl::Entry& entry = found->second;
      if (entry.is_static || used <= entry.used) return;
      if (entry.bundle == bundle) {
        entry.used = used;
        return;
      }
    }
  }
  impl_->Change(key, {.bundle = bundle, .when = used, .moves_locked = false, .may_be_past = true});
}

void MacTable::SetLimits(uint32_t max_entries, std::chrono::seconds aging) {
  {
    std::lock_guard lock(impl_->structure);
    impl_->max_entries = max_entries;
    impl_->aging = aging;
  }
  for (bool fits = false; !fits;) {
    std::lock_guard lock(impl_->structure);
    for (size_t i = 0; i < kAtOnce && !fits; ++i) fits = impl_->total() <= max_entries || !impl_->EvictOne();
  }
}

void MacTable::AddStatic(uint16_t vlan, const MacAddress& mac, uint64_t bundle) {
  if (IsMulticast(mac)) return;
  uint64_t key = PackKey(vlan, mac);
  Impl& impl = *impl_;
  std::lock_guard structure_lock(impl.structure);
  Impl::Shard& shard = impl.ShardOf(key);
  {
    std::lock_guard lock(shard.mutex);
    auto [found, is_new] = shard.entries.try_emplace(key);
    Impl::Entry& entry = found->second;
    if (entry.is_static && entry.bundle == bundle) return;
    if (!is_new && !entry.is_static) impl.Take(key, entry.bundle, entry.ordered);
    if (!entry.is_static) ++impl.static_entries;
    entry = Impl::Entry{.bundle = bundle, .is_static = true};
    impl.NextGeneration();
  }
  while (impl.total() > impl.max_entries && impl.EvictOne()) {
  }
}

bool MacTable::Remove(uint16_t vlan, const MacAddress& mac) {
  uint64_t key = PackKey(vlan, mac);
  impl_->ForgetUses();
  std::lock_guard structure_lock(impl_->structure);
  {
    const Impl::Shard& shard = impl_->ShardOf(key);
    std::lock_guard lock(shard.mutex);
    if (!shard.entries.contains(key)) return false;
  }
  // Entries come and go only under structure, which is held.
  impl_->Erase(key);
  return true;
}

void MacTable::RemoveBundle(uint64_t bundle) {
  impl_->ForgetUses();
  impl_->EraseIf([bundle](const Impl::Entry& entry) { return entry.bundle == bundle; });
}

void MacTable::Flush() {
  impl_->ForgetUses();
  impl_->EraseIf([](const Impl::Entry& entry) { return !entry.is_static; });
}

size_t MacTable::Expire(TimePoint now) {
  Impl& impl = *impl_;
  {
    std::lock_guard lock(impl.shards[0].mutex);
    impl.shards[0].latest = std::max(impl.shards[0].latest, now);
  }
  std::vector<uint64_t> bundles;
  {
    std::lock_guard lock(impl.structure);
    bundles.reserve(impl.orders.size());
    for (const auto& [bundle, order] : impl.orders) bundles.push_back(bundle);
  }
  size_t expired = 0;
  for (uint64_t bundle : bundles) {
    size_t some = kAtOnce;
    while (some == kAtOnce) {
      std::lock_guard lock(impl.structure);
      some = impl.ExpireSome(bundle, now, kAtOnce);
      expired += some;
    }
  }
  return expired;
}

uint64_t MacTable::generation() const { return impl_->generation.load(std::memory_order_acquire); }

std::vector<MacTable::Entry> MacTable::Entries(TimePoint now) const {
  std::vector<std::pair<TimePoint, Entry>> found;
  for (const Impl::Shard& shard : impl_->shards) {
    std::lock_guard lock(shard.mutex);
    for (const auto& [key, entry] : shard.entries) {
      auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - entry.used);
      bool has_age = !entry.is_static && age.count() > 0;
      found.emplace_back(entry.used, Entry{.vlan = VlanOf(key),
                                           .mac = MacOf(key),
                                           .bundle = entry.bundle,
                                           .is_static = entry.is_static,
                                           .age = has_age ? age : std::chrono::milliseconds(0)});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.vlan, a.second.mac) < std::tie(b.first, b.second.vlan, b.second.mac);
  });
  std::vector<Entry> entries;
  entries.reserve(found.size());
  for (auto& [used, entry] : found) entries.push_back(entry);
  return entries;
}

MacTable::Statistics MacTable::statistics() const {
  std::lock_guard lock(impl_->structure);
  Statistics statistics = impl_->counts;
  statistics.entries = impl_->total();
  statistics.static_entries = impl_->static_entries;
  statistics.max_entries = impl_->max_entries;
  return statistics;
}

void MacTable::ClearStatistics() {
  std::lock_guard lock(impl_->structure);
  impl_->counts = Statistics();
}

}  // namespace sluice
