// LockTable: the named locks of an OVSDB server (RFC 7047 section 4.1.8 to 4.1.10).
//
// A lock is not tied to a database: it only means something to the clients that agree on its name, and to "assert". Its
// clients stand in a queue whose first one owns it. Stealing goes to the front at once; the client that lost it is told
// and stays next in the queue if it had waited its turn, or leaves it if it was a thief itself, as ovsdb-server has it.
// Either way it must unlock before it asks again.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace sluice {

class LockTable {
 public:
  // Who asks for locks. Not owned; calls RemoveClient() before it goes.
  class Client {
   public:
    virtual ~Client() = default;
    virtual void OnLocked(const std::string& lock) = 0;
    virtual void OnStolen(const std::string& lock) = 0;
  };

  // Whether `client` owns the lock now; if not, OnLocked() follows when it does. An error if it asked before and did
  // not unlock since.
  absl::StatusOr<bool> Lock(Client& client, const std::string& lock, bool steal);
  // Gives the lock, or the place in its queue, back. An error if `client` did not ask for it.
  absl::Status Unlock(Client& client, const std::string& lock);
  // As if it unlocked everything.
  void RemoveClient(Client& client);

  bool Holds(const Client& client, std::string_view lock) const;

  // The names of the locks of one client, for status columns.
  enum class State : uint8_t { kHeld, kWaiting, kLost };
  std::vector<std::string> Names(const Client& client, State state) const;

 private:
  struct Waiter {
    Client* client;
    bool thief;
  };
  struct Queue {
    std::deque<Waiter> waiters;      // the first one owns the lock
    std::set<const Client*> robbed;  // lost it and did not unlock since; some of them also wait
  };

  bool Asked(const Queue& queue, const Client& client) const;
  // Takes `client` out of the queue of a lock, and tells the next owner.
  void Leave(std::map<std::string, Queue, std::less<>>::iterator lock, Client& client);

  std::map<std::string, Queue, std::less<>> locks_;
};

}  // namespace sluice
