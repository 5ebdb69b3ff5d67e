// GsoSegmenter against the kernel: random super-packets are sent with a virtio-net header over a veth whose peer offers
// nothing, so that the kernel segments them in software, and what arrives is compared with our segments byte for byte.
//
// Needs root and makes its own network namespace, which ends with the process. Without the right to make one it says so
// and skips (exit code 77). Environment: GSO_KERNEL_SEED, GSO_KERNEL_PACKETS.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lib/packet/gso.h"
#include "lib/packet/slab_pool.h"
#include "tests/lib/packet/super_packet.h"

namespace sluice {
namespace {

using testing::SuperPacket;
using Segments = std::vector<std::vector<uint8_t>>;

// struct virtio_net_hdr of linux/virtio_net.h, which no C++ compiler takes. Fields in host order.
struct VnetHeader {
  uint8_t flags;
  uint8_t gso_type;
  uint16_t hdr_len;
  uint16_t gso_size;
  uint16_t csum_start;
  uint16_t csum_offset;
};
static_assert(sizeof(VnetHeader) == 10);
constexpr uint8_t kVnetNeedsChecksum = 1;
constexpr uint8_t kVnetTcp4 = 1;
constexpr uint8_t kVnetTcp6 = 4;
constexpr uint8_t kVnetUdpL4 = 5;
constexpr uint8_t kVnetEcn = 0x80;

constexpr int kSkip = 77;
constexpr char kSender[] = "gso-a";
constexpr char kReceiver[] = "gso-b";

[[noreturn]] void Fail(const std::string& what) {
  fmt::print(stderr, "gso_kernel_test: {}\n", what);
  std::exit(1);
}

void Require(bool condition, const char* what) {
  if (!condition) Fail(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Switches off what would let the sender pass a super-packet or a postponed checksum on as it is, or a receiver merge.
void SwitchOffloadsOff(const char* device) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  Require(fd >= 0, "control socket");
  for (uint32_t command : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM, ETHTOOL_SSG}) {
    ethtool_value value = {.cmd = command, .data = 0};
    ifreq request = {};
    std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    Require(ioctl(fd, SIOCETHTOOL, &request) == 0, "ethtool");
  }
  close(fd);
}

void MakeLinks() {
  const std::string command = fmt::format(
      "ip link add {0} mtu 65535 type veth peer name {1} mtu 65535 && "
      "for i in {0} {1}; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; ip link set $i up; done",
      kSender, kReceiver);
  if (std::system(command.c_str()) != 0) Fail("cannot make a veth pair with ip(8)");
  SwitchOffloadsOff(kSender);
  SwitchOffloadsOff(kReceiver);
}

int OpenPacketSocket(const char* device, int protocol) {
  const int fd = socket(AF_PACKET, SOCK_RAW, htons(static_cast<uint16_t>(protocol)));
  Require(fd >= 0, "packet socket");
  sockaddr_ll address = {};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(static_cast<uint16_t>(protocol));
  address.sll_ifindex = static_cast<int>(if_nametoindex(device));
  Require(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  return fd;
}

void SetOption(int fd, int level, int option, int value) {
  Require(setsockopt(fd, level, option, &value, sizeof value) == 0, "setsockopt");
}

class Kernel {
 public:
  Kernel() : sender_(OpenPacketSocket(kSender, 0)), receiver_(OpenPacketSocket(kReceiver, ETH_P_ALL)) {
    SetOption(sender_, SOL_PACKET, PACKET_VNET_HDR, 1);
    SetOption(sender_, SOL_SOCKET, SO_SNDBUFFORCE, 16 << 20);
    SetOption(receiver_, SOL_SOCKET, SO_RCVBUFFORCE, 128 << 20);
    SetOption(receiver_, SOL_PACKET, PACKET_AUXDATA, 1);
    SetOption(receiver_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    const timeval patience = {.tv_sec = 2, .tv_usec = 0};
    Require(setsockopt(receiver_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0, "SO_RCVTIMEO");
  }
  ~Kernel() {
    close(sender_);
    close(receiver_);
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  bool Send(const SuperPacket& super) {
    VnetHeader header = {};
    header.flags = kVnetNeedsChecksum;
    header.hdr_len = static_cast<uint16_t>(super.payload_offset);
    header.csum_start = super.offload.csum_start;
    header.csum_offset = super.offload.csum_offset;
    header.gso_size = super.offload.segment_size;
    header.gso_type = GsoType(super.offload.segmentation);
    if (super.offload.ecn) header.gso_type |= kVnetEcn;
    iovec parts[2] = {{&header, sizeof header}, {const_cast<uint8_t*>(super.frame.data()), super.frame.size()}};
    return writev(sender_, parts, 2) == static_cast<ssize_t>(sizeof header + super.frame.size());
  }

  // The next frame that the peer got, its VLAN tag put back; empty when none came in time.
  std::vector<uint8_t> Receive() {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(tpacket_auxdata))];
    iovec part = {buffer_.data(), buffer_.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(receiver_, &message, 0);
    if (size <= 0) return {};
    std::vector<uint8_t> frame(buffer_.begin(), buffer_.begin() + size);
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA) continue;
      tpacket_auxdata data;
      std::memcpy(&data, CMSG_DATA(c), sizeof data);
      if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0) continue;
      const uint16_t tpid = data.tp_status & TP_STATUS_VLAN_TPID_VALID ? data.tp_vlan_tpid : ETHERTYPE_VLAN;
      const uint8_t tag[4] = {static_cast<uint8_t>(tpid >> 8), static_cast<uint8_t>(tpid),
                              static_cast<uint8_t>(data.tp_vlan_tci >> 8), static_cast<uint8_t>(data.tp_vlan_tci)};
      frame.insert(frame.begin() + 12, tag, tag + 4);
    }
    return frame;
  }

 private:
  static uint8_t GsoType(Segmentation segmentation) {
    if (segmentation == Segmentation::kTcp4) return kVnetTcp4;
    if (segmentation == Segmentation::kTcp6) return kVnetTcp6;
    return kVnetUdpL4;
  }

  const int sender_;
  const int receiver_;
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(1 << 17);
};

Segments OurSegments(const DpPacket& packet) {
  Segments segments;
  GsoSegmenter segmenter(packet, SegmentChecksum::kCompute);
  if (!segmenter.ok()) return segments;
  while (!segmenter.done()) {
    segments.emplace_back(segmenter.next_length());
    segmenter.WriteNext(segments.back().data());
  }
  return segments;
}

std::string Describe(const SuperPacket& super) {
  return fmt::format(
      "type {} tags {} ip options {} extensions {} tcp options {} flags {:#x} payload {} segment size {}",
      static_cast<int>(super.options.type), super.options.vlan_tpids.size(), super.options.ip_option_bytes,
      super.options.ipv6_extensions.size(), super.options.tcp_option_bytes, super.options.tcp_flags,
      super.options.payload_bytes, super.options.segment_size);
}

// "" or what differs.
std::string Compare(Kernel& kernel, const SuperPacket& super, const DpPacket& packet) {
  if (!kernel.Send(super)) return fmt::format("the kernel refuses it: {}", std::strerror(errno));
  const Segments ours = OurSegments(packet);
  if (ours.size() != super.SegmentCount()) return fmt::format("{} segments of ours", ours.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    const std::vector<uint8_t> theirs = kernel.Receive();
    if (theirs.empty()) return fmt::format("the kernel sends only {} of {} segments", i, ours.size());
    if (theirs.size() != ours[i].size()) {
      return fmt::format("segment {}: the kernel's has {} bytes, ours {}", i, theirs.size(), ours[i].size());
    }
    for (size_t b = 0; b < theirs.size(); ++b) {
      if (theirs[b] == ours[i][b]) continue;
      return fmt::format("segment {} of {}, byte {}: the kernel's is {:#x}, ours {:#x}", i, ours.size(), b, theirs[b],
                         ours[i][b]);
    }
  }
  return "";
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

int Run() {
  if (unshare(CLONE_NEWNET) != 0) {
    fmt::print("SKIPPED gso_kernel_test: needs root to make a network namespace ({})\n", std::strerror(errno));
    return kSkip;
  }
  MakeLinks();
  Kernel kernel;
  auto pools = PacketPools::Create(16, 16).value();
  const auto seed = static_cast<uint32_t>(FromEnvironment("GSO_KERNEL_SEED", std::random_device()()));
  const uint64_t packets = FromEnvironment("GSO_KERNEL_PACKETS", 100'000);
  fmt::print("seed {}, {} packets\n", seed, packets);
  std::mt19937 random(seed);
  uint64_t segments = 0;
  for (uint64_t i = 0; i < packets;) {
    const SuperPacket super = testing::MakeSuper(testing::RandomSuperOptions(random), random);
    if (super.SegmentCount() == 1) continue;  // the kernel segments nothing there
    const DpPacketPtr packet = testing::LoadSuper(super, pools, 2048);
    const std::string difference = Compare(kernel, super, *packet);
    if (!difference.empty()) Fail(fmt::format("seed {}, packet {} ({}): {}", seed, i, Describe(super), difference));
    segments += super.SegmentCount();
    ++i;
  }
  fmt::print("{} packets, {} segments, all equal to the kernel's\n", packets, segments);
  return 0;
}

}  // namespace
}  // namespace sluice

int main() { return sluice::Run(); }
