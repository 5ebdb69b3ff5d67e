#include "lib/ovsdb/lock_table.h"

#include <algorithm>

namespace sluice {

bool LockTable::Asked(const Queue& queue, const Client& client) const {
  return queue.robbed.contains(&client) || std::any_of(queue.waiters.begin(), queue.waiters.end(),
                                                       [&](const Waiter& waiter) { return waiter.client == &client; });
}

absl::StatusOr<bool> LockTable::Lock(Client& client, const std::string& lock, bool steal) {
  Queue& queue = locks_[lock];
  if (Asked(queue, client)) {
    return FailedPrecondition("must issue \"unlock\" before new \"{}\"", steal ? "steal" : "lock");
  }
  if (!steal) {
    queue.waiters.push_back({&client, false});
    return queue.waiters.size() == 1;
  }
  Client* victim = nullptr;
  if (!queue.waiters.empty()) {
    victim = queue.waiters.front().client;
    if (queue.waiters.front().thief) queue.waiters.pop_front();
    queue.robbed.insert(victim);
  }
  queue.waiters.push_front({&client, true});
  if (victim != nullptr) victim->OnStolen(lock);
  return true;
}

void LockTable::Leave(std::map<std::string, Queue, std::less<>>::iterator lock, Client& client) {
  Queue& queue = lock->second;
  const bool owned = !queue.waiters.empty() && queue.waiters.front().client == &client;
  queue.robbed.erase(&client);
  std::erase_if(queue.waiters, [&](const Waiter& waiter) { return waiter.client == &client; });
  if (queue.waiters.empty() && queue.robbed.empty()) {
    locks_.erase(lock);
    return;
  }
  if (!owned || queue.waiters.empty()) return;
  Client* next = queue.waiters.front().client;
  queue.robbed.erase(next);
  next->OnLocked(lock->first);
}

absl::Status LockTable::Unlock(Client& client, const std::string& lock) {
  const auto found = locks_.find(lock);
  if (found == locks_.end() || !Asked(found->second, client)) {
    return FailedPrecondition("\"unlock\" without \"lock\" or \"steal\"");
  }
  Leave(found, client);
  return absl::OkStatus();
}

void LockTable::RemoveClient(Client& client) {
  for (auto next = locks_.begin(); next != locks_.end();) {
    const auto lock = next++;
    if (Asked(lock->second, client)) Leave(lock, client);
  }
}

bool LockTable::Holds(const Client& client, std::string_view lock) const {
  const auto found = locks_.find(lock);
  return found != locks_.end() && !found->second.waiters.empty() && found->second.waiters.front().client == &client;
}

std::vector<std::string> LockTable::Names(const Client& client, State state) const {
  std::vector<std::string> names;
  for (const auto& [name, queue] : locks_) {
    if (!Asked(queue, client)) continue;
    const State its = Holds(client, name)              ? State::kHeld
                      : queue.robbed.contains(&client) ? State::kLost
                                                       : State::kWaiting;
    if (its == state) names.push_back(name);
  }
  return names;
}

}  // namespace sluice
