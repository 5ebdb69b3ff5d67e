#include "ofproto/xlate/frozen_state.h"

#include <absl/hash/hash.h>

#include <cstring>
#include <string_view>

namespace sluice {
namespace {

// Tells our userdata from other uses of the action.
constexpr uint32_t kControllerTag = 0x6f66636e;

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

void XlateIds::Linger(std::vector<std::shared_ptr<const void>> holds, std::chrono::steady_clock::time_point now) {
  if (holds.empty()) return;
  std::deque<Lingering> gone;  // let go without the lock
  std::lock_guard lock(mutex_);
  while (!lingering_.empty() && lingering_.front().until < now) {
    gone.push_back(std::move(lingering_.front()));
    lingering_.pop_front();
  }
  lingering_.push_back({now + kLinger, std::move(holds)});
}

// Lists of actions count by their lengths only: equal values have equal hashes, which is all that is asked.
size_t HashOf(const FrozenState& state) {
  size_t actions = state.action_set.size();
  for (const FrozenFrame& frame : state.frames) actions = actions * 31 + frame.actions.size() * 256 + frame.table;
  auto bridge = absl::HashOf(std::string(state.bridge), BytesOf(state.pipeline).size(), actions, state.stack.size());
  size_t words = 0;
  for (size_t i = 0; i < OfFlow::kWords; ++i) words = absl::HashOf(words, state.pipeline.Word(i));
  return absl::HashOf(bridge, words, state.mirrored, state.ends_pipeline);
}

size_t HashOf(const PacketInRecord& record) {
  size_t words = 0;
  for (size_t i = 0; i < OfFlow::kWords; ++i) words = absl::HashOf(words, record.metadata.value.Word(i));
  return absl::HashOf(record.bridge, static_cast<int>(record.reason), record.table, record.cookie, record.max_len,
                      record.controller_id, record.userdata, record.meter_id, words, record.continuation);
}

std::vector<uint8_t> RecordUserdata(uint32_t id) {
  std::vector<uint8_t> userdata(8);
  std::memcpy(userdata.data(), &kControllerTag, 4);
  std::memcpy(userdata.data() + 4, &id, 4);
  return userdata;
}

uint32_t RecordOfUserdata(absl::Span<const uint8_t> userdata) {
  if (userdata.size() != 8 || std::memcmp(userdata.data(), &kControllerTag, 4) != 0) return 0;
  uint32_t id = 0;
  std::memcpy(&id, userdata.data() + 4, 4);
  return id;
}

}  // namespace sluice
