#include "netdev/link_monitor.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tests/netdev/root/veth.h"

namespace sluice {
namespace {

using testing::Shell;
using testing::VethPair;

class LinkMonitorTest : public ::testing::Test {
 protected:
  // Handles what comes, turn by turn, until one reports the watched name, and says how often that one did. A device's
  // other changes may come first, and the kernel holds changes of carrier back for up to a second.
  int ReportsOf(int& reports) {
    reports = 0;
    for (int turn = 0; turn < 15 && reports == 0; ++turn) {
      pollfd readable{.fd = monitor_->fd(), .events = POLLIN};
      poll(&readable, 1, 200);
      monitor_->HandleEvents();
    }
    return reports;
  }

  std::unique_ptr<LinkMonitor> monitor_ = *LinkMonitor::Open();
};

TEST_F(LinkMonitorTest, ReportsEachKindOfChangeOncePerTurn) {
  int reports = 0;
  auto watch = monitor_->WatchName("m0", [&] { ++reports; });
  VethPair veth("m0", "m1");
  EXPECT_EQ(ReportsOf(reports), 1) << "appears, comes up";
  const char* kChanges[] = {"ip link set m0 mtu 1400",
                            "ip link set m0 down",
                            "ip link set m0 up",
                            "ip link set m1 down",
                            "ip link set m0 address 02:00:00:00:bb:01",
                            "ethtool -K m0 tso off >/dev/null",
                            "ip link set m1 up"};
  for (const char* change : kChanges) {
    Shell(change);
    EXPECT_EQ(ReportsOf(reports), 1) << change;
  }
  veth.Delete();
  EXPECT_EQ(ReportsOf(reports), 1) << "goes";
}

TEST_F(LinkMonitorTest, RenamingConcernsBothNames) {
  VethPair veth("m0", "m1");
  monitor_->HandleEvents();
  int old_name = 0;
  int new_name = 0;
  int other = 0;
  auto watch_old = monitor_->WatchName("m0", [&] { ++old_name; });
  auto watch_new = monitor_->WatchName("renamed", [&] { ++new_name; });
  auto watch_other = monitor_->WatchName("m9", [&] { ++other; });
  Shell("ip link set m0 name renamed");
  ReportsOf(other);
  EXPECT_EQ(old_name, 1);
  EXPECT_EQ(new_name, 1);
  EXPECT_EQ(other, 0);
}

TEST_F(LinkMonitorTest, WatchesMayBeCancelledInACallback) {
  VethPair veth("m0", "m1");
  monitor_->HandleEvents();
  int second_reports = 0;
  LinkMonitor::Watch second;
  auto first = monitor_->WatchName("m0", [&] { second.Cancel(); });
  second = monitor_->WatchName("m0", [&] { ++second_reports; });
  Shell("ip link set m0 mtu 1400");
  EXPECT_EQ(ReportsOf(second_reports), 0);
}

TEST_F(LinkMonitorTest, LostNotificationsReportEverything) {
  VethPair veth("m0", "m1");
  VethPair bystander("m2", "m3");
  monitor_->HandleEvents();
  int reports = 0;
  auto watch = monitor_->WatchName("m2", [&] { ++reports; });
  FileDescriptor control(socket(AF_UNIX, SOCK_DGRAM, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "m0");
  for (int i = 0; i < 4000; ++i) {
    request.ifr_mtu = 1400 + i % 2;
    ASSERT_EQ(ioctl(control.get(), SIOCSIFMTU, &request), 0);
  }
  EXPECT_EQ(ReportsOf(reports), 1);
  Shell("ip link set m2 mtu 1400");
  EXPECT_EQ(ReportsOf(reports), 1) << "goes on as before";
}

}  // namespace
}  // namespace sluice
