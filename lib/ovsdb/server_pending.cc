#include "lib/ovsdb/server_pending.h"

#include <algorithm>

#include "lib/ovsdb/server_core.h"
#include "lib/ovsdb/server_session.h"

namespace sluice {

using std::chrono::steady_clock;

namespace {

// Beyond it, a timeout is as good as none; steady_clock could not hold the sum.
constexpr int64_t kLongestTimeoutMs = int64_t{1000} * 3600 * 24 * 365;

}  // namespace

size_t ApproximateBytes(const Json& json) {
  size_t bytes = sizeof(Json);
  if (json.is_string()) return bytes + sizeof(std::string) + json.get_ref<const std::string&>().size();
  if (json.is_array()) {
    for (const Json& element : json) bytes += ApproximateBytes(element);
  } else if (json.is_object()) {
    constexpr size_t kNode = 64;
    for (const auto& [name, value] : json.items()) bytes += kNode + name.size() + ApproximateBytes(value);
  }
  return bytes;
}

bool PendingTransactions::Add(OvsdbSession& session, ServedDatabase& database, Json id, Json operations,
                              int64_t timeout_ms) {
  const size_t new_bytes = ApproximateBytes(operations);
  size_t bytes = new_bytes;
  size_t count = 1;
  for (const Entry& entry : entries_) {
    if (entry.session != &session) continue;
    ++count;
    bytes += entry.bytes;
  }
  // One alone may be as large as a message may be.
  if (count > 1 && (count > kMaxPerSession || bytes > kMaxBytesPerSession)) return false;
  entries_.push_back(
      {&session, &database, std::move(id), std::move(operations), new_bytes, database.commits, EventLoop::Handle()});
  const auto entry = std::prev(entries_.end());
  if (timeout_ms < kLongestTimeoutMs) {
    entry->timer = loop_.RunAfter(std::chrono::milliseconds(timeout_ms), [this, entry] { Run(entry, true); });
  }
  return true;
}

bool PendingTransactions::Has(const OvsdbSession& session, const Json& id) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.session == &session && entry.id == id; });
}

bool PendingTransactions::Cancel(const OvsdbSession& session, const Json& id) {
  return entries_.remove_if([&](const Entry& entry) { return entry.session == &session && entry.id == id; }) > 0;
}

void PendingTransactions::RemoveSession(const OvsdbSession& session) {
  entries_.remove_if([&](const Entry& entry) { return entry.session == &session; });
}

void PendingTransactions::Run(Entries::iterator entry, bool timed_out) {
  Entries running;
  running.splice(running.begin(), entries_, entry);
  entry->tried_at = entry->database->commits;
  OvsdbSession& session = *entry->session;
  const bool waits = session.TryTransaction(*entry->database, entry->operations, entry->id, timed_out).has_value();
  if (waits && !session.ended()) entries_.splice(entries_.end(), running);
}

bool PendingTransactions::Retry(steady_clock::duration budget) {
  const auto deadline = steady_clock::now() + budget;
  // What was tried goes to the end, and what is behind a stale one is looked at in the same pass.
  const auto stale = [](const Entry& entry) { return entry.tried_at != entry.database->commits; };
  for (;;) {
    const auto entry = std::find_if(entries_.begin(), entries_.end(), stale);
    if (entry == entries_.end()) return false;
    if (steady_clock::now() >= deadline) return true;
    Run(entry, false);
  }
}

}  // namespace sluice
