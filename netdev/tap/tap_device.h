// The kernel's tap devices (/dev/net/tun, Documentation/networking/tuntap.rst): opening queues, and the two calls that
// the fast path makes. Every frame has a virtio-net header of 10 bytes before it, both ways.
#pragma once

#include <absl/status/statusor.h>
#include <sys/uio.h>

#include <atomic>
#include <memory>
#include <string>

#include "netdev/file_descriptor.h"
#include "netdev/link_query.h"

namespace sluice {

// The system calls of the fast path: one frame each. Tests put their own kernel here. Neither blocks.
class TapCalls {
 public:
  virtual ~TapCalls() = default;
  // Bytes, the virtio-net header included, or a negative errno.
  virtual ssize_t Read(int fd, const iovec* parts, int count) = 0;
  virtual ssize_t Write(int fd, const iovec* parts, int count) = 0;

  static TapCalls& Kernel();
};

// One open queue of a tap. The descriptor's number stays the same for the object's life, also when the device dies and
// another takes its place, so queue threads use it without asking.
class TapQueue {
 public:
  // `file` is an attached queue.
  static absl::StatusOr<std::shared_ptr<TapQueue>> Create(FileDescriptor file);

  int fd() const { return file_.get(); }
  // Readable when the device has a frame to read. Quiet while there is no device.
  int wait_fd() const { return epoll_.get(); }

  // The receiving thread notes the generation before it reads, and reports it when the read says that the device is
  // gone.
  int generation() const { return watched_.load(std::memory_order_acquire); }
  void ReportGone(int generation);
  bool gone() const { return gone_.load(std::memory_order_relaxed) == generation(); }

  // Main thread: reads and writes go to `file` from now on.
  absl::Status Replace(FileDescriptor file);
  // Main thread: the device gives this queue no frames any more; reads and writes fail with EBADFD.
  void DetachFromDevice();

 private:
  TapQueue(FileDescriptor file, FileDescriptor epoll) : file_(std::move(file)), epoll_(std::move(epoll)) {}
  absl::Status Watch();

  const FileDescriptor file_;
  const FileDescriptor epoll_;
  // A second descriptor of the file, the one that epoll_ watches. Its number tells one device from the next.
  std::atomic<int> watched_{-1};
  FileDescriptor watched_owner_;
  std::atomic<int> gone_{-2};  // the generation that was reported gone
};

// What the kernel lets a tap do.
struct TapOffloads {
  bool segmentation = false;  // offered to the device's user: TCP, and UDP if `uso`
  bool uso = false;           // the kernel knows UDP segmentation, both ways
};

// The first queue of the tap `name` of the calling thread's namespace. Creates the device, or takes a persistent one
// (ip tuntap add) that exists; `multi_queue` must be what that was made with. The errors tell a name that is taken by
// another kind of device, one that another program or port uses, and a lack of privileges apart.
absl::StatusOr<FileDescriptor> ClaimTap(const std::string& name, bool multi_queue);
// A further queue of a tap that was claimed for several.
absl::StatusOr<FileDescriptor> AttachTapQueue(const std::string& name);

// Offers checksum and, if `segmentation`, segmentation offload to the device's user, as far as the kernel knows them.
TapOffloads OfferOffloads(int fd, bool segmentation);

// The device's name now, or nullopt-like empty string when it is gone.
std::string TapNameOf(int fd);
bool IsPersistentTap(int fd);

// What the kernel says of the device behind `fd`, whichever network namespace it is in. kNotFound when it is gone.
class TapInspector {
 public:
  // The calling thread's namespace counts as home.
  static absl::StatusOr<TapInspector> Open();

  struct Facts {
    LinkFacts link;
    bool away = false;  // the device is in another namespace than home
  };
  absl::StatusOr<Facts> Read(int fd) const;
  DriverInfo ReadDriver(const std::string& name) const { return home_.ReadDriver(name); }

 private:
  TapInspector(LinkQuery home, uint64_t home_id) : home_(std::move(home)), home_id_(home_id) {}

  LinkQuery home_;
  uint64_t home_id_;  // inode of the namespace
};

// Sets a device of the calling thread's namespace up.
absl::Status SetLinkUp(const std::string& name);

}  // namespace sluice
