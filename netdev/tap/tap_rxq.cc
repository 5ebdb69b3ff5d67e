#include "netdev/tap/tap_rxq.h"

#include <algorithm>
#include <cerrno>

#include "netdev/queue_count.h"

namespace sluice {

void TapRxq::Detach() {
  small_.reset();
  large_.reset();
  pools_ = nullptr;
}

// One system call for each frame: the copy outweighs the call. Batches of reads and writes through io_uring took 3-5 %
// less of the switch's time per byte with frames of one MTU and differed by less than the noise with super-packets; an
// empty queue costs them a failed request for every slot tried.
bool TapRxq::Receive(RxBurst& burst, size_t max) {
  max = std::min(max, RxBurst::kCapacity - burst.size());
  uint64_t bytes = 0;
  for (; max > 0 && bytes < kBurstBytes; --max) {
    DpPacketPtr packet;
    Outcome outcome = ReadOne(packet);
    if (outcome == Outcome::kEmpty) return false;
    if (outcome == Outcome::kDropped) [[unlikely]]
      continue;
    bytes += packet->length();
    CountPacket(counters_, *packet);
    burst.Add(std::move(packet));
  }
  return true;
}

inline bool TapRxq::Post() {
  if (small_ == nullptr) {
    small_ = pools_->small->Allocate();
    if (small_ == nullptr) [[unlikely]]
      return false;
    parts_[1] = {.iov_base = small_->data(), .iov_len = small_->tailroom()};
  }
  if (large_ == nullptr) {
    large_ = pools_->large->Allocate();
    if (large_ == nullptr) [[unlikely]]
      return false;
    parts_[2] = {.iov_base = large_->data(), .iov_len = large_->tailroom()};
  }
  return true;
}

inline TapRxq::Outcome TapRxq::ReadOne(DpPacketPtr& packet) {
  if (!Post()) [[unlikely]]
    return DiscardOne();
  int generation = queue_->generation();
  parts_[0] = {.iov_base = &header_, .iov_len = sizeof(header_)};
  ssize_t got = calls_.Read(queue_->fd(), parts_.data(), static_cast<int>(parts_.size()));
  ++counters_.system_calls;
  if (got < 0) return SettleFailure(static_cast<int>(-got), generation);
  DropReason reason{};
  if (!TakeFrame(static_cast<uint32_t>(got), reason)) [[unlikely]] {
    counters_.drops.Add(reason);
    small_.reset();
    return Outcome::kDropped;
  }
  packet = std::move(small_);
  return Outcome::kPacket;
}

inline bool TapRxq::TakeFrame(uint32_t bytes, DropReason& reason) {
  auto refuse = [&reason](DropReason why) {
    reason = why;
    return false;
  };
  if (bytes < sizeof(header_)) return refuse(DropReason::kRxVnetShort);
  bytes -= static_cast<uint32_t>(sizeof(header_));
  if (bytes < sizeof(EthernetHeader)) return refuse(DropReason::kRxRunt);
  uint32_t head = std::min(bytes, small_->tailroom());
  if (bytes - head > large_->tailroom()) return refuse(DropReason::kRxTruncated);
  small_->SetHeadLength(head);
  if (bytes > head) {
    large_->SetHeadLength(bytes - head);
    small_->AppendChain(small_.get(), large_.release());
  }
  return DecodeVnetHeader(header_, *small_, reason);
}

TapRxq::Outcome TapRxq::SettleFailure(int error, int generation) {
  switch (error) {
    case EAGAIN:
      return Outcome::kEmpty;
    case EBADFD:
      if (!queue_->gone()) queue_->ReportGone(generation);
      return Outcome::kEmpty;
    case EFAULT:
      // The frame did not fit the buffers (BIG TCP). The kernel has taken it out of its queue.
      counters_.drops.Add(DropReason::kRxTruncated);
      return Outcome::kDropped;
    case EINVAL:
      // A kind of super-packet that the header cannot describe; likewise out of the queue.
      counters_.drops.Add(DropReason::kRxVnetGsoType);
      return Outcome::kDropped;
    default:
      return Outcome::kEmpty;
  }
}

// Without room behind the header the kernel drops the frame and says EFAULT.
[[gnu::cold]] TapRxq::Outcome TapRxq::DiscardOne() {
  int generation = queue_->generation();
  iovec part = {.iov_base = &header_, .iov_len = sizeof(header_)};
  ssize_t got = calls_.Read(queue_->fd(), &part, 1);
  ++counters_.system_calls;
  if (got < 0 && got != -EFAULT) return SettleFailure(static_cast<int>(-got), generation);
  counters_.drops.Add(DropReason::kRxPoolEmpty);
  return Outcome::kDropped;
}

}  // namespace sluice
