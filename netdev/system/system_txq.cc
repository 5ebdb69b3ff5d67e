#include "netdev/system/system_txq.h"

#include <cerrno>

#include "netdev/queue_count.h"

namespace sluice {

void SystemTxq::Send(PacketBatch& frames) {
  if (!shared_.present.load(std::memory_order_relaxed)) [[unlikely]] {
    CountDropped(frames, 0, frames.size(), DropReason::kTxPortDown);
    frames.FreeAll();
    return;
  }
  size_t count = Gather(frames);
  size_t done = 0;
  while (done < count) {
    int sent = calls_.Send(socket_->get(), &messages_[done], static_cast<unsigned>(count - done));
    ++counters_.system_calls;
    if (sent > 0) [[likely]] {
      CountSent(frames, done, done + static_cast<size_t>(sent));
      done += static_cast<size_t>(sent);
    } else {
      done = SettleFailure(frames, done, -sent);
    }
  }
  frames.FreeAll();
}

// Describes the frames to the kernel; one of too many buffers, which PrepareForEgress does not let pass, is left out.
size_t SystemTxq::Gather(PacketBatch& frames) {
  size_t count = 0;
  iovec* part = parts_.data();
  for (DpPacket*& frame : frames) {
    if (frame->buffer_count() > SystemTxShared::kMaxBuffers) [[unlikely]] {
      CountDropped(frames, static_cast<size_t>(&frame - frames.begin()),
                   static_cast<size_t>(&frame - frames.begin()) + 1, DropReason::kTxRefused);
      FreePacketChain(std::exchange(frame, nullptr));
      continue;
    }
    EncodeVnetHeader(*frame, headers_[count]);
    msghdr& message = messages_[count].msg_hdr;
    message.msg_iov = part;
    *part++ = {.iov_base = &headers_[count], .iov_len = sizeof(VnetHeader)};
    for (DpPacket* buffer = frame; buffer != nullptr; buffer = buffer->next()) {
      *part++ = {.iov_base = buffer->data(), .iov_len = buffer->head_length()};
    }
    message.msg_iovlen = static_cast<size_t>(part - message.msg_iov);
    ++count;
  }
  frames.Compact();
  return count;
}

// The frame at `index` could not be sent. Counts what is lost by that and returns where to go on.
[[gnu::cold]] size_t SystemTxq::SettleFailure(PacketBatch& frames, size_t index, int error) {
  switch (error) {
    case EAGAIN:
      // The socket's memory is full of frames that the device has not sent yet: those behind would not fit either.
      CountDropped(frames, index, frames.size(), DropReason::kTxFull);
      return frames.size();
    case ENETDOWN:
    case ENXIO:
    case ENODEV:
      CountDropped(frames, index, frames.size(), DropReason::kTxPortDown);
      return frames.size();
    case EMSGSIZE:
      // The kernel makes room for one VLAN tag beyond the device's MTU, not for two.
      CountDropped(frames, index, index + 1, DropReason::kTxOverMtu);
      return index + 1;
    case ENOBUFS:
      // The device's queue dropped this one; the next may find room.
      CountDropped(frames, index, index + 1, DropReason::kTxFull);
      return index + 1;
    default:
      CountDropped(frames, index, index + 1, DropReason::kTxRefused);
      return index + 1;
  }
}

void SystemTxq::CountSent(PacketBatch& frames, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) CountPacket(counters_, *frames[i]);
}

void SystemTxq::CountDropped(PacketBatch& frames, size_t from, size_t to, DropReason reason) {
  for (size_t i = from; i < to; ++i) CountDrop(counters_, reason, *frames[i]);
}

}  // namespace sluice
