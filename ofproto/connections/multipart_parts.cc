#include "ofproto/connections/multipart_parts.h"

#include <fmt/format.h>

#include "lib/openflow/message.h"

namespace sluice {
namespace {

constexpr size_t kMultipartHeader = 16;  // from OpenFlow 1.1 on
constexpr uint8_t kTypeRequest = 18;
constexpr size_t kFlags = 11;  // the lower byte
constexpr size_t kXid = 4;
constexpr size_t kMaxLength = 65535;

bool IsMultipart(const std::string& message) {
  const OfHeader header = ReadHeader(AsBytes(message));
  return header.version >= static_cast<uint8_t>(OfVersion::k11) && header.type == kTypeRequest &&
         message.size() >= kMultipartHeader;
}

// Of the same kind, version and transaction.
bool ContinuesOf(const std::string& pending, const std::string& message) {
  return pending.compare(0, 2, message, 0, 2) == 0 && pending.compare(kXid, 6, message, kXid, 6) == 0;
}

}  // namespace

OfResult<std::optional<std::string>> MultipartParts::Add(const std::string& message) {
  if (!IsMultipart(message)) return std::optional(message);
  const bool more = (message[kFlags] & 1) != 0;
  if (pending_.empty() && !more) return std::optional(message);
  if (!pending_.empty() && !ContinuesOf(pending_, message)) pending_.clear();
  if (pending_.empty()) {
    pending_ = message;
  } else {
    pending_.append(message, kMultipartHeader);
  }
  if (pending_.size() > kMaxLength) {
    pending_.clear();
    return OfFailure{OfError::kBrcMultipartBufferOverflow,
                     fmt::format("a multipart request is longer than {} bytes", kMaxLength)};
  }
  if (more) return std::optional<std::string>();
  std::string whole = std::move(pending_);
  pending_.clear();
  whole[kFlags] = static_cast<char>(whole[kFlags] & ~1);
  whole[2] = static_cast<char>(whole.size() >> 8);
  whole[3] = static_cast<char>(whole.size());
  return std::optional(std::move(whole));
}

}  // namespace sluice
