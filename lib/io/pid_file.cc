#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "lib/base/log.h"
#include "lib/io/daemon.h"

namespace sluice {

namespace {

LogModule log_module("daemon");

// The pid file that this process holds. Closing any descriptor of a file drops the process's fcntl lock on it, so our
// own file must never be opened a second time.
dev_t own_device;
ino_t own_inode;

struct flock WholeFile(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::StatusOr<pid_t> ParsePid(int fd, const std::string& path) {
  char text[32];
  const ssize_t length = pread(fd, text, sizeof(text), 0);
  pid_t pid = 0;
  if (length <= 0 || std::from_chars(text, text + length, pid).ec != std::errc() || pid <= 0) {
    return FailedPrecondition("{}: locked, but holds no process id", path);
  }
  return pid;
}

// The holder's id, or 0 if no live process holds the file; a stale file is removed if `remove_stale`.
absl::StatusOr<pid_t> Holder(const std::string& path, bool remove_stale) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::StatusOr<pid_t>(0) : ErrnoStatus(errno, path);
  }
  if (status.st_dev == own_device && status.st_ino == own_inode) {
    return getpid();
  }
  const FileDescriptor file(open(path.c_str(), (remove_stale ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  if (file.get() < 0) {
    return errno == ENOENT ? absl::StatusOr<pid_t>(0) : ErrnoStatus(errno, fmt::format("{}: open", path));
  }
  struct flock lock = WholeFile(F_WRLCK);
  if (fcntl(file.get(), F_GETLK, &lock) != 0) {
    return ErrnoStatus(errno, fmt::format("{}: fcntl(F_GETLK)", path));
  }
  if (lock.l_type != F_UNLCK) {
    return ParsePid(file.get(), path);
  }
  if (remove_stale) {
    // Under the lock and only if the name still leads to the file that we locked: another starting instance may have
    // removed it and put its own there.
    lock = WholeFile(F_WRLCK);
    struct stat locked;
    if (fcntl(file.get(), F_SETLK, &lock) != 0) {
      return ParsePid(file.get(), path);
    }
    if (fstat(file.get(), &locked) == 0 && stat(path.c_str(), &status) == 0 && locked.st_dev == status.st_dev &&
        locked.st_ino == status.st_ino) {
      unlink(path.c_str());
    }
  }
  return 0;
}

absl::Status CheckNotRunning(const std::string& path) {
  const absl::StatusOr<pid_t> holder = Holder(path, /*remove_stale=*/true);
  if (!holder.ok()) {
    return holder.status();
  }
  if (*holder != 0) {
    return AlreadyExists("{}: already running as pid {}, aborting", path, *holder);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PidFile> PidFile::Create(const std::string& path, bool overwrite) {
  if (!overwrite) {
    SLUICE_RETURN_IF_ERROR(CheckNotRunning(path));
  }
  // Written and locked under a name of its own first: under its final name the file is never empty or unlocked.
  const std::string temporary = fmt::format("{}.tmp{}", path, getpid());
  FileDescriptor file(open(temporary.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    return ErrnoStatus(errno, fmt::format("pid file {}: create failed", temporary));
  }
  const auto fail = [&](std::string_view what) {
    const absl::Status status = ErrnoStatus(errno, fmt::format("pid file {}: {}", path, what));
    unlink(temporary.c_str());
    return status;
  };
  const std::string text = fmt::format("{}\n", getpid());
  struct flock lock = WholeFile(F_WRLCK);
  struct stat status;
  if (fcntl(file.get(), F_SETLK, &lock) != 0) return fail("lock failed");
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return fail("write failed");
  if (fstat(file.get(), &status) != 0) return fail("stat failed");
  if (overwrite) {
    if (rename(temporary.c_str(), path.c_str()) != 0) return fail("rename failed");
  } else {
    // link, unlike rename, refuses when a second instance that started at the same time came first.
    if (link(temporary.c_str(), path.c_str()) != 0) {
      const absl::Status failure = fail("link failed");
      const absl::Status running = CheckNotRunning(path);
      return running.ok() ? failure : running;
    }
    unlink(temporary.c_str());
  }
  own_device = status.st_dev;
  own_inode = status.st_ino;
  return PidFile(path, file.Release());
}

PidFile::~PidFile() { Remove(); }

PidFile::PidFile(PidFile&& other) noexcept : path_(std::exchange(other.path_, {})), fd_(std::exchange(other.fd_, -1)) {}

PidFile& PidFile::operator=(PidFile&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, {});
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void PidFile::Remove() {
  if (fd_ < 0) {
    return;
  }
  // An instance started with --overwrite-pidfile may have put its own file there.
  struct stat ours;
  struct stat named;
  if (fstat(fd_, &ours) == 0 && stat(path_.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
      ours.st_ino == named.st_ino && unlink(path_.c_str()) != 0) {
    SLUICE_LOG(log_module, kWarn, "pid file {}: cannot remove it", path_);
  }
  close(std::exchange(fd_, -1));
  own_device = 0;
  own_inode = 0;
}

absl::StatusOr<pid_t> ReadPidFile(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    return NotFound("cannot read pidfile \"{}\" ({})", path, std::strerror(errno));
  }
  absl::StatusOr<pid_t> holder = Holder(path, /*remove_stale=*/false);
  if (holder.ok() && *holder == 0) {
    return NotFound("cannot read pidfile \"{}\" (the process that wrote it is gone)", path);
  }
  return holder;
}

}  // namespace sluice
