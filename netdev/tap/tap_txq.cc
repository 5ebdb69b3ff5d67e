#include "netdev/tap/tap_txq.h"

#include <cerrno>

#include "netdev/queue_count.h"

namespace sluice {

void TapTxq::Send(PacketBatch& frames) {
  for (size_t i = 0; i < frames.size();) {
    ssize_t written = Write(*frames[i]);
    if (written == -EBADFD && queue_ != first_) [[unlikely]] {
      queue_ = first_;
      continue;
    }
    if (written < 0) [[unlikely]] {
      i = SettleFailure(frames, i, static_cast<int>(-written));
      continue;
    }
    CountPacket(counters_, *frames[i]);
    ++i;
  }
  frames.FreeAll();
}

inline ssize_t TapTxq::Write(const DpPacket& frame) {
  if (frame.buffer_count() > kMaxBuffers) [[unlikely]]
    return -EMSGSIZE;  // PrepareForEgress lets none pass
  EncodeVnetHeader(frame, header_);
  parts_[0] = {.iov_base = &header_, .iov_len = sizeof(header_)};
  int count = 1;
  for (const DpPacket* buffer = &frame; buffer != nullptr; buffer = buffer->next()) {
    parts_[count++] = {.iov_base = const_cast<uint8_t*>(buffer->data()), .iov_len = buffer->head_length()};
  }
  ++counters_.system_calls;
  return calls_.Write(queue_->fd(), parts_.data(), count);
}

// The frame at `index` could not be sent. Counts what is lost by that and returns where to go on.
[[gnu::cold]] size_t TapTxq::SettleFailure(const PacketBatch& frames, size_t index, int error) {
  auto drop_rest = [&](DropReason reason) {
    for (; index < frames.size(); ++index) CountDrop(counters_, reason, *frames[index]);
    return index;
  };
  switch (error) {
    case EAGAIN:
      return drop_rest(DropReason::kTxFull);
    case EIO:     // down
    case EBADFD:  // gone
    case EBADF:
      return drop_rest(DropReason::kTxPortDown);
    case ENOMEM:
    case ENOBUFS:
      CountDrop(counters_, DropReason::kTxFull, *frames[index]);
      return index + 1;
    default:
      CountDrop(counters_, DropReason::kTxRefused, *frames[index]);
      return index + 1;
  }
}

}  // namespace sluice
