#include "ofproto/connections/connection_manager.h"

#include <algorithm>

#include "lib/base/log.h"
#include "ofproto/connections/connection_manager_impl.h"
#include "ofproto/connections/requests/request_table.h"

namespace sluice {
namespace {

LogModule log_module("connmgr");

std::string RoleName(OfRole role) {
  switch (role) {
    case OfRole::kPrimary:
      return "master";
    case OfRole::kSecondary:
      return "slave";
    default:
      return "other";
  }
}

}  // namespace

// Connections
// ------------------------------------------------------------------------------------------------------------------

ConnectionManager::Impl::Impl(EventLoop& loop, OfSwitch& of_switch)
    : core{.loop = loop, .of_switch = of_switch},
      fail_open(of_switch.pipeline().tables, of_switch.bridge()),
      snoopers(loop) {}

ConnectionManager::Impl::~Impl() { *alive = false; }

OfConnection::Options ConnectionManager::Impl::OptionsFor(const Remote& remote) const {
  const ControllerConfig& controller = remote.config();
  return {.kind = remote.is_passive() ? OfConnection::Kind::kService : OfConnection::Kind::kPrimary,
          .channel = {.versions = config.versions, .probe = controller.inactivity_probe},
          .async_messages = controller.enable_async_messages,
          .rate_limit = controller.rate_limit,
          .burst_limit = controller.burst_limit};
}

void ConnectionManager::Impl::Accept(Remote& remote, std::unique_ptr<Stream> stream) {
  if (remote.is_passive() && CountConnections(remote) >= kMaxPerListener) {
    SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 6, "{}: {} connections by {} already: {} is refused",
                            core.of_switch.bridge(), kMaxPerListener, remote.config().target, stream->name());
    remote.OnClosed(absl::OkStatus());
    return;
  }
  auto connection = std::make_unique<OfConnection>(core.loop, std::move(stream), next_id++, OptionsFor(remote), *this);
  origins[connection.get()] = &remote;
  core.connections.push_back(std::move(connection));
}

void ConnectionManager::Impl::OnOpen(OfConnection& connection) { origins.at(&connection)->OnOpen(); }

void ConnectionManager::Impl::OnRequest(OfConnection& connection, const std::string& message) {
  Remote& remote = *origins.at(&connection);
  remote.OnAnswer();
  if (!remote.is_passive()) fail_open.Recover();
  OfResult<std::optional<std::string>> whole = connection.parts.Add(message);
  if (!whole.ok()) {
    connection.SendError(whole.failure(), message, ReadHeader(AsBytes(message)).xid);
  } else if (whole->has_value()) {
    Dispatch(connection, **whole);
  }
}

void ConnectionManager::Impl::Dispatch(OfConnection& connection, const std::string& message) {
  const OfHeader header = ReadHeader(AsBytes(message));
  OfStatus failed;
  if (header.version != static_cast<uint8_t>(connection.version())) {
    failed = OfFailure{OfError::kBrcBadVersion, fmt::format("a message of version {:#04x} where {:#04x} was agreed on",
                                                            header.version, static_cast<int>(connection.version()))};
  } else if (OfResult<OfMessage> decoded = DecodeMessage(AsBytes(message), connection.codec); decoded.ok()) {
    OfRequest request{.core = core, .from = connection, .message = *std::move(decoded), .bytes = message};
    failed = RequestTable::Get().Handle(request);
  } else {
    failed = decoded.failure();
  }
  if (failed) connection.SendError(*failed, message, header.xid);
}

void ConnectionManager::Impl::OnDrained(OfConnection& connection) {
  std::vector<OfFlowUpdate> updates = connection.monitors.Resume(core.of_switch.pipeline().tables);
  if (!updates.empty()) connection.Send(OfFlowMonitorReply{{.entries = std::move(updates)}}, 0);
}

void ConnectionManager::Impl::OnClosed(OfConnection& connection, const absl::Status& status) {
  Bury(connection, status);
}

void ConnectionManager::Impl::OnCopy(OfConnection& connection, std::string_view message) {
  if (!snoopers.empty() && connection.kind() == OfConnection::Kind::kPrimary) snoopers.Copy(message);
}

void ConnectionManager::Impl::Bury(OfConnection& connection, const absl::Status& status) {
  auto found = std::find_if(core.connections.begin(), core.connections.end(),
                            [&connection](const auto& other) { return other.get() == &connection; });
  if (found == core.connections.end()) return;
  closed.push_back(std::move(*found));
  core.connections.erase(found);
  if (auto origin = origins.extract(&connection); !origin.empty()) origin.mapped()->OnClosed(status);
  core.loop.Post([this, still = alive] {
    if (*still) closed.clear();
  });
}

void ConnectionManager::Impl::CloseConnectionsOf(const Remote* remote) {
  std::vector<OfConnection*> doomed;
  for (const auto& [connection, origin] : origins) {
    if (origin == remote) doomed.push_back(const_cast<OfConnection*>(connection));
  }
  for (OfConnection* connection : doomed) {
    connection->Close();
    Bury(*connection, absl::OkStatus());
  }
}

const OfConnection* ConnectionManager::Impl::ConnectionOf(const Remote& remote) const {
  for (const auto& [connection, origin] : origins) {
    if (origin == &remote && connection->is_open()) return connection;
  }
  return nullptr;
}

size_t ConnectionManager::Impl::CountConnections(const Remote& remote) const {
  return static_cast<size_t>(
      std::count_if(origins.begin(), origins.end(), [&remote](const auto& entry) { return entry.second == &remote; }));
}

ControllerStatus ConnectionManager::Impl::StatusOf(const Remote& remote) const {
  ControllerStatus status{.status = remote.Status()};
  const OfConnection* connection = ConnectionOf(remote);
  status.is_connected = connection != nullptr;
  if (connection == nullptr) return status;
  status.role = RoleName(connection->role);
  if (remote.config().rate_limit == 0) return status;
  for (const bool miss : {true, false}) {
    const PacketInLimiter& limiter = connection->limiter(miss);
    const std::string prefix = fmt::format("packet-in-{}-", miss ? "miss" : "action");
    status.status[prefix + "backlog"] = std::to_string(limiter.backlog());
    status.status[prefix + "bypassed"] = std::to_string(limiter.statistics().bypassed);
    status.status[prefix + "queued"] = std::to_string(limiter.statistics().queued);
    status.status[prefix + "dropped"] = std::to_string(limiter.statistics().dropped);
  }
  return status;
}

// Public
// ------------------------------------------------------------------------------------------------------------------

ConnectionManager::ConnectionManager(EventLoop& loop, OfSwitch& of_switch)
    : impl_(std::make_unique<Impl>(loop, of_switch)) {}
ConnectionManager::~ConnectionManager() = default;

void ConnectionManager::Configure(const BridgeConnectionsConfig& config) { impl_->Configure(config); }
void ConnectionManager::PortsChanged() { impl_->PortsChanged(); }
void ConnectionManager::FlowsChanged(absl::Span<const FlowNotice> notices) { impl_->FlowsChanged(notices); }
void ConnectionManager::PacketIn(const PacketInEvent& event) { impl_->PacketIn(event); }
void ConnectionManager::Tick(OfClock::time_point now) { impl_->Tick(now); }
void ConnectionManager::Reconnect() { impl_->Reconnect(); }

std::vector<ControllerStatus> ConnectionManager::status() const {
  std::vector<ControllerStatus> all;
  for (const auto& controller : impl_->controllers) all.push_back(impl_->StatusOf(*controller));
  return all;
}

size_t ConnectionManager::connection_count() const { return impl_->core.connections.size(); }

size_t ConnectionManager::max_unsent_bytes() const {
  size_t most = 0;
  for (const auto& connection : impl_->core.connections) most = std::max(most, connection->channel().unsent_bytes());
  return most;
}

}  // namespace sluice
