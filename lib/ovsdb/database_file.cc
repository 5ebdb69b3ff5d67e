#include "lib/ovsdb/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace sluice {
namespace {

std::string Directory(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string LockPath(const std::string& path) {
  size_t slash = path.rfind('/');
  size_t name = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.~lock~", path.substr(0, name), path.substr(name));
}

// 0, or the errno.
int WriteAll(int fd, std::string_view data, uint64_t offset) {
  while (!data.empty()) {
    ssize_t written = pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    data.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return 0;
}

// Without it a rename may be forgotten by a power failure.
absl::Status SyncDirectory(const std::string& path) {
  std::string directory = Directory(path);
  FileDescriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) {
    return ErrnoStatus(errno, fmt::format("cannot flush directory {} to disk", directory));
  }
  return absl::OkStatus();
}

// A new file is like the old one. What only root may do is no reason to fail.
void CopyOwnerAndMode(const std::string& from, int fd) {
  struct stat old;
  if (stat(from.c_str(), &old) != 0) return;
  if (fchown(fd, old.st_uid, old.st_gid) == 0 || old.st_uid == geteuid()) fchmod(fd, old.st_mode & 07777);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.Release();
  }
  return *this;
}

int FileDescriptor::Release() {
  int fd = fd_;
  fd_ = -1;
  return fd;
}

std::string ResolvePath(const std::string& path) {
  std::string resolved = path;
  char target[PATH_MAX];
  for (int links = 0; links < 40; ++links) {
    ssize_t length = readlink(resolved.c_str(), target, sizeof target);
    if (length <= 0 || length == sizeof target) break;
    std::string_view to(target, static_cast<size_t>(length));
    resolved = to.starts_with('/') ? std::string(to) : fmt::format("{}/{}", Directory(resolved), to);
  }
  return resolved;
}

absl::StatusOr<FileDescriptor> LockDatabaseFile(const std::string& path) {
  std::string lock_path = LockPath(path);
  FileDescriptor fd(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, fmt::format("{}: cannot open lock file", lock_path));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  // Of the open file rather than of the process: two databases in one process must not share it either.
  if (fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno != EAGAIN && errno != EACCES) return ErrnoStatus(errno, fmt::format("{}: cannot lock file", lock_path));
  lock.l_pid = 0;
  lock.l_type = F_WRLCK;
  bool known = fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
  return FailedPrecondition("{}: cannot lock file because it is already locked by {}", lock_path,
                            known ? fmt::format("pid {}", lock.l_pid) : "another process");
}

absl::StatusOr<std::string> ReadWhole(int fd, const std::string& path) {
  struct stat status;
  if (fstat(fd, &status) != 0) return ErrnoStatus(errno, fmt::format("{}: cannot stat", path));
  if (!S_ISREG(status.st_mode)) return InvalidArgument("{}: not a regular file, so no database", path);
  std::string data(static_cast<size_t>(status.st_size), '\0');
  size_t at = 0;
  while (at < data.size()) {
    ssize_t got = pread(fd, data.data() + at, data.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, fmt::format("{}: cannot read", path));
    if (got == 0) break;
    at += static_cast<size_t>(got);
  }
  data.resize(at);
  return data;
}

absl::Status AppendAt(int fd, const std::string& path, uint64_t offset, std::string_view data, bool durable) {
  int error = WriteAll(fd, data, offset);
  if (error == 0 && durable && fdatasync(fd) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  absl::Status status = ErrnoStatus(error, fmt::format("{}: cannot append to the database file", path));
  // What was written in part must not stay before the next record. If even this fails, opening cuts it off.
  if (ftruncate(fd, static_cast<off_t>(offset)) != 0) {
    return ErrnoStatus(error,
                       fmt::format("{}: cannot append to the database file, nor cut off what was written", path));
  }
  return status;
}

absl::Status ReplaceFile(const std::string& path, std::string_view data, FileDescriptor& fd) {
  std::string temporary = path + ".tmp";
  // What a crash left behind.
  if (unlink(temporary.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("{}: cannot remove", temporary));
  }
  FileDescriptor made(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!made.valid()) return ErrnoStatus(errno, fmt::format("{}: cannot create", temporary));
  CopyOwnerAndMode(path, made.get());
  int error = WriteAll(made.get(), data, 0);
  if (error == 0 && fsync(made.get()) != 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return ErrnoStatus(error, fmt::format("{}: cannot write", temporary));
  }
  // What is appended from here on belongs into the file that has the name, even if the directory cannot be flushed.
  fd = std::move(made);
  return SyncDirectory(path);
}

}  // namespace sluice
