#include "netdev/system/system_rxq.h"

#include <linux/if_ether.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/status.h"
#include "lib/packet/headers.h"
#include "netdev/queue_count.h"

namespace sluice {
namespace {

// The kernel takes the outermost tag off the frame and tells it beside.
void RestoreVlanTag(const msghdr& message, DpPacket& packet) {
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA) continue;
    const auto* auxdata = reinterpret_cast<const tpacket_auxdata*>(CMSG_DATA(part));
    if ((auxdata->tp_status & TP_STATUS_VLAN_VALID) == 0) return;
    bool tpid_valid = (auxdata->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    uint8_t* frame = packet.PushFront(sizeof(VlanHeader));
    std::memmove(frame, frame + sizeof(VlanHeader), 2 * sizeof(MacAddress));
    auto* ethernet = HeaderAt<EthernetHeader>(packet, 0);
    ethernet->type = Be16(tpid_valid ? auxdata->tp_vlan_tpid : uint16_t{ETH_P_8021Q});
    HeaderAt<VlanHeader>(packet, sizeof(EthernetHeader))->tci = Be16(auxdata->tp_vlan_tci);
    return;
  }
}

// Wire frames of a frame whose bytes were not kept.
uint64_t DiscardedFrames(const VnetHeader& vnet, uint32_t length) {
  if (length < sizeof(vnet) || vnet.gso_type == VnetHeader::kGsoNone || vnet.gso_size == 0) return 1;
  uint32_t bytes = length - static_cast<uint32_t>(sizeof(vnet));
  // The headers are unseen: a TCP header without options is near enough.
  uint32_t headers = std::min(bytes, vnet.csum_start + uint32_t{sizeof(TcpHeader)});
  return std::max(1u, (bytes - headers + vnet.gso_size - 1) / vnet.gso_size);
}

}  // namespace

SystemRxq::SystemRxq(PacketSocketCalls& calls, FileDescriptor socket, FileDescriptor epoll)
    : calls_(calls), active_(std::move(socket)), epoll_(std::move(epoll)), newest_(active_.get()) {
  for (size_t i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[i];
    slot.parts[0] = {.iov_base = &slot.vnet, .iov_len = sizeof(slot.vnet)};
    messages_[i].msg_hdr.msg_iov = slot.parts.data();
    messages_[i].msg_hdr.msg_iovlen = slot.parts.size();
    messages_[i].msg_hdr.msg_control = slot.control.data();
  }
  if (epoll_) {
    epoll_event event{.events = EPOLLIN};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, active_.get(), &event);
  }
}

SystemRxq::~SystemRxq() { FileDescriptor unused(pending_.exchange(-1)); }

void SystemRxq::Attach(PacketPools& pools) {
  pools_ = &pools;
  depth_ = deepest_ = kLeastDepth;
}

void SystemRxq::Detach() {
  for (Slot& slot : slots_) {
    slot.small.reset();
    slot.large.reset();
  }
  pools_ = nullptr;
}

inline bool SystemRxq::FillSlot(Slot& slot) {
  if (slot.small == nullptr) {
    slot.small = pools_->small->Allocate();
    if (slot.small == nullptr) return false;
    slot.parts[1] = {.iov_base = slot.small->data(), .iov_len = slot.small->tailroom()};
  }
  if (slot.large == nullptr) {
    slot.large = pools_->large->Allocate();
    if (slot.large == nullptr) return false;
    slot.parts[2] = {.iov_base = slot.large->data(), .iov_len = slot.large->tailroom()};
  }
  return true;
}

// Makes the first `count` slots ready, or as many of them as there are buffers for.
size_t SystemRxq::Post(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!FillSlot(slots_[i])) return i;
    messages_[i].msg_hdr.msg_controllen = sizeof(slots_[i].control);
    messages_[i].msg_hdr.msg_flags = 0;
  }
  return count;
}

bool SystemRxq::Receive(RxBurst& burst, size_t max) {
  size_t wanted = std::min({max, depth_, RxBurst::kCapacity - burst.size()});
  if (wanted == 0) return true;
  size_t posted = Post(wanted);
  if (posted == 0) [[unlikely]]
    return Discard(wanted);
  int received = calls_.Receive(active_.get(), messages_.data(), static_cast<unsigned>(posted));
  ++counters_.system_calls;
  if (received <= 0) [[unlikely]] {
    // Empty, or the device went down or away, which the socket tells once; what follows is the link monitor's work.
    return AdoptPendingSocket();
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < static_cast<size_t>(received); ++i) {
    bytes += messages_[i].msg_len;
    TakeSlot(i, burst);
  }
  uint64_t average = bytes / static_cast<uint64_t>(received) + 1;
  if (static_cast<size_t>(received) == deepest_) deepest_ = std::min(2 * deepest_, kSlots);
  depth_ = std::clamp<uint64_t>(kBurstBytes / average, kLeastDepth, deepest_);
  return static_cast<size_t>(received) == posted;
}

void SystemRxq::TakeSlot(size_t index, RxBurst& burst) {
  Slot& slot = slots_[index];
  DropReason reason;
  if (!TakeFrame(slot, messages_[index], reason)) [[unlikely]] {
    counters_.drops.Add(reason);
    slot.small.reset();
    return;
  }
  CountPacket(counters_, *slot.small);
  burst.Add(std::move(slot.small));
}

inline bool SystemRxq::TakeFrame(Slot& slot, const mmsghdr& message, DropReason& reason) {
  auto refuse = [&reason](DropReason why) {
    reason = why;
    return false;
  };
  if (message.msg_len < sizeof(VnetHeader)) return refuse(DropReason::kRxVnetShort);
  uint32_t bytes = message.msg_len - static_cast<uint32_t>(sizeof(VnetHeader));
  if (bytes < sizeof(EthernetHeader)) return refuse(DropReason::kRxRunt);
  DpPacket& packet = *slot.small;
  uint32_t head = std::min(bytes, packet.tailroom());
  if (bytes - head > slot.large->tailroom()) return refuse(DropReason::kRxTruncated);
  packet.SetHeadLength(head);
  if (bytes > head) {
    slot.large->SetHeadLength(bytes - head);
    packet.AppendChain(&packet, slot.large.release());
  }
  if (!DecodeVnetHeader(slot.vnet, packet, reason)) return false;
  RestoreVlanTag(message.msg_hdr, packet);
  return true;
}

bool SystemRxq::Discard(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    messages_[i].msg_hdr.msg_iovlen = 1;
    messages_[i].msg_hdr.msg_controllen = sizeof(slots_[i].control);
  }
  int received = calls_.Receive(active_.get(), messages_.data(), static_cast<unsigned>(count));
  ++counters_.system_calls;
  for (int i = 0; i < received; ++i) {
    counters_.drops.Add(DropReason::kRxPoolEmpty, DiscardedFrames(slots_[i].vnet, messages_[i].msg_len));
  }
  for (size_t i = 0; i < count; ++i) messages_[i].msg_hdr.msg_iovlen = slots_[i].parts.size();
  return received == static_cast<int>(count);
}

absl::Status SystemRxq::ReplaceSocket(FileDescriptor next) {
  epoll_event event{.events = EPOLLIN};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, next.get(), &event) != 0) {
    return ErrnoStatus(errno, "watching a new packet socket");
  }
  newest_ = next.Release();
  // One that the receiving thread never saw is closed here.
  FileDescriptor unused(pending_.exchange(newest_, std::memory_order_acq_rel));
  return absl::OkStatus();
}

// True if there is a new socket to read.
bool SystemRxq::AdoptPendingSocket() {
  if (pending_.load(std::memory_order_relaxed) < 0) [[likely]]
    return false;
  // Closing the old one takes it out of the epoll set.
  active_ = FileDescriptor(pending_.exchange(-1, std::memory_order_acq_rel));
  return true;
}

}  // namespace sluice
