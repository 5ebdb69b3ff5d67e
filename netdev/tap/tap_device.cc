#include "netdev/tap/tap_device.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "lib/base/status.h"
#include "netdev/vnet_header.h"

namespace sluice {
namespace {

// Linux 6.2; newer than the headers of the oldest distribution that we build on.
constexpr unsigned kTunOffloadUso4 = 0x20;
constexpr unsigned kTunOffloadUso6 = 0x40;

class KernelTapCalls final : public TapCalls {
 public:
  ssize_t Read(int fd, const iovec* parts, int count) override { return Result(readv(fd, parts, count)); }
  ssize_t Write(int fd, const iovec* parts, int count) override { return Result(writev(fd, parts, count)); }

 private:
  static ssize_t Result(ssize_t done) { return done < 0 ? -errno : done; }
};

absl::Status AttachError(int error, const std::string& name, bool multi_queue) {
  switch (error) {
    case EBUSY:
    case E2BIG:
      return FailedPrecondition("tap {}: the device is in use by another program, or has no queue left", name);
    case EINVAL:
      return FailedPrecondition("tap {}: a device of this name exists that is not a {} tap", name,
                                multi_queue ? "multi-queue" : "single-queue");
    case EPERM:
      return ErrnoStatus(error, fmt::format("tap {}: creating a tap needs CAP_NET_ADMIN", name));
    default:
      return ErrnoStatus(error, fmt::format("tap {}: attaching to the device", name));
  }
}

// 0, or the errno of the attempt. `flags` come on top of those that every queue has.
int SetInterface(const FileDescriptor& file, const std::string& name, int flags) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min<size_t>(name.size(), IFNAMSIZ - 1));
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | flags);
  return ioctl(file.get(), TUNSETIFF, &request) == 0 ? 0 : errno;
}

absl::StatusOr<FileDescriptor> OpenTunDriver(const std::string& name) {
  FileDescriptor file(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!file) return ErrnoStatus(errno, fmt::format("tap {}: opening /dev/net/tun", name));
  return file;
}

absl::Status SetHeaderSize(const FileDescriptor& file, const std::string& name) {
  int size = sizeof(VnetHeader);
  if (ioctl(file.get(), TUNSETVNETHDRSZ, &size) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, fmt::format("tap {}: setting the size of the virtio-net header", name));
}

}  // namespace

TapCalls& TapCalls::Kernel() {
  static KernelTapCalls calls;
  return calls;
}

absl::StatusOr<std::shared_ptr<TapQueue>> TapQueue::Create(FileDescriptor file) {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return ErrnoStatus(errno, "epoll for a tap queue");
  std::shared_ptr<TapQueue> queue(new TapQueue(std::move(file), std::move(epoll)));
  SLUICE_RETURN_IF_ERROR(queue->Watch());
  return queue;
}

absl::Status TapQueue::Watch() {
  FileDescriptor next(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  epoll_event event{.events = EPOLLIN};
  if (!next || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, next.get(), &event) != 0) {
    return ErrnoStatus(errno, "watching a tap queue");
  }
  watched_.store(next.get(), std::memory_order_release);
  watched_owner_ = std::move(next);
  return absl::OkStatus();
}

// A dead device's file is always "readable" (EPOLLERR), which would keep a sleeping thread awake for ever.
void TapQueue::ReportGone(int generation) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, generation, nullptr);
  gone_.store(generation, std::memory_order_relaxed);
}

absl::Status TapQueue::Replace(FileDescriptor file) {
  if (dup3(file.get(), file_.get(), O_CLOEXEC) < 0) return ErrnoStatus(errno, "replacing a tap queue");
  return Watch();
}

void TapQueue::DetachFromDevice() {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched_owner_.get(), nullptr);
  ifreq request{};
  request.ifr_flags = IFF_DETACH_QUEUE;
  ioctl(file_.get(), TUNSETQUEUE, &request);
}

absl::StatusOr<FileDescriptor> ClaimTap(const std::string& name, bool multi_queue) {
  auto file = OpenTunDriver(name);
  if (!file.ok()) return file.status();
  int flags = multi_queue ? IFF_MULTI_QUEUE : 0;
  int error = SetInterface(*file, name, flags | IFF_TUN_EXCL);
  if (error == EBUSY) {
    // The name is taken. Only a persistent tap can exist without somebody who uses it.
    error = SetInterface(*file, name, flags);
    if (error == 0 && !IsPersistentTap(file->get())) error = EBUSY;
  }
  if (error != 0) return AttachError(error, name, multi_queue);
  SLUICE_RETURN_IF_ERROR(SetHeaderSize(*file, name));
  return file;
}

absl::StatusOr<FileDescriptor> AttachTapQueue(const std::string& name) {
  auto file = OpenTunDriver(name);
  if (!file.ok()) return file.status();
  if (int error = SetInterface(*file, name, IFF_MULTI_QUEUE); error != 0) return AttachError(error, name, true);
  SLUICE_RETURN_IF_ERROR(SetHeaderSize(*file, name));
  return file;
}

TapOffloads OfferOffloads(int fd, bool segmentation) {
  constexpr unsigned kTcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
  constexpr unsigned kUdp = kTunOffloadUso4 | kTunOffloadUso6;
  auto offer = [fd](unsigned flags) { return ioctl(fd, TUNSETOFFLOAD, static_cast<unsigned long>(flags)) == 0; };
  TapOffloads offloads;
  // Asked first in any case: whether USO is known also says what may be written.
  offloads.uso = offer(kTcp | kUdp);
  if (segmentation) {
    offloads.segmentation = offloads.uso || offer(kTcp);
    if (offloads.segmentation) return offloads;
  }
  if (!offer(TUN_F_CSUM)) offer(0);
  return offloads;
}

std::string TapNameOf(int fd) {
  ifreq request{};
  if (ioctl(fd, TUNGETIFF, &request) != 0) return {};
  return std::string(request.ifr_name, strnlen(request.ifr_name, IFNAMSIZ));
}

bool IsPersistentTap(int fd) {
  ifreq request{};
  return ioctl(fd, TUNGETIFF, &request) == 0 && (request.ifr_flags & IFF_PERSIST) != 0;
}

absl::StatusOr<TapInspector> TapInspector::Open() {
  auto home = LinkQuery::Open();
  if (!home.ok()) return home.status();
  struct stat facts {};
  if (stat("/proc/thread-self/ns/net", &facts) != 0) return ErrnoStatus(errno, "/proc/thread-self/ns/net");
  return TapInspector(*std::move(home), facts.st_ino);
}

absl::StatusOr<TapInspector::Facts> TapInspector::Read(int fd) const {
  std::string name = TapNameOf(fd);
  if (name.empty()) return NotFound("the device is gone");
  FileDescriptor space(ioctl(fd, TUNGETDEVNETNS));
  struct stat facts {};
  bool away = space && fstat(space.get(), &facts) == 0 && facts.st_ino != home_id_;
  absl::StatusOr<LinkFacts> link = LinkFacts{};
  if (!away) {
    link = home_.Read(name);
  } else {
    // A thread of its own goes there, asks and ends: this one never leaves its namespace, and no socket stays behind
    // that would keep a deleted namespace, and the device in it, alive.
    std::thread visitor([&] {
      if (setns(space.get(), CLONE_NEWNET) != 0) {
        link = ErrnoStatus(errno, fmt::format("{}: entering the device's network namespace", name));
        return;
      }
      auto query = LinkQuery::Open();
      link = query.ok() ? query->Read(name) : query.status();
    });
    visitor.join();
  }
  if (!link.ok()) return link.status();
  return Facts{*link, away};
}

absl::Status SetLinkUp(const std::string& name) {
  FileDescriptor control(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min<size_t>(name.size(), IFNAMSIZ - 1));
  if (ioctl(control.get(), SIOCGIFFLAGS, &request) == 0) {
    request.ifr_flags |= IFF_UP;
    if (ioctl(control.get(), SIOCSIFFLAGS, &request) == 0) return absl::OkStatus();
  }
  return ErrnoStatus(errno, fmt::format("{}: setting the device up", name));
}

}  // namespace sluice
