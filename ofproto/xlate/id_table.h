// IdTable: numbers for values that datapath actions can only name by a number (recirculation, packets to controllers).
//
// Equal values have the same number, so that translating a flow again gives the same actions. A number lives as long as
// somebody holds its entry, as an installed flow does. Any thread; takes a lock, slow path only.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice {

template <typename T>  // has operator==
class IdTable {
 public:
  struct Entry {
    uint32_t id = 0;  // never 0
    size_t hash = 0;
    T value;
  };
  using Ref = std::shared_ptr<const Entry>;

  // `hash`: of the value.
  Ref Intern(T value, size_t hash) {
    std::vector<Ref> others;  // let go without the lock: it may be for the last time
    std::lock_guard lock(state_->mutex);
    auto [from, to] = state_->by_hash.equal_range(hash);
    for (auto it = from; it != to; ++it) {
      Ref entry = it->second.lock();
      if (entry == nullptr) continue;
      if (entry->value == value) return entry;
      others.push_back(std::move(entry));
    }
    do {
      ++state_->last_id;
    } while (state_->last_id == 0 || state_->by_id.contains(state_->last_id));
    auto* made = new Entry{state_->last_id, hash, std::move(value)};
    Ref entry(made, [state = state_](const Entry* old) { Forget(*state, old); });
    state_->by_hash.emplace(hash, entry);
    state_->by_id.emplace(made->id, entry);
    return entry;
  }

  // nullptr: nobody holds such a number.
  Ref Find(uint32_t id) const {
    std::lock_guard lock(state_->mutex);
    auto it = state_->by_id.find(id);
    return it == state_->by_id.end() ? nullptr : it->second.lock();
  }
  size_t size() const {
    std::lock_guard lock(state_->mutex);
    return state_->by_id.size();
  }

 private:
  // Entries may outlive the table.
  struct State {
    mutable std::mutex mutex;
    uint32_t last_id = 0;
    std::unordered_multimap<size_t, std::weak_ptr<const Entry>> by_hash;
    std::unordered_map<uint32_t, std::weak_ptr<const Entry>> by_id;
  };

  static void Forget(State& state, const Entry* old) {
    {
      std::lock_guard lock(state.mutex);
      state.by_id.erase(old->id);
      auto [from, to] = state.by_hash.equal_range(old->hash);
      for (auto it = from; it != to;) it = it->second.expired() ? state.by_hash.erase(it) : std::next(it);
    }
    delete old;
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace sluice
