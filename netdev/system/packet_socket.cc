#include "netdev/system/packet_socket.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "lib/base/status.h"

namespace sluice {
namespace {

constexpr uint32_t kFanoutFlagIgnoreOutgoing = 0x4000;  // newer than the headers of Linux 6.1

class KernelCalls final : public PacketSocketCalls {
 public:
  int Receive(int fd, mmsghdr* messages, unsigned count) override {
    // MSG_TRUNC makes msg_len the frame's true length, which only what discards frames looks at beyond its buffers.
    int done = recvmmsg(fd, messages, count, MSG_DONTWAIT | MSG_TRUNC, nullptr);
    return done >= 0 ? done : -errno;
  }
  int Send(int fd, mmsghdr* messages, unsigned count) override {
    int done = sendmmsg(fd, messages, count, MSG_DONTWAIT);
    return done >= 0 ? done : -errno;
  }
};

template <typename Value>
absl::Status SetOption(int socket, int level, int option, const Value& value, const char* text) {
  if (setsockopt(socket, level, option, &value, sizeof(value)) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("packet socket: {}", text));
}

// FORCE goes beyond net.core.{r,w}mem_max and needs CAP_NET_ADMIN in the first user namespace; without it the plain
// option gives what the limit allows.
void SetBuffer(int socket, int force, int plain, uint32_t bytes) {
  int value = static_cast<int>(std::min<uint32_t>(bytes, INT_MAX / 2));
  if (setsockopt(socket, SOL_SOCKET, force, &value, sizeof(value)) != 0) {
    setsockopt(socket, SOL_SOCKET, plain, &value, sizeof(value));
  }
}

absl::StatusOr<FileDescriptor> OpenSocket() {
  // Protocol 0: nothing is heard before bind() names a protocol.
  FileDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return ErrnoStatus(errno, "opening a packet socket (needs CAP_NET_RAW)");
  SLUICE_RETURN_IF_ERROR(SetOption(socket.get(), SOL_PACKET, PACKET_VNET_HDR, int{1}, "PACKET_VNET_HDR"));
  return socket;
}

absl::Status Bind(int socket, const std::string& name, uint32_t ifindex, uint16_t protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = static_cast<int>(ifindex);
  if (bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("{}: binding a packet socket to interface {}", name, ifindex));
}

template <size_t kSize>
void AttachFilter(int socket, sock_filter (&filter)[kSize]) {
  sock_fprog program{.len = kSize, .filter = filter};
  setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

packet_mreq Promiscuous(uint32_t ifindex) {
  packet_mreq membership{};
  membership.mr_ifindex = static_cast<int>(ifindex);
  membership.mr_type = PACKET_MR_PROMISC;
  return membership;
}

}  // namespace

PacketSocketCalls& PacketSocketCalls::Kernel() {
  static KernelCalls calls;
  return calls;
}

absl::StatusOr<FileDescriptor> OpenReceiveSocket(const PacketSocketOptions& options) {
  auto socket = OpenSocket();
  if (!socket.ok()) return socket;
  SLUICE_RETURN_IF_ERROR(SetOption(socket->get(), SOL_PACKET, PACKET_AUXDATA, int{1}, "PACKET_AUXDATA"));
  SLUICE_RETURN_IF_ERROR(SetOption(socket->get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, int{1},
                                   "PACKET_IGNORE_OUTGOING (needs Linux 4.20)"));
  ResizeReceiveBuffer(socket->get(), options.receive_buffer);
  return socket;
}

absl::StatusOr<FileDescriptor> OpenSendSocket(const PacketSocketOptions& options) {
  auto socket = OpenSocket();
  if (!socket.ok()) return socket;
  ResizeSendBuffer(socket->get(), options.send_buffer);
  return socket;
}

absl::Status BindReceiveSocket(int socket, const std::string& name, uint32_t ifindex) {
  SLUICE_RETURN_IF_ERROR(Bind(socket, name, ifindex, ETH_P_ALL));
  int unused = 0;
  setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
  return SetOption(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, Promiscuous(ifindex), "making the device promiscuous");
}

void UnbindReceiveSocket(int socket, uint32_t ifindex) {
  sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  AttachFilter(socket, nothing);
  packet_mreq membership = Promiscuous(ifindex);
  setsockopt(socket, SOL_PACKET, PACKET_DROP_MEMBERSHIP, &membership, sizeof(membership));
}

absl::Status AttachReceiveFilter(int socket, int program) {
  return SetOption(socket, SOL_SOCKET, SO_ATTACH_BPF, program, "SO_ATTACH_BPF");
}

absl::Status BindSendSocket(int socket, const std::string& name, uint32_t ifindex) {
  return Bind(socket, name, ifindex, 0);
}

absl::StatusOr<uint16_t> JoinFanout(int socket, const std::string& name, std::optional<uint16_t> group) {
  // The group has a hook of its own in the kernel, so the sockets' PACKET_IGNORE_OUTGOING does not count. Kernels that
  // do not know the group's flag pass over it; there the filter alone keeps out what we sent ourselves.
  uint32_t mode = PACKET_FANOUT_HASH | kFanoutFlagIgnoreOutgoing;
  sock_filter incoming_only[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  AttachFilter(socket, incoming_only);
  if (!group.has_value()) mode |= PACKET_FANOUT_FLAG_UNIQUEID;
  uint32_t value = group.value_or(0) | (mode << 16);
  if (setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &value, sizeof(value)) != 0) {
    return ErrnoStatus(errno, fmt::format("{}: sharing the device between receive queues (PACKET_FANOUT)", name));
  }
  socklen_t size = sizeof(value);
  if (getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &value, &size) != 0) {
    return ErrnoStatus(errno, fmt::format("{}: asking for the fan-out group", name));
  }
  return static_cast<uint16_t>(value);
}

uint32_t ReceiveBufferOf(int socket) {
  int bytes = 0;
  socklen_t size = sizeof(bytes);
  return getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &size) == 0 ? static_cast<uint32_t>(bytes) : 0;
}

void ResizeReceiveBuffer(int socket, uint32_t bytes) { SetBuffer(socket, SO_RCVBUFFORCE, SO_RCVBUF, bytes); }

void ResizeSendBuffer(int socket, uint32_t bytes) { SetBuffer(socket, SO_SNDBUFFORCE, SO_SNDBUF, bytes); }

uint64_t TakeKernelDrops(int socket) {
  tpacket_stats stats{};
  socklen_t size = sizeof(stats);
  return getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 ? stats.tp_drops : 0;
}

}  // namespace sluice
