// Connection: one OpenFlow connection to a switch, used by one question after the other. Every call waits for its
// answer.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "lib/openflow/message.h"

namespace sluice::ofctl {

// Transaction ids, in the order in which messages are made.
class Xids {
 public:
  explicit Xids(uint32_t first = 1) : next_(first) {}
  uint32_t Next() { return next_++; }
  // Leaves `count` of them out; returns the first.
  uint32_t Reserve(uint32_t count) {
    next_ += count;
    return next_ - count;
  }

 private:
  uint32_t next_;
};

struct Peer {
  std::string name;    // as the user gave it
  std::string target;  // "unix:/run/openvswitch/br0.mgmt"
};
// "br0" is the bridge whose socket is in the run directory, "/path" a socket, "tcp:HOST" has port 6653. `suffix`:
// "mgmt" or "snoop".
absl::StatusOr<Peer> FindPeer(const std::string& name, std::string_view suffix);

class Connection {
 public:
  // Connects and agrees on a version.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const Peer& peer, OfVersions versions, const TlsConfig& tls,
                                                          Xids& xids);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  OfVersion version() const { return version_; }
  const Peer& peer() const { return peer_; }
  Xids& xids() { return xids_; }
  EventLoop& loop() { return *loop_; }

  // Encodes a message of the connection's version with a new transaction id.
  OfMessage Make(OfBody body, bool nxm = false);
  std::string Encode(const OfMessage& message) const { return EncodeMessage(message, codec_); }

  void Send(std::string bytes) { stream_->Send(std::move(bytes)); }
  // Waits for the next message, answering requests for an echo, unless `with_echo`: then they are given too.
  absl::StatusOr<std::string> Receive(bool with_echo = false);

  // The reply, or error, to the request. Everything else that arrives meanwhile is passed over.
  absl::StatusOr<std::string> Transact(OfBody body);
  absl::StatusOr<std::string> TransactBytes(const std::string& request);
  // Sends something that is answered only if it fails, and waits until it is done. The error's bytes, or "".
  absl::StatusOr<std::string> TransactNoReply(const std::string& request);
  absl::StatusOr<std::string> TransactNoReply(OfBody body, bool nxm = false) {
    return TransactNoReply(Encode(Make(std::move(body), nxm)));
  }

  // Nicira's extensions of 1.0. False, and nothing changed, if the switch does not know it.
  absl::StatusOr<bool> SetFlowFormat(bool nxm);
  absl::StatusOr<bool> SetTableId(bool on);
  // Makes the connection speak the format, as far as its version allows.
  absl::StatusOr<bool> SetFormat(uint32_t format);
  uint32_t format() const;
  bool nxm() const { return nxm_; }
  void set_packet_in(PacketInFormat format) { codec_.packet_in = format; }

  // "talking to br0 (Connection reset by peer)".
  absl::Status Broken(const std::string& why) const;

 private:
  Connection(Peer peer, Xids& xids) : peer_(std::move(peer)), xids_(xids) {}
  absl::Status Connect(const TlsConfig& tls);
  absl::Status Negotiate(OfVersions versions);
  void OnData(std::string_view bytes);
  absl::Status ConnectError(std::string_view why) const;

  const Peer peer_;
  Xids& xids_;
  std::unique_ptr<EventLoop> loop_ = std::make_unique<EventLoop>();
  std::unique_ptr<Stream> stream_;
  OfStreamSplitter splitter_;
  std::deque<std::string> received_;
  std::optional<std::string> end_;  // why nothing more comes
  OfVersion version_ = OfVersion::k10;
  OfCodecState codec_;
  bool nxm_ = false;
};

}  // namespace sluice::ofctl
