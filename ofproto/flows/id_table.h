// IdTable: shared objects by a 32-bit number. Readers need no lock; one thread writes.
//
// A fixed number of shards, each a short list that is replaced whole: a change costs the same with ten objects and with
// ten thousand, and a reader looks through a handful.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/rcu.h"

namespace sluice {

template <typename T>
class IdTable {
 public:
  using Pointer = std::shared_ptr<T>;

  IdTable() = default;
  // No thread reads any more.
  ~IdTable() {
    for (const auto& shard : shards_) delete shard.Load();
  }
  IdTable(const IdTable&) = delete;
  IdTable& operator=(const IdTable&) = delete;

  // Reader, under RCU, or the writer. nullptr: there is none.
  Pointer Find(uint32_t id) const {
    const Shard* shard = shards_[id % kShards].Load();
    if (shard == nullptr) return nullptr;
    for (const auto& [of, object] : *shard) {
      if (of == id) return object;
    }
    return nullptr;
  }

  // Writer
  // ------------------------------------------------------------------------------------------------------------------

  // Puts the object in the place of the one that has the number; nullptr: removes that.
  void Set(uint32_t id, Pointer object) {
    auto& shard = shards_[id % kShards];
    auto next = shard.Load() != nullptr ? std::make_unique<Shard>(*shard.Load()) : std::make_unique<Shard>();
    auto it = std::find_if(next->begin(), next->end(), [&](const auto& entry) { return entry.first == id; });
    const bool is_there = it != next->end();
    size_ = size_ - is_there + (object != nullptr);
    if (object == nullptr) {
      if (is_there) next->erase(it);
    } else if (is_there) {
      it->second = std::move(object);
    } else {
      next->emplace_back(id, std::move(object));
    }
    shard.Replace(std::move(next));
  }
  size_t size() const { return size_; }
  // By number.
  std::vector<Pointer> All() const {
    Shard all;
    for (const auto& shard : shards_) {
      if (const Shard* entries = shard.Load()) all.insert(all.end(), entries->begin(), entries->end());
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Pointer> objects;
    for (auto& entry : all) objects.push_back(std::move(entry.second));
    return objects;
  }

 private:
  static constexpr size_t kShards = 1024;
  using Shard = std::vector<std::pair<uint32_t, Pointer>>;

  std::array<RcuPtr<Shard>, kShards> shards_;
  size_t size_ = 0;
};

}  // namespace sluice
