// OfChannel: OpenFlow messages over one stream: the hello that finds the version (OpenFlow 1.5.1, 6.3.1), whole
// messages one at a time, the probe of a peer that is silent, and bounds for one that does not read.
//
// Back-pressure: requests wait, unread at last, while more than kHighWater bytes of answers have not been taken by the
// peer. A long answer is made in pieces (SendPieces) as the stream drains. A peer to which kMaxUnsent bytes are unsent,
// or that takes nothing for kStallTimeout, is given up.
//
// Loop thread. The user is called from the loop, and from Tick(); not any more after OnClosed() or Close(), both of
// which leave the object to be destroyed later, not from inside a call.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/io/event_loop.h"
#include "lib/io/stream.h"
#include "lib/openflow/message.h"

namespace sluice {

class OfChannel {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr size_t kHighWater = 256 << 10;
  static constexpr size_t kMaxUnsent = 32 << 20;
  static constexpr std::chrono::seconds kHelloTimeout{10};
  static constexpr std::chrono::seconds kStallTimeout{60};

  struct Options {
    OfVersions versions = kAllOfVersions;
    std::chrono::milliseconds probe{0};  // 0: none
  };

  class User {
   public:
    virtual ~User() = default;
    virtual void OnOpen() = 0;  // the version is agreed on
    virtual void OnMessage(std::string message) = 0;
    virtual void OnClosed(const absl::Status& status) = 0;  // OK: the peer closed
    virtual void OnDrained() {}
    // Every message of both directions, hello included.
    virtual void OnCopy(std::string_view /*message*/) {}
  };

  // The next piece of a long answer; "" when there is no more.
  using Pieces = std::function<std::string()>;

  OfChannel(EventLoop& loop, std::unique_ptr<Stream> stream, Options options, User& user);
  OfChannel(const OfChannel&) = delete;
  OfChannel& operator=(const OfChannel&) = delete;

  bool is_open() const { return open_ && !closed_; }
  OfVersion version() const { return version_; }
  std::string name() const { return stream_->name(); }
  size_t unsent_bytes() const { return stream_->unsent_bytes(); }
  Clock::time_point last_received() const { return last_received_; }

  // One or several whole messages, one after the other.
  void Send(std::string bytes);
  // No request is read before the last piece was sent. One at a time: call from OnMessage().
  void SendPieces(Pieces pieces) { pieces_ = std::move(pieces); }
  void Close();
  // Once a second.
  void Tick(Clock::time_point now);
  uint32_t NextXid() { return next_xid_++; }

 private:
  void OnData(std::string_view bytes);
  void Pump();
  void Take(std::string message);
  void TakeHello(const std::string& message);
  void Agree(OfVersions peer);
  void Refuse(const std::string& hello, const std::string& why);
  void ArmProbe(std::chrono::nanoseconds delay);
  void OnProbeTimer();
  void Fail(const absl::Status& status);
  void Copy(std::string_view messages);

  EventLoop& loop_;
  std::unique_ptr<Stream> stream_;
  const Options options_;
  User& user_;
  OfStreamSplitter splitter_;
  std::deque<std::string> inbox_;  // whole messages that wait
  Pieces pieces_;
  OfVersion version_;
  bool open_ = false;
  bool closed_ = false;
  bool pumping_ = false;
  bool overflown_ = false;  // something could not be queued
  bool probing_ = false;    // an echo request is unanswered
  uint32_t next_xid_ = 1;
  Clock::time_point made_;
  Clock::time_point last_received_;
  uint64_t queued_ = 0;  // bytes ever given to the stream
  uint64_t taken_ = 0;   // those that the peer had taken
  Clock::time_point progress_;
  EventLoop::Handle probe_timer_;
};

// The highest version in a set that is not empty.
OfVersion HighestVersion(OfVersions versions);

}  // namespace sluice
