// Monitor: one client's view of a database, and what of it the client has not been told yet.
//
// Commits are merged until they are asked for, so that a client that does not read costs what the rows that changed
// since take, however often they did.
#pragma once

#include <optional>
#include <string>

#include "lib/ovsdb/monitor_history.h"
#include "lib/ovsdb/monitor_update.h"

namespace sluice {

class Monitor {
 public:
  // `id`: the client's name for it, any JSON. The database outlives the monitor.
  Monitor(const Database& database, Json id, MonitorVersion version, MonitorSpec spec);

  const Database& database() const { return database_; }
  const Json& id() const { return id_; }
  void set_id(Json id) { id_ = std::move(id); }
  MonitorVersion version() const { return version_; }
  MonitorSpec& spec() { return spec_; }

  // The <table-updates> of the reply to the request that made the monitor.
  Json Initial() const;
  // The same for a client that knows what was before `commits`.
  Json Since(const std::vector<const ChangeSet*>& commits) const;

  // Remembers a commit. `last_id` is its id.
  void Record(const ChangeSet& changes, const Uuid& last_id);
  bool pending() const { return !pending_.empty(); }
  size_t held_bytes() const { return pending_.held_bytes(); }
  // The notification of what was remembered since the last call; nothing if there is nothing that the client wants.
  // The message is the "method" and "params" of RFC 7047 section 4.1.6.
  struct Notification {
    std::string method;
    Json params;
  };
  std::optional<Notification> TakeNotification();

  // What new conditions bring and take, TakeNotification() having been sent before. They are in force then.
  std::optional<Notification> ChangeConditions(std::vector<ConditionChange> changes, const Uuid& last_id);

 private:
  Json Updates(const MergedChanges& changes) const;
  std::optional<Notification> Notify(Json updates) const;

  const Database& database_;
  Json id_;
  const MonitorVersion version_;
  MonitorSpec spec_;
  MergedChanges pending_;
  Uuid last_id_;  // of the last commit remembered
};

}  // namespace sluice
