// Packet sockets (packet(7)) as the system netdev uses them, and the seam behind which their per-batch calls sit.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "netdev/file_descriptor.h"

namespace sluice {

// The two system calls of the fast path. Tests put their own kernel here. Neither blocks nor is interrupted.
class PacketSocketCalls {
 public:
  virtual ~PacketSocketCalls() = default;
  // recvmmsg and sendmmsg with MSG_DONTWAIT: the number of messages done, at least 1, or a negative errno.
  virtual int Receive(int fd, mmsghdr* messages, unsigned count) = 0;
  virtual int Send(int fd, mmsghdr* messages, unsigned count) = 0;

  static PacketSocketCalls& Kernel();
};

// Set-up calls, main thread. Both kinds carry a virtio-net header before each frame (PACKET_VNET_HDR), both ways.
struct PacketSocketOptions {
  uint32_t receive_buffer = 0;  // bytes of kernel memory to ask for (the kernel doubles them for its overhead)
  uint32_t send_buffer = 0;
};

// A socket for receiving: VLAN tags by auxdata, without the packets that the host itself sends out. Hears nothing yet.
absl::StatusOr<FileDescriptor> OpenReceiveSocket(const PacketSocketOptions& options);
// A socket for sending, which never receives.
absl::StatusOr<FileDescriptor> OpenSendSocket(const PacketSocketOptions& options);

// From now on `socket` hears the device, which becomes promiscuous for as long as the socket is bound to it. May be
// called again for another device, unless the socket is in a fan-out group.
absl::Status BindReceiveSocket(int socket, const std::string& name, uint32_t ifindex);
// The device is not the port's any more, though it may still exist: hears nothing (a packet socket cannot be unbound,
// but a filter that takes nothing does it) until it is bound anew.
void UnbindReceiveSocket(int socket, uint32_t ifindex);
// Runs a socket filter program, which decides what the bound `socket` hears.
absl::Status AttachReceiveFilter(int socket, int program);
absl::Status BindSendSocket(int socket, const std::string& name, uint32_t ifindex);

// Joins a group that shares a device's packets by a hash over their flow (PACKET_FANOUT_HASH: symmetric, addresses only
// for fragments), so that a flow stays with one socket. Without `group` makes a new one. Returns the group's number.
// The socket must be bound to a device that is up.
absl::StatusOr<uint16_t> JoinFanout(int socket, const std::string& name, std::optional<uint16_t> group);

// Bytes that the kernel lets queue in the socket.
uint32_t ReceiveBufferOf(int socket);
void ResizeReceiveBuffer(int socket, uint32_t bytes);
void ResizeSendBuffer(int socket, uint32_t bytes);
// Packets that the kernel dropped for want of socket memory since the last call.
uint64_t TakeKernelDrops(int socket);

}  // namespace sluice
