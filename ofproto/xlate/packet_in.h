// PacketInEvent: a packet that translation sends to controllers, on its way from the thread that saw it to the main
// thread.
//
// PMD threads make them (userspace actions with a controller record, and misses); a bounded queue hands them over. When
// it is full the packet is dropped and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/openflow/message.h"

namespace sluice {

// What of the translation goes along, and with `pause` what NXT_RESUME goes on with.
struct PacketInRecord {
  std::string bridge;
  OfPacketIn::Reason reason = OfPacketIn::Reason::kAction;
  uint8_t table = 0;
  uint64_t cookie = UINT64_MAX;
  uint16_t max_len = kNoMaxLen;
  uint16_t controller_id = 0;
  std::vector<uint8_t> userdata;
  uint32_t meter_id = 0;
  OfMatch metadata;          // pipeline fields that are not zero
  std::string continuation;  // of pause; opaque, made and read by xlate
};

struct PacketInEvent {
  std::shared_ptr<const PacketInRecord> record;
  std::string packet;  // at most 65,535 bytes; a super-packet is cut to its first segment's length
  uint32_t total_length = 0;
};

class PacketInQueue {
 public:
  static constexpr size_t kMaxEvents = 4096;
  static constexpr size_t kMaxBytes = 4 << 20;

  // Any thread. False: full, counted.
  bool Push(PacketInEvent event);
  // Main thread: all that is there.
  std::deque<PacketInEvent> PopAll();
  // Called by Push() (any thread) when the queue was empty.
  void OnFirst(std::function<void()> wake);
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::deque<PacketInEvent> events_;
  size_t bytes_ = 0;
  std::function<void()> wake_;
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace sluice
