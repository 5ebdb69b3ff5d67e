// LinkMonitor: tells when a network interface of the namespace changes: appears, goes (also into another namespace), is
// renamed, goes up or down, gets or loses its carrier, or changes MTU, address or features (rtnetlink(7), RTNLGRP_LINK,
// which the kernel also notifies of ethtool feature changes).
//
// One per process, main thread. The owner waits for fd() to be readable and then calls HandleEvents().
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

struct nl_sock;
struct nl_msg;

namespace sluice {

class LinkMonitor {
 public:
  using Callback = std::function<void()>;

  // Watches the calling thread's network namespace from now on.
  static absl::StatusOr<std::unique_ptr<LinkMonitor>> Open();
  ~LinkMonitor();
  LinkMonitor(const LinkMonitor&) = delete;
  LinkMonitor& operator=(const LinkMonitor&) = delete;

  int fd() const;
  // Reads all that is pending, never blocks, and calls the watchers of every name concerned, once each. When the kernel
  // had to leave notifications out, everything may have changed: then all watchers are called.
  void HandleEvents();

  // Ends with the object. Must not outlive the monitor.
  class Watch {
   public:
    Watch() = default;
    ~Watch() { Cancel(); }
    Watch(Watch&& other) noexcept;
    Watch& operator=(Watch&& other) noexcept;

    void Cancel();

   private:
    friend class LinkMonitor;
    Watch(LinkMonitor* monitor, uint64_t id) : monitor_(monitor), id_(id) {}

    LinkMonitor* monitor_ = nullptr;
    uint64_t id_ = 0;
  };

  // Calls `callback` when the interface called `name` may have changed, one that does not exist yet included. A
  // callback may add and cancel watches.
  [[nodiscard]] Watch WatchName(std::string name, Callback callback);
  // Calls `callback` once for all that one HandleEvents() found, behind the watchers of names.
  [[nodiscard]] Watch WatchAll(Callback callback);

 private:
  struct Watcher {
    std::string name;  // empty: all
    Callback callback;
  };

  explicit LinkMonitor(nl_sock* socket) : socket_(socket) {}

  static int TakeMessage(nl_msg* message, void* monitor);
  bool DumpLinks();
  void NoteLink(uint32_t ifindex, std::string name, bool exists);
  void CallWatchers();

  nl_sock* socket_;
  std::map<uint64_t, Watcher> watchers_;  // by id, so in order of their making
  uint64_t next_id_ = 1;
  absl::flat_hash_map<uint32_t, std::string> names_;  // of all interfaces, by ifindex
  absl::flat_hash_set<std::string> changed_;          // names to report
  bool all_changed_ = false;
};

}  // namespace sluice
