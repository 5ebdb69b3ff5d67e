#include "lib/ovsdb/client.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"
#include "lib/ovsdb/client_replica.h"
#include "lib/ovsdb/client_session.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

LogModule log_module("reconnect");

constexpr milliseconds kConnectTimeout(5000);
constexpr milliseconds kMinBackoff(1000);
constexpr milliseconds kMaxBackoff(8000);

const Database::Table kNoRows;
const Datum kNoDatum;

}  // namespace

struct OvsdbClient::Impl : std::enable_shared_from_this<OvsdbClient::Impl>, ClientSession::Delegate {
  Impl(EventLoop& event_loop, OvsdbClientOptions client_options)
      : loop(event_loop), options(std::move(client_options)) {}

  const std::string& remote() const { return options.remotes[next_remote % options.remotes.size()]; }

  void Connect() {
    connect = ConnectStream(loop, remote(), options.tls, kConnectTimeout,
                            [this](absl::StatusOr<std::unique_ptr<Stream>> stream) { OnConnected(std::move(stream)); });
    SetState(State::kConnecting);
  }

  void OnConnected(absl::StatusOr<std::unique_ptr<Stream>> stream) {
    const auto self = shared_from_this();
    connect = nullptr;
    if (!stream.ok()) {
      OnFailure(stream.status());
      return;
    }
    SLUICE_LOG(log_module, kInfo, "{}: connected", remote());
    last_logged.erase(remote());
    session = std::make_shared<ClientSession>(loop, *std::move(stream), options, replica_state, *this);
    session->Start();
    SetState(State::kSynchronizing);
  }

  void OnSynchronized(bool changed) override {
    const auto self = shared_from_this();
    ready_since = Clock::now();
    schemas.insert(replica_state.replica->shared_schema());
    const bool first = !std::exchange(ready_once, true);
    state = State::kReady;
    if ((changed || first) && on_change) on_change();
    if (!ended && state == State::kReady && on_state_change) on_state_change();
  }

  void OnReplicaChanged() override {
    const auto self = shared_from_this();
    if (on_change) on_change();
  }

  void OnLock(bool lock) override {
    const auto self = shared_from_this();
    if (std::exchange(has_lock, lock) != lock && on_state_change) on_state_change();
  }

  void OnSessionEnd(const absl::Status& status, std::map<int64_t, ClientSession::ReplyCallback> unanswered) override {
    const auto self = shared_from_this();
    const auto old_session = std::exchange(session, nullptr);
    const bool was_ready = state == State::kReady;
    // A server that ends sessions as soon as they are ready is not called back at once for ever.
    if (was_ready && Clock::now() - ready_since >= kMinBackoff) {
      backoff = kMinBackoff;
      failures = -1;
    }
    has_lock = false;
    OnFailure(status);
    const absl::Status lost = MakeStatus(absl::StatusCode::kUnavailable,
                                         fmt::format("{}; the request may have taken effect or not", Message(status)));
    for (auto& [id, callback] : unanswered) {
      if (ended) return;
      callback(lost);
    }
  }

  // The connection or the attempt is over: goes on to the next remote, after a pause when all have failed.
  void OnFailure(const absl::Status& status) {
    last_error = status;
    // A server that stays away is told once.
    if (std::string& logged = last_logged[remote()]; logged != Message(status)) {
      logged = Message(status);
      SLUICE_LOG(log_module, kWarn, "{}", logged);
    }
    ++next_remote;
    ++failures;
    const int remotes = static_cast<int>(options.remotes.size());
    if (!options.reconnect && (ready_once || failures >= remotes)) {
      SetState(State::kEnded);
      return;
    }
    milliseconds delay(0);
    if (failures >= remotes) {
      failures = 0;
      delay = backoff;
      backoff = std::min(2 * backoff, kMaxBackoff);
      SLUICE_LOG(log_module, kDbg, "{}: waiting {} seconds before reconnect", remote(), delay.count() / 1000);
    }
    retry = loop.RunAfter(delay, [this] { Connect(); });
    SetState(State::kBackoff);
  }

  void SetState(State next) {
    state = next;
    const auto self = shared_from_this();
    if (!ended && on_state_change) on_state_change();
  }

  void Call(std::string method, Json params, ClientSession::ReplyCallback callback) {
    if (session != nullptr) {
      session->Call(std::move(method), std::move(params), std::move(callback));
      return;
    }
    const std::string why = last_error.ok() ? "" : fmt::format(" ({})", Message(last_error));
    loop.Post([weak = weak_from_this(), callback = std::move(callback),
               status = MakeStatus(absl::StatusCode::kUnavailable,
                                   fmt::format("{}: not connected to {}{}", method, remote(), why))] {
      const auto self = weak.lock();
      if (self != nullptr && !self->ended) callback(status);
    });
  }

  void Stop() {
    ended = true;
    on_change = nullptr;
    on_state_change = nullptr;
    connect = nullptr;
    retry.Cancel();
    if (session != nullptr) std::exchange(session, nullptr)->Abandon();
  }

  EventLoop& loop;
  const OvsdbClientOptions options;
  std::function<void()> on_change;
  std::function<void()> on_state_change;
  State state = State::kConnecting;
  absl::Status last_error;
  std::map<std::string, std::string> last_logged;  // by remote, since it was connected
  bool has_lock = false;
  bool ready_once = false;
  bool ended = false;  // the client is destroyed, or being so

  size_t next_remote = 0;
  int failures = 0;  // since the last pause; a session that lasted gives one attempt for free
  milliseconds backoff = kMinBackoff;
  Clock::time_point ready_since;
  std::unique_ptr<StreamConnect> connect;
  EventLoop::Handle retry;
  std::shared_ptr<ClientSession> session;
  ReplicaState replica_state;
  std::set<std::shared_ptr<const DatabaseSchema>> schemas;  // all that the user has seen: pointers stay valid
};

OvsdbClient::OvsdbClient(EventLoop& loop, OvsdbClientOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(options))) {
  if (impl_->options.remotes.empty()) {
    impl_->last_error =
        InvalidArgument("no database to connect to; expected unix:FILE, tcp:HOST:PORT or ssl:HOST:PORT");
    impl_->state = State::kEnded;
    loop.Post([weak = std::weak_ptr<Impl>(impl_)] {
      if (const auto impl = weak.lock()) impl->SetState(State::kEnded);
    });
    return;
  }
  impl_->Connect();
}

OvsdbClient::~OvsdbClient() { impl_->Stop(); }

void OvsdbClient::OnChange(std::function<void()> callback) { impl_->on_change = std::move(callback); }
void OvsdbClient::OnStateChange(std::function<void()> callback) { impl_->on_state_change = std::move(callback); }

OvsdbClient::State OvsdbClient::state() const { return impl_->state; }
const absl::Status& OvsdbClient::last_error() const { return impl_->last_error; }
bool OvsdbClient::has_lock() const { return impl_->has_lock; }
bool OvsdbClient::ever_ready() const { return impl_->ready_once; }

const DatabaseSchema* OvsdbClient::schema() const {
  const Replica* const replica = impl_->replica_state.replica.get();
  return replica == nullptr ? nullptr : &replica->schema();
}

const Database::Table& OvsdbClient::rows(std::string_view table) const {
  const Replica* const replica = impl_->replica_state.replica.get();
  return replica == nullptr ? kNoRows : replica->rows(table);
}

const Row* OvsdbClient::FindRow(std::string_view table, const Uuid& uuid) const {
  const Database::Table& table_rows = rows(table);
  const auto found = table_rows.find(uuid);
  return found == table_rows.end() ? nullptr : found->second.get();
}

const Datum& OvsdbClient::Get(std::string_view table, const Row& row, std::string_view column) const {
  const Replica* const replica = impl_->replica_state.replica.get();
  return replica == nullptr ? kNoDatum : replica->Get(table, row, column);
}

void OvsdbClient::Transact(Json operations, TransactCallback callback) {
  Json params = Json::array({impl_->options.database});
  for (Json& operation : operations) {
    params.push_back(std::move(operation));
  }
  impl_->Call("transact", std::move(params), std::move(callback));
}

void OvsdbClient::Call(std::string method, Json params, std::function<void(absl::StatusOr<Json>)> callback) {
  impl_->Call(std::move(method), std::move(params), std::move(callback));
}

}  // namespace sluice
