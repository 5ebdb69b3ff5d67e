#include "ofproto/connections/remote.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

LogModule log_module("rconn");

constexpr milliseconds kMinBackoff{1000};
constexpr milliseconds kListenAgainAfter{1000};
constexpr milliseconds kConnectTimeout{10000};
constexpr std::string_view kOpenFlowPort = "6653";

std::string SecondsSince(Remote::Clock::time_point then) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(Remote::Clock::now() - then).count());
}

}  // namespace

std::string WithOpenFlowPort(const std::string& target) {
  const size_t colon = target.find(':');
  if (colon == std::string::npos) return target;
  const std::string_view kind = std::string_view(target).substr(0, colon);
  const std::string rest = target.substr(colon + 1);
  if (kind == "tcp" || kind == "ssl") {
    const size_t host_end = rest.starts_with('[') ? rest.find(']') : 0;
    if (host_end == std::string::npos || rest.find(':', host_end) != std::string::npos) return target;
    return fmt::format("{}:{}", target, kOpenFlowPort);
  }
  if (kind != "ptcp" && kind != "pssl") return target;
  if (rest.empty()) return fmt::format("{}{}", target, kOpenFlowPort);
  return rest[0] == ':' ? fmt::format("{}:{}{}", kind, kOpenFlowPort, rest) : target;
}

Remote::Remote(EventLoop& loop, const ControllerConfig& config, const TlsConfig& tls, std::string owner,
               OnStream on_stream)
    : loop_(loop),
      config_(config),
      tls_(tls),
      owner_(std::move(owner)),
      on_stream_(std::move(on_stream)),
      target_(WithOpenFlowPort(config.target)),
      passive_(IsPassiveTarget(target_)),
      backoff_(kMinBackoff),
      silent_since_(Clock::now()) {
  if (passive_) {
    Listen();
  } else {
    Connect();
  }
}

void Remote::Listen() {
  auto listener = ListenStream(loop_, target_, tls_, [this](std::unique_ptr<Stream> stream) {
    ++streams_;
    on_stream_(*this, std::move(stream));
  });
  if (listener.ok()) {
    listener_ = *std::move(listener);
    last_error_.clear();
    SLUICE_LOG(log_module, kDbg, "{}: listening on {}", owner_, listener_->name());
    return;
  }
  // Once for each reason, not every second.
  if (std::string error = Message(listener.status()); error != std::exchange(last_error_, error)) {
    SLUICE_LOG(log_module, kErr, "{}: cannot listen on {}, trying again every second: {}", owner_, target_, error);
  }
  retry_ = loop_.RunAfter(kListenAgainAfter, [this] { Listen(); });
}

void Remote::Connect() {
  retry_.Cancel();
  connect_ =
      ConnectStream(loop_, target_, tls_, kConnectTimeout, [this](absl::StatusOr<std::unique_ptr<Stream>> stream) {
        if (!stream.ok()) {
          BackOff(stream.status());
          return;
        }
        ++streams_;
        on_stream_(*this, *std::move(stream));
      });
}

void Remote::BackOff(const absl::Status& reason) {
  std::string error = reason.ok() ? "End of file" : Message(reason);
  if (error != last_error_ || backoff_ == kMinBackoff) {
    SLUICE_LOG(log_module, kInfo, "{}<->{}: {}; waiting {:.3g} s before the next attempt", owner_, target_, error,
               static_cast<double>(backoff_.count()) / 1000);
  }
  last_error_ = std::move(error);
  retry_ = loop_.RunAfter(backoff_, [this] { Connect(); });
  backoff_ = std::clamp(backoff_ * 2, kMinBackoff, std::max(config_.max_backoff, kMinBackoff));
}

void Remote::OnOpen() {
  if (!passive_) SLUICE_LOG(log_module, kInfo, "{}<->{}: connected", owner_, target_);
  open_ = true;
  connected_at_ = Clock::now();
}

void Remote::OnClosed(const absl::Status& reason) {
  if (streams_ > 0) --streams_;
  if (passive_) {
    if (!reason.ok()) last_error_ = Message(reason);
    return;
  }
  const auto now = Clock::now();
  if (std::exchange(answering_, false)) silent_since_ = now;
  if (std::exchange(open_, false)) {
    disconnected_at_ = now;
    // A connection that held gets a quick second try.
    if (now - *connected_at_ > backoff_) backoff_ = kMinBackoff;
  }
  BackOff(reason);
}

void Remote::Reconnect() {
  if (passive_ || !retry_) return;
  backoff_ = kMinBackoff;
  Connect();
}

std::map<std::string, std::string> Remote::Status() const {
  std::map<std::string, std::string> status;
  if (!last_error_.empty()) status["last_error"] = last_error_;
  if (passive_) {
    if (streams_ > 0) status["n_connections"] = std::to_string(streams_);
    if (port() != 0) status["bound_port"] = std::to_string(port());
    return status;
  }
  status["state"] = open_ ? "ACTIVE" : retry_ ? "BACKOFF" : "CONNECTING";
  if (connected_at_) status["sec_since_connect"] = SecondsSince(*connected_at_);
  if (disconnected_at_) status["sec_since_disconnect"] = SecondsSince(*disconnected_at_);
  return status;
}

}  // namespace sluice
