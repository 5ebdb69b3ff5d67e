#include "lib/ovsdb/monitor_history.h"

namespace sluice {
namespace {

size_t AtomBytes(const std::vector<Atom>& atoms) {
  size_t bytes = atoms.size() * sizeof(Atom);
  for (const Atom& atom : atoms) {
    if (const auto* text = std::get_if<std::string>(&atom)) bytes += text->size();
  }
  return bytes;
}

}  // namespace

size_t ApproximateBytes(const Row* row) {
  if (row == nullptr) return 0;
  size_t bytes = sizeof(Row) + row->columns.size() * sizeof(Datum);
  for (const Datum& datum : row->columns) bytes += AtomBytes(datum.keys) + AtomBytes(datum.values);
  return bytes;
}

void MergedChanges::Add(const RowChange& change) {
  const Uuid& uuid = (change.new_row != nullptr ? change.new_row : change.old_row)->uuid;
  Rows& rows = tables_[change.table];
  const auto [entry, is_new] = rows.try_emplace(uuid, Change{change.old_row, change.new_row});
  if (is_new) {
    held_bytes_ += ApproximateBytes(change.old_row.get());
    return;
  }
  entry->second.new_row = change.new_row;
  // Came and went without anyone having heard of it.
  if (entry->second.old_row == nullptr && change.new_row == nullptr) {
    rows.erase(entry);
    if (rows.empty()) tables_.erase(change.table);
  }
}

Uuid MonitorHistory::Add(const ChangeSet& changes) {
  size_t bytes = sizeof(Commit);
  for (const RowChange& change : changes) {
    bytes += sizeof(RowChange) + ApproximateBytes(change.old_row.get()) + ApproximateBytes(change.new_row.get());
  }
  const Uuid id = Uuid::Random();
  commits_.push_back({id, changes, bytes});
  bytes_ += bytes;
  while (!commits_.empty() && (commits_.size() > kMaxCommits || bytes_ > kMaxBytes)) {
    bytes_ -= commits_.front().bytes;
    base_id_ = commits_.front().id;
    commits_.pop_front();
  }
  return id;
}

std::optional<std::vector<const ChangeSet*>> MonitorHistory::Since(const Uuid& id) const {
  // From the newest backwards: clients are rarely far behind.
  std::vector<const ChangeSet*> after;
  for (auto commit = commits_.rbegin(); commit != commits_.rend() && commit->id != id; ++commit) {
    after.push_back(&commit->changes);
  }
  if (after.size() == commits_.size() && id != base_id_) return std::nullopt;
  return std::vector<const ChangeSet*>(after.rbegin(), after.rend());
}

}  // namespace sluice
