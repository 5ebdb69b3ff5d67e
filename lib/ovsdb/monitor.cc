#include "lib/ovsdb/monitor.h"

namespace sluice {
namespace {

void Put(Json* updates, const MonitoredTable& monitored, const Uuid& row, std::optional<Json> update) {
  if (update) (*updates)[monitored.table->name][row.ToString()] = *std::move(update);
}

}  // namespace

Monitor::Monitor(const Database& database, Json id, MonitorVersion version, MonitorSpec spec)
    : database_(database), id_(std::move(id)), version_(version), spec_(std::move(spec)) {}

Json Monitor::Initial() const {
  Json updates = Json::object();
  for (const MonitoredTable& monitored : spec_.tables) {
    for (const auto& [uuid, row] : database_.rows(monitored.table->name)) {
      Put(&updates, monitored, uuid, RowUpdate(monitored, version_, nullptr, row.get(), true));
    }
  }
  return updates;
}

Json Monitor::Updates(const MergedChanges& changes) const {
  Json updates = Json::object();
  for (const MonitoredTable& monitored : spec_.tables) {
    const auto rows = changes.tables().find(monitored.table);
    if (rows == changes.tables().end()) continue;
    for (const auto& [uuid, change] : rows->second) {
      Put(&updates, monitored, uuid, RowUpdate(monitored, version_, change.old_row.get(), change.new_row.get(), false));
    }
  }
  return updates;
}

Json Monitor::Since(const std::vector<const ChangeSet*>& commits) const {
  MergedChanges merged;
  for (const ChangeSet* commit : commits) {
    for (const RowChange& change : *commit) merged.Add(change);
  }
  return Updates(merged);
}

void Monitor::Record(const ChangeSet& changes, const Uuid& last_id) {
  last_id_ = last_id;
  for (const RowChange& change : changes) {
    if (spec_.Find(change.table) != nullptr) pending_.Add(change);
  }
}

std::optional<Monitor::Notification> Monitor::Notify(Json updates) const {
  if (updates.empty()) return std::nullopt;
  switch (version_) {
    case MonitorVersion::kUpdate:
      return Notification{"update", Json::array({id_, std::move(updates)})};
    case MonitorVersion::kUpdate2:
      return Notification{"update2", Json::array({id_, std::move(updates)})};
    case MonitorVersion::kUpdate3:
      return Notification{"update3", Json::array({id_, last_id_.ToString(), std::move(updates)})};
  }
  return std::nullopt;
}

std::optional<Monitor::Notification> Monitor::TakeNotification() {
  if (pending_.empty()) return std::nullopt;
  const MergedChanges changes = std::exchange(pending_, MergedChanges());
  return Notify(Updates(changes));
}

std::optional<Monitor::Notification> Monitor::ChangeConditions(std::vector<ConditionChange> changes,
                                                               const Uuid& last_id) {
  last_id_ = last_id;
  Json updates = Json::object();
  for (ConditionChange& change : changes) {
    MonitoredTable& monitored = *spec_.Find(change.table);
    // A row that matches both before and after is known to the client as it is.
    std::vector<std::pair<RowPtr, bool>> rows;
    for (const auto& [uuid, row] : database_.rows(change.table->name)) {
      rows.emplace_back(row, monitored.Matches(*row));
    }
    MonitoredTable all = monitored;
    all.conditions.clear();
    monitored.conditions = std::move(change.conditions);
    for (const auto& [row, matched] : rows) {
      const bool matches = monitored.Matches(*row);
      if (matched == matches) continue;
      Put(&updates, monitored, row->uuid,
          RowUpdate(all, version_, matched ? row.get() : nullptr, matches ? row.get() : nullptr, false));
    }
  }
  return Notify(std::move(updates));
}

}  // namespace sluice
