// Cuts a byte stream into JSON texts that follow each other without separator, as JSON-RPC peers send them
// (RFC 7047 section 4).
//
// It only matches brackets outside strings; whether a text is valid JSON is for the parser to say. Memory is bounded by
// `max_bytes` and nesting by kMaxDepth, whatever arrives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace sluice {

class JsonSplitter {
 public:
  static constexpr size_t kMaxDepth = 256;

  explicit JsonSplitter(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Takes the next bytes and appends the texts that they complete to `texts`. After an error the stream has no
  // structure any more; feed nothing further. Texts that were complete before the error are appended.
  absl::Status Feed(std::string_view bytes, std::vector<std::string>* texts);

  // True while part of a text has arrived.
  bool mid_text() const { return !closers_.empty(); }

 private:
  absl::Status Step(char c);

  const size_t max_bytes_;
  std::string partial_;
  std::string closers_;  // the brackets that are due, innermost last
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace sluice
