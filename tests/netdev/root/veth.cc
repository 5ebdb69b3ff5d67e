#include "tests/netdev/root/veth.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "netdev/system/system_netdev.h"

namespace sluice::testing {
namespace {

using Clock = std::chrono::steady_clock;

int MillisecondsUntil(Clock::time_point end) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

Bytes ArpRequest() {
  Bytes frame(42);
  std::memset(frame.data(), 0xff, 6);
  std::memcpy(frame.data() + 6, "\x02\x00\x00\x00\x00\x09", 6);
  reinterpret_cast<EthernetHeader*>(frame.data())->type = Be16(kEthTypeArp);
  auto* arp = reinterpret_cast<ArpHeader*>(frame.data() + 14);
  arp->hardware_type = Be16(1);
  arp->protocol_type = Be16(kEthTypeIpv4);
  arp->hardware_length = 6;
  arp->protocol_length = 4;
  arp->operation = Be16(1);
  std::memcpy(&arp->sender_mac, "\x02\x00\x00\x00\x00\x09", 6);
  arp->sender_ip = Be32(0x0a630009);
  arp->target_ip = Be32(0x0a630001);
  return frame;
}

}  // namespace

void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> chunk;
  while (size_t bytes = fread(chunk.data(), 1, chunk.size(), pipe)) output.append(chunk.data(), bytes);
  pclose(pipe);
  return output;
}

VethPair::VethPair(std::string near, std::string far) : near_(std::move(near)), far_(std::move(far)) { Create(); }
VethPair::~VethPair() { Delete(); }

void VethPair::Create() {
  Shell("ip link add " + near_ + " type veth peer name " + far_);
  for (const std::string& name : {near_, far_}) {
    Shell("ip link set " + name + " addrgenmode none up");
  }
}

void VethPair::Delete() { std::system(("ip link del " + far_ + " 2>/dev/null").c_str()); }

FarEnd::FarEnd(const std::string& device) : socket_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(0x0003))) {
  int on = 1;
  EXPECT_EQ(setsockopt(socket_.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)), 0);
  EXPECT_EQ(setsockopt(socket_.get(), SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)), 0);
  EXPECT_EQ(setsockopt(socket_.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)), 0);
  int buffer = 8 << 20;
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(0x0003);
  address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << device;
}

void FarEnd::Send(const Bytes& frame, const VnetHeader& vnet) {
  Bytes all(sizeof(vnet));
  std::memcpy(all.data(), &vnet, sizeof(vnet));
  all.insert(all.end(), frame.begin(), frame.end());
  ASSERT_EQ(send(socket_.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size())) << std::strerror(errno);
}

std::optional<FarEnd::Heard> FarEnd::Receive(const std::function<bool(const Bytes&)>& wanted, int timeout_ms) {
  auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  Bytes buffer(1 << 17);
  for (;;) {
    pollfd readable{.fd = socket_.get(), .events = POLLIN};
    if (poll(&readable, 1, MillisecondsUntil(end)) <= 0) return std::nullopt;
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    alignas(cmsghdr) std::array<uint8_t, 128> control;
    msghdr message{.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.data(), .msg_controllen = control.size()};
    ssize_t bytes = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (bytes < static_cast<ssize_t>(sizeof(VnetHeader))) continue;
    Heard heard;
    std::memcpy(&heard.vnet, buffer.data(), sizeof(VnetHeader));
    heard.frame.assign(buffer.begin() + sizeof(VnetHeader), buffer.begin() + bytes);
    tpacket_auxdata auxdata{};
    if (cmsghdr* part_of = CMSG_FIRSTHDR(&message)) std::memcpy(&auxdata, CMSG_DATA(part_of), sizeof(auxdata));
    if ((auxdata.tp_status & TP_STATUS_VLAN_VALID) != 0) heard.tci = auxdata.tp_vlan_tci;
    if (wanted(heard.frame)) return heard;
  }
}

Port::Port(const std::string& device, const NetdevOptions& options, std::string_view type)
    : pools(*PacketPools::Create(2048, 1024)) {
  auto opened = OpenNetdev(device, type, options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  netdev = *std::move(opened);
  for (size_t i = 0; i < netdev->rxq_count(); ++i) netdev->rxq(i).Attach(pools);
  auto queue = netdev->OpenTxq();
  EXPECT_TRUE(queue.ok()) << queue.status();
  txq = *std::move(queue);
}

Port::~Port() {
  for (size_t i = 0; i < netdev->rxq_count(); ++i) netdev->rxq(i).Detach();
  txq.reset();
  netdev.reset();
  EXPECT_EQ(pools.small->OutstandingCount(), 0u);
  EXPECT_EQ(pools.large->OutstandingCount(), 0u);
}

std::vector<Bytes> Port::Receive(size_t count, int timeout_ms) {
  auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<Bytes> frames;
  while (frames.size() < count && Clock::now() < end) {
    std::vector<pollfd> readable;
    for (size_t i = 0; i < netdev->rxq_count(); ++i) {
      RxBurst burst;
      netdev->rxq(i).Receive(burst, RxBurst::kCapacity);
      for (DpPacket* packet : burst) {
        if (Bytes frame = BytesOf(*packet); IsTestFrame(frame)) frames.push_back(std::move(frame));
      }
      readable.push_back({.fd = netdev->rxq(i).wait_fd(), .events = POLLIN});
    }
    if (frames.size() < count) poll(readable.data(), readable.size(), std::min(MillisecondsUntil(end), 50));
  }
  return frames;
}

DpPacketPtr Port::PacketOf(const Bytes& frame) {
  DpPacketPtr packet = pools.small->Allocate();
  auto head = static_cast<uint32_t>(std::min<size_t>(frame.size(), packet->tailroom()));
  packet->SetHeadLength(head);
  std::memcpy(packet->data(), frame.data(), head);
  if (head < frame.size()) {
    DpPacketPtr rest = pools.large->Allocate();
    rest->SetHeadLength(static_cast<uint32_t>(frame.size() - head));
    std::memcpy(rest->data(), frame.data() + head, frame.size() - head);
    packet->AppendChain(packet.get(), rest.release());
  }
  return packet;
}

void Port::Send(DpPacketPtr packet) {
  PacketBatch batch;
  batch.Add(std::move(packet));
  txq->Send(batch);
}

bool IsTestFrame(const Bytes& frame) {
  return frame.size() >= 14 && std::memcmp(frame.data(), "\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01", 12) == 0;
}

bool HostAnswersArp(FarEnd& far) {
  far.Send(ArpRequest());
  auto is_reply = [](const Bytes& frame) {
    return frame.size() >= 42 && reinterpret_cast<const EthernetHeader*>(frame.data())->type == Be16(kEthTypeArp) &&
           reinterpret_cast<const ArpHeader*>(frame.data() + 14)->operation == Be16(2);
  };
  return far.Receive(is_reply, 300).has_value();
}

SleepingChild::SleepingChild(const std::function<void()>& body) {
  int ready[2];
  if (pipe(ready) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    close(ready[0]);
    body();
    close(ready[1]);
    for (;;) pause();
  }
  close(ready[1]);
  char byte;
  while (read(ready[0], &byte, 1) > 0) {
  }
  close(ready[0]);
}

void SleepingChild::Kill() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, 0), nullptr, 0);
}

}  // namespace sluice::testing
