#include "lib/ovsdb/server_remote.h"

#include <algorithm>

#include "lib/base/log.h"

namespace sluice {

using std::chrono::milliseconds;

namespace {

LogModule log_module("ovsdb_server");

constexpr milliseconds kListenAgainAfter{1000};
constexpr milliseconds kMinBackoff{1000};
constexpr milliseconds kConnectTimeout{10000};
constexpr milliseconds kDefaultProbe{5000};

bool IsUnix(std::string_view target) { return target.starts_with("unix:") || target.starts_with("punix:"); }

std::string SecondsSince(std::chrono::steady_clock::time_point then) {
  const auto passed = std::chrono::steady_clock::now() - then;
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
}

}  // namespace

ServerRemote::ServerRemote(ServerCore& core, std::string target, RemoteOptions options, const TlsConfig& tls,
                           std::function<void()> on_change)
    : core_(core),
      target_(std::move(target)),
      options_(options),
      tls_(tls),
      on_change_(std::move(on_change)),
      passive_(IsPassiveTarget(target_)) {
  if (passive_) {
    Listen();
  } else {
    Connect();
  }
}

ServerRemote::~ServerRemote() {
  const std::set<OvsdbSession*> sessions = std::exchange(sessions_, {});
  for (OvsdbSession* session : sessions) session->End(absl::OkStatus());
}

void ServerRemote::Listen() {
  absl::StatusOr<std::unique_ptr<StreamListener>> listener =
      ListenStream(core_.loop(), target_, tls_, [this](std::unique_ptr<Stream> stream) { Serve(std::move(stream)); });
  if (listener.ok()) {
    listener_ = *std::move(listener);
    last_error_.clear();
    if (const uint16_t port = listener_->port(); port != 0) {
      SLUICE_LOG(log_module, kInfo, "{}: listening on port {}", target_, port);
    } else {
      SLUICE_LOG(log_module, kInfo, "{}: listening", target_);
    }
    return;
  }
  // Once for each reason, not every second.
  if (std::string error = Message(listener.status()); error != std::exchange(last_error_, error)) {
    SLUICE_LOG(log_module, kErr, "{}: cannot listen, trying again every second: {}", target_, error);
  }
  retry_ = core_.loop().RunAfter(kListenAgainAfter, [this] { Listen(); });
}

void ServerRemote::Connect() {
  retry_.Cancel();
  connect_ = ConnectStream(core_.loop(), target_, tls_, kConnectTimeout,
                           [this](absl::StatusOr<std::unique_ptr<Stream>> stream) { OnConnected(std::move(stream)); });
}

void ServerRemote::OnConnected(absl::StatusOr<std::unique_ptr<Stream>> stream) {
  if (!stream.ok()) {
    BackOff(stream.status());
    return;
  }
  SLUICE_LOG(log_module, kInfo, "{}: connected", target_);
  connected_at_ = Clock::now();
  last_error_.clear();
  Serve(*std::move(stream));
  if (sessions_.empty()) BackOff(ResourceExhausted("too many clients are connected already"));
}

void ServerRemote::BackOff(const absl::Status& reason) {
  std::string error = reason.ok() ? "connection closed by peer" : Message(reason);
  SLUICE_LOG_RATE_LIMITED(log_module, kInfo, 20, "{}: {}, connecting again in {} s", target_, error,
                          backoff_.count() / 1000.0);
  last_error_ = std::move(error);
  retry_ = core_.loop().RunAfter(backoff_, [this] { Connect(); });
  backoff_ = std::min(backoff_ * 2, std::max(options_.max_backoff, kMinBackoff));
  on_change_();
}

void ServerRemote::Serve(std::unique_ptr<Stream> stream) {
  SessionOptions options;
  options.read_only = options_.read_only;
  options.probe_interval = options_.inactivity_probe.value_or(IsUnix(target_) ? milliseconds(0) : kDefaultProbe);
  // Known only after it is made, but not called before the next turn.
  auto self = std::make_shared<OvsdbSession*>(nullptr);
  *self = core_.AddSession(std::move(stream), options,
                           [this, self](const absl::Status& status) { OnSessionClosed(*self, status); });
  if (*self == nullptr) return;
  sessions_.insert(*self);
  on_change_();
}

void ServerRemote::OnSessionClosed(OvsdbSession* session, const absl::Status& status) {
  if (sessions_.erase(session) == 0) return;  // ended by our own destructor
  disconnected_at_ = Clock::now();
  if (!passive_) {
    // A connection that held gets a quick second try.
    if (Clock::now() - *connected_at_ > backoff_) backoff_ = kMinBackoff;
    BackOff(status);
  }
  on_change_();
}

std::map<std::string, std::string> ServerRemote::Status() const {
  std::map<std::string, std::string> status;
  if (passive_) {
    if (sessions_.size() > 1) status["n_connections"] = std::to_string(sessions_.size());
    if (listener_ != nullptr && listener_->port() != 0) status["bound_port"] = std::to_string(listener_->port());
    if (!last_error_.empty()) status["last_error"] = last_error_;
    return status;
  }
  status["state"] = is_connected() ? "ACTIVE" : retry_ ? "BACKOFF" : "CONNECTING";
  if (!last_error_.empty()) status["last_error"] = last_error_;
  if (connected_at_) status["sec_since_connect"] = SecondsSince(*connected_at_);
  if (disconnected_at_) status["sec_since_disconnect"] = SecondsSince(*disconnected_at_);
  if (!is_connected()) return status;
  const OvsdbSession& session = **sessions_.begin();
  for (const auto& [key, state] :
       {std::pair{"locks_held", LockTable::State::kHeld}, std::pair{"locks_waiting", LockTable::State::kWaiting},
        std::pair{"locks_lost", LockTable::State::kLost}}) {
    if (const auto names = session.LockNames(state); !names.empty())
      status[key] = fmt::format("{}", fmt::join(names, " "));
  }
  return status;
}

}  // namespace sluice
