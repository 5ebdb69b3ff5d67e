#include "lib/base/status.h"

#include <cerrno>
#include <cstring>

namespace sluice {

absl::Status MakeStatus(absl::StatusCode code, std::string message) { return absl::Status(code, message); }

absl::Status ErrnoStatus(int error_number, std::string what) {
  return MakeStatus(absl::ErrnoToStatusCode(error_number), fmt::format("{}: {}", what, std::strerror(error_number)));
}

}  // namespace sluice
