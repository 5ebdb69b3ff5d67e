// The system calls under LogFile: a lock file, appending all or nothing, and replacing a file as a whole.
//
// lib/ovsdb's own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace sluice {

// Closes on destruction.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// The file that `path` leads to through symbolic links, be it there or not.
std::string ResolvePath(const std::string& path);

// Takes the lock of the file at `path` (resolved). It is held until the descriptor closes. The lock file stays.
absl::StatusOr<FileDescriptor> LockDatabaseFile(const std::string& path);

absl::StatusOr<std::string> ReadWhole(int fd, const std::string& path);

// Writes `data` at `offset`, where the file ends, and flushes it to disk if `durable`. After an error the file ends at
// `offset` again, if it could be cut.
absl::Status AppendAt(int fd, const std::string& path, uint64_t offset, std::string_view data, bool durable);

// Makes `data` the contents of `path`, at once and lasting: written beside it ("<path>.tmp"), flushed, and renamed over
// it. Mode and owner of a file that was there are kept. `fd` becomes the new file, open for reading and writing, as
// soon as it is in place; after an earlier error it is what it was.
absl::Status ReplaceFile(const std::string& path, std::string_view data, FileDescriptor& fd);

}  // namespace sluice
