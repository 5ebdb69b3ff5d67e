#include "lib/ovsdb/log_record.h"

#include <absl/strings/numbers.h>
#include <openssl/evp.h>

#include <array>
#include <cstdlib>

namespace sluice {
namespace {

constexpr std::string_view kMagic = "OVSDB JSON ";
constexpr size_t kMaxHeader = 128;

std::string Sha1Hex(std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  // Fails only for want of memory or of the algorithm itself, and without it no file can be read or written.
  if (EVP_Digest(data.data(), data.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) std::abort();
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace

std::string EncodeLogRecord(const Json& json) {
  std::string text = DumpJson(json) + "\n";
  std::string record = fmt::format("{}{} {}\n", kMagic, text.size(), Sha1Hex(text));
  return record += text;
}

absl::StatusOr<LogRecord> DecodeLogRecord(std::string_view data) {
  size_t newline = data.substr(0, kMaxHeader).find('\n');
  if (newline == std::string_view::npos || data.substr(0, kMagic.size()) != kMagic) {
    return InvalidArgument("no \"{}<length> <sha1>\" line", kMagic);
  }
  std::string_view header = data.substr(kMagic.size(), newline - kMagic.size());
  size_t space = header.find(' ');
  uint64_t length = 0;
  if (space == std::string_view::npos || !absl::SimpleAtoi(absl::string_view(header.data(), space), &length)) {
    return InvalidArgument("its length is not a number");
  }
  std::string_view text = data.substr(newline + 1);
  if (text.size() < length) return InvalidArgument("it ends after {} of {} bytes", text.size(), length);
  text = text.substr(0, length);
  std::string sha1 = Sha1Hex(text);
  if (header.substr(space + 1) != sha1) {
    return InvalidArgument("its SHA-1 is {}, not {} as it says", sha1, header.substr(space + 1));
  }
  absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return json.status();
  if (!json->is_object()) return InvalidArgument("it is not a JSON object");
  return LogRecord{*std::move(json), newline + 1 + static_cast<size_t>(length)};
}

}  // namespace sluice
