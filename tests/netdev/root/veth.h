// What the root tests share: veth pairs, and a packet socket of the test's own at the far end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "netdev/file_descriptor.h"
#include "netdev/netdev.h"
#include "netdev/vnet_header.h"
#include "tests/netdev/system/test_frames.h"

namespace sluice::testing {

// Runs a shell command and fails the test with its text if it fails.
void Shell(const std::string& command);
std::string OutputOf(const std::string& command);

// A fresh veth pair, both ends up in the test's namespace without IPv6 (which would talk by itself); gone with the
// object.
class VethPair {
 public:
  VethPair(std::string near, std::string far);
  ~VethPair();
  void Delete();
  void Create();

 private:
  const std::string near_;
  const std::string far_;
};

// What the far side of a port sends and hears, by plain packet-socket calls.
class FarEnd {
 public:
  explicit FarEnd(const std::string& device);

  void Send(const Bytes& frame, const VnetHeader& vnet = {});
  struct Heard {
    VnetHeader vnet;
    Bytes frame;  // without the outermost tag, which is in tci
    std::optional<uint16_t> tci;
  };
  // The next frame that `wanted` accepts within a second.
  std::optional<Heard> Receive(const std::function<bool(const Bytes&)>& wanted, int timeout_ms = 1000);

 private:
  FileDescriptor socket_;
};

// A port with one thread's worth of queues, polled by the test.
class Port {
 public:
  explicit Port(const std::string& device, const NetdevOptions& options = {}, std::string_view type = "system");
  ~Port();

  // Frames of our test addresses received within `timeout_ms`, until there are `count`; others are not looked at.
  std::vector<Bytes> Receive(size_t count, int timeout_ms = 1000);
  void Send(DpPacketPtr packet);
  DpPacketPtr PacketOf(const Bytes& frame);

  std::unique_ptr<Netdev> netdev;
  std::unique_ptr<NetdevTxq> txq;
  PacketPools pools;
};

// True for frames that TcpFrame() made, with or without a tag.
bool IsTestFrame(const Bytes& frame);

// Does the host answer at `device`, which has the address 10.99.0.1, an ARP request that its far end sends?
bool HostAnswersArp(FarEnd& far);

// Runs `body` in a child process and waits until it has returned; the child then sleeps until it is killed.
class SleepingChild {
 public:
  explicit SleepingChild(const std::function<void()>& body);
  ~SleepingChild() { Kill(); }
  void Kill();  // SIGKILL, and waits for its end
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

}  // namespace sluice::testing
