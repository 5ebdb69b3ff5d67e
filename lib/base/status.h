// Constructors for absl::Status with a formatted message.
//
// Errors are for set-up and control only, never per packet. A message names the object, what is wrong with it and
// what would be accepted; it is shown to the user as it is (the error column, the log, a command's output).
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace sluice {

// The message of `status` as text that std and fmt functions take.
inline std::string Message(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

absl::Status MakeStatus(absl::StatusCode code, std::string message);

template <typename... Args>
absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kNotFound, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status AlreadyExists(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kAlreadyExists, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status FailedPrecondition(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kResourceExhausted, fmt::format(format, std::forward<Args>(args)...));
}

// A failed system call: "<what>: <strerror(error_number)>", with the status code that fits the errno.
absl::Status ErrnoStatus(int error_number, std::string what);

}  // namespace sluice

// Returns the status from the enclosing function unless it is ok.
#define SLUICE_RETURN_IF_ERROR(expression)                                  \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)
