// OfConnection: one OpenFlow connection of a bridge: a channel, and what its peer has asked for: role, formats, which
// asynchronous messages, bundles, monitors.
//
// Primary connections are those to controllers that the switch connects to; all others (ovs-ofctl, and who connects to
// a controller row that listens) are service connections, which get asynchronous messages only after they have set a
// miss_send_len. Loop thread.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ofproto/connections/async_config.h"
#include "ofproto/connections/bundle.h"
#include "ofproto/connections/channel.h"
#include "ofproto/connections/flow_monitors.h"
#include "ofproto/connections/multipart_parts.h"
#include "ofproto/connections/packet_in_limiter.h"
#include "ofproto/xlate/packet_in.h"

namespace sluice {

class OfConnection : private OfChannel::User {
 public:
  using Clock = OfChannel::Clock;
  enum class Kind : uint8_t { kPrimary, kService };

  struct Options {
    Kind kind = Kind::kService;
    OfChannel::Options channel;
    bool async_messages = true;
    uint32_t rate_limit = 0;
    uint32_t burst_limit = 0;
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void OnOpen(OfConnection& connection) = 0;
    virtual void OnRequest(OfConnection& connection, const std::string& message) = 0;
    virtual void OnDrained(OfConnection& connection) = 0;
    // Destroy it later, not from inside the call.
    virtual void OnClosed(OfConnection& connection, const absl::Status& status) = 0;
    virtual void OnCopy(OfConnection& connection, std::string_view message) = 0;
  };

  // `id`: not zero, never used again.
  OfConnection(EventLoop& loop, std::unique_ptr<Stream> stream, uint32_t id, Options options, Owner& owner);

  uint32_t id() const { return id_; }
  Kind kind() const { return options_.kind; }
  bool is_open() const { return channel_.is_open(); }
  OfVersion version() const { return channel_.version(); }
  std::string name() const { return channel_.name(); }
  OfChannel& channel() { return channel_; }
  void Close() { channel_.Close(); }
  void Tick(Clock::time_point now);

  // A message of the connection's version, in the forms that the peer has chosen.
  void Send(OfBody body, uint32_t xid);
  void SendError(const OfFailure& failure, std::string_view offending, uint32_t xid);
  std::string Encode(OfBody body, uint32_t xid, bool nxm) const;

  // Whether the peer wants this asynchronous message.
  bool Wants(OfAsyncConfig::Type type, unsigned reason) const;
  void SendPacketIn(const PacketInEvent& event);
  const PacketInLimiter& limiter(bool miss) const { return limiters_[miss ? 0 : 1]; }
  void SetAsync(const OfSetAsync& set);
  const OfAsyncConfig& async() const { return async_; }
  void ResetBundles() { bundles.clear(); }

  // What requests read and change.
  OfRole role = OfRole::kEqual;
  OfCodecState codec;
  bool nxm = false;  // NXT_SET_FLOW_FORMAT: of flow-removed in 1.0
  uint16_t controller_id = 0;
  uint16_t miss_send_len = 0;
  bool invalid_ttl = false;
  PendingBundles bundles;
  FlowMonitors monitors;
  MultipartParts parts;
  bool answered = false;  // something other than a hello has come

 private:
  // Packet-ins beyond this many unsent bytes are dropped.
  static constexpr size_t kMaxPacketInBacklog = 1 << 20;

  void OnOpen() override;
  void OnMessage(std::string message) override;
  void OnClosed(const absl::Status& status) override { owner_.OnClosed(*this, status); }
  void OnDrained() override { owner_.OnDrained(*this); }
  void OnCopy(std::string_view message) override { owner_.OnCopy(*this, message); }
  uint16_t MaxLength(const PacketInRecord& record) const;
  void SendWaiting();

  EventLoop& loop_;
  const uint32_t id_;
  const Options options_;
  Owner& owner_;
  OfAsyncConfig async_;
  std::array<PacketInLimiter, 2> limiters_;  // of packets without a match, and of those that actions sent
  EventLoop::Handle limiter_timer_;
  OfChannel channel_;
};

}  // namespace sluice
