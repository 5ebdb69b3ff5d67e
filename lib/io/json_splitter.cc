#include "lib/io/json_splitter.h"

#include <utility>

namespace sluice {

absl::Status JsonSplitter::Feed(std::string_view bytes, std::vector<std::string>* texts) {
  size_t start = 0;  // where the bytes begin that are not in partial_ yet
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (!mid_text() && c != '{' && c != '[') {
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        start = i + 1;
        continue;
      }
      return InvalidArgument("byte 0x{:02x} where a JSON object should begin", static_cast<unsigned char>(c));
    }
    if (partial_.size() + (i + 1 - start) > max_bytes_) {
      return ResourceExhausted("JSON text longer than {} bytes", max_bytes_);
    }
    SLUICE_RETURN_IF_ERROR(Step(c));
    if (!mid_text()) {
      partial_.append(bytes, start, i + 1 - start);
      texts->push_back(std::exchange(partial_, {}));
      start = i + 1;
    }
  }
  partial_.append(bytes, start);
  return absl::OkStatus();
}

absl::Status JsonSplitter::Step(char c) {
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
    return absl::OkStatus();
  }
  switch (c) {
    case '"':
      in_string_ = true;
      break;
    case '{':
    case '[':
      if (closers_.size() == kMaxDepth) {
        return InvalidArgument("JSON nested deeper than {} levels", kMaxDepth);
      }
      closers_.push_back(c == '{' ? '}' : ']');
      break;
    case '}':
    case ']':
      if (c != closers_.back()) {
        return InvalidArgument("'{}' in JSON where '{}' should come", c, closers_.back());
      }
      closers_.pop_back();
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

}  // namespace sluice
