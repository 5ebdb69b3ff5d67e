#include "utilities/ofctl/connection.h"

#include <sys/stat.h>

#include <bit>
#include <utility>

#include "lib/base/log.h"
#include "lib/base/status.h"
#include "lib/io/daemon.h"
#include "utilities/ofctl/formats.h"

namespace sluice::ofctl {
namespace {

LogModule log_module("vconn");

constexpr std::string_view kDefaultPort = "6653";
constexpr std::chrono::seconds kConnectTime(30);

// Message types that are the same in all versions.
enum : uint8_t { kTypeHello = 0, kTypeError = 1, kTypeEchoRequest = 2, kTypeEchoReply = 3 };

bool IsSocket(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

// "Connection refused" of "tcp:127.0.0.1:1: connect: Connection refused".
std::string LastPart(const std::string& message) {
  const size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

OfVersions AllUpTo(OfVersion version) { return (VersionBit(version) << 1) - 2; }

OfVersion Highest(OfVersions versions) { return static_cast<OfVersion>(std::bit_width(versions) - 1); }

// tcp:HOST without a port; an IPv6 address is in brackets.
bool LacksPort(std::string_view target) {
  const size_t colon = target.find(':');
  if (colon == std::string_view::npos || (!target.starts_with("tcp:") && !target.starts_with("ssl:"))) return false;
  const std::string_view host = target.substr(colon + 1);
  return host.starts_with('[') ? host.ends_with(']') : host.find(':') == std::string_view::npos;
}

}  // namespace

absl::StatusOr<Peer> FindPeer(const std::string& name, std::string_view suffix) {
  if (name.find(':') != std::string::npos) {
    return Peer{name, LacksPort(name) ? fmt::format("{}:{}", name, kDefaultPort) : name};
  }
  // "netdev@br0" names a datapath by its bridge.
  const std::string bridge = name.substr(name.find('@') == std::string::npos ? 0 : name.find('@') + 1);
  const std::string path = fmt::format("{}/{}.{}", RunDir(), bridge, suffix);
  if (IsSocket(path)) return Peer{name, "unix:" + path};
  if (IsSocket(name)) return Peer{name, "unix:" + name};
  return NotFound("{} is not a bridge or a socket", name);
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const Peer& peer, OfVersions versions,
                                                             const TlsConfig& tls, Xids& xids) {
  std::unique_ptr<Connection> connection(new Connection(peer, xids));
  SLUICE_RETURN_IF_ERROR(connection->Connect(tls));
  SLUICE_RETURN_IF_ERROR(connection->Negotiate(versions));
  return connection;
}

Connection::~Connection() = default;

absl::Status Connection::ConnectError(std::string_view why) const {
  return FailedPrecondition("connecting to {} ({})", peer_.name, why);
}

absl::Status Connection::Broken(const std::string& why) const {
  return FailedPrecondition("talking to {} ({})", peer_.target, why);
}

absl::Status Connection::Connect(const TlsConfig& tls) {
  absl::StatusOr<std::unique_ptr<Stream>> result = absl::UnknownError("");
  auto connecting = ConnectStream(*loop_, peer_.target, tls, kConnectTime, [&](auto stream) {
    result = std::move(stream);
    loop_->Stop();
  });
  loop_->Run();
  if (!result.ok()) {
    SLUICE_LOG(log_module, kDbg, "{}", Message(result.status()));
    return ConnectError(LastPart(Message(result.status())));
  }
  stream_ = *std::move(result);
  stream_->SetCallbacks([this](std::string_view bytes) { OnData(bytes); },
                        [this](const absl::Status& status) {
                          end_ = status.ok() ? "End of file" : LastPart(Message(status));
                          loop_->Stop();
                        });
  return absl::OkStatus();
}

void Connection::OnData(std::string_view bytes) {
  const bool whole = splitter_.Feed(bytes, [this](std::string message) {
    received_.push_back(std::move(message));
    return true;
  });
  if (!whole) end_ = "Protocol error";
  if (!received_.empty() || end_) loop_->Stop();
}

absl::Status Connection::Negotiate(OfVersions versions) {
  version_ = Highest(versions);
  Send(Encode({.version = version_, .xid = xids_.Next(), .body = OfHello{.versions = versions}}));
  absl::StatusOr<std::string> reply = Receive();
  if (!reply.ok()) return ConnectError(LastPart(end_.value_or("")));
  const OfHeader header = ReadHeader(AsBytes(*reply));
  absl::StatusOr<OfVersions> theirs = AllUpTo(static_cast<OfVersion>(std::min<uint8_t>(header.version, 30)));
  if (auto message = DecodeMessage(AsBytes(*reply)); message.ok()) {
    const auto* hello = std::get_if<OfHello>(&message->body);
    if (hello != nullptr && hello->versions != 0) theirs = hello->versions;
  }
  if (header.type != kTypeHello) {
    SLUICE_LOG(log_module, kWarn, "{}: received {} instead of a hello", peer_.name, MessageName(AsBytes(*reply)));
    return ConnectError("Protocol error");
  }
  const OfVersions common = versions & *theirs;
  if (common == 0) {
    SLUICE_LOG(log_module, kWarn, "{}: version negotiation failed (we support {}, peer supports {})", peer_.target,
               VersionNames(versions), VersionNames(*theirs));
    return ConnectError("Protocol error");
  }
  version_ = Highest(common);
  return absl::OkStatus();
}

OfMessage Connection::Make(OfBody body, bool nxm) {
  return {.version = version_, .xid = xids_.Next(), .body = std::move(body), .nxm = nxm};
}

absl::StatusOr<std::string> Connection::Receive(bool with_echo) {
  for (;;) {
    while (received_.empty() && !end_) loop_->Run();
    if (received_.empty()) return Broken(*end_);
    std::string message = std::move(received_.front());
    received_.pop_front();
    const OfHeader header = ReadHeader(AsBytes(message));
    if (header.type != kTypeEchoRequest) return message;
    std::string reply = message;
    reply[1] = kTypeEchoReply;
    Send(std::move(reply));
    if (with_echo) return message;
  }
}

absl::StatusOr<std::string> Connection::Transact(OfBody body) { return TransactBytes(Encode(Make(std::move(body)))); }

absl::StatusOr<std::string> Connection::TransactBytes(const std::string& request) {
  const uint32_t xid = ReadHeader(AsBytes(request)).xid;
  Send(request);
  for (;;) {
    absl::StatusOr<std::string> reply = Receive();
    if (!reply.ok() || ReadHeader(AsBytes(*reply)).xid == xid) return reply;
  }
}

absl::StatusOr<std::string> Connection::TransactNoReply(const std::string& request) {
  const uint32_t xid = ReadHeader(AsBytes(request)).xid;
  const OfMessage barrier = Make(OfBarrierRequest{});
  Send(request + Encode(barrier));
  std::string error;
  for (;;) {
    absl::StatusOr<std::string> reply = Receive();
    if (!reply.ok()) return reply;
    const OfHeader header = ReadHeader(AsBytes(*reply));
    if (header.xid == barrier.xid) return error;
    if (header.xid == xid && header.type == kTypeError) error = *std::move(reply);
  }
}

absl::StatusOr<bool> Connection::SetFlowFormat(bool nxm) {
  if (nxm == nxm_) return true;
  absl::StatusOr<std::string> error = TransactNoReply(NxSetFlowFormat{.format = nxm ? 2u : 0u});
  if (!error.ok()) return error.status();
  if (!error->empty()) return false;
  nxm_ = nxm;
  return true;
}

absl::StatusOr<bool> Connection::SetTableId(bool on) {
  if (on == codec_.nx_table_id) return true;
  absl::StatusOr<std::string> error = TransactNoReply(NxSetFlowModTableId{.on = on});
  if (!error.ok()) return error.status();
  if (!error->empty()) return false;
  codec_.nx_table_id = on;
  return true;
}

absl::StatusOr<bool> Connection::SetFormat(uint32_t format) {
  if (VersionOf(format) != version_) return false;
  if (version_ != OfVersion::k10) return true;
  absl::StatusOr<bool> done = SetFlowFormat((format & kNxmAny) != 0);
  if (!done.ok() || !*done) return done;
  return SetTableId((format & (kOf10Tid | kNxmTid)) != 0);
}

uint32_t Connection::format() const {
  if (version_ != OfVersion::k10) return FormatsOf(VersionBit(version_));
  if (nxm_) return codec_.nx_table_id ? kNxmTid : kNxm;
  return codec_.nx_table_id ? kOf10Tid : kOf10;
}

}  // namespace sluice::ofctl
