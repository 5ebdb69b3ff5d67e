// One record of OVSDB's log format: "OVSDB JSON <length> <sha1>\n", then <length> bytes: a JSON text and its newline.
#pragma once

#include <string>
#include <string_view>

#include "lib/ovsdb/json.h"

namespace sluice {

std::string EncodeLogRecord(const Json& json);

struct LogRecord {
  Json json;
  size_t size = 0;  // bytes of the whole record
};
// The record that `data` begins with. Errors say what is wrong with it, without its place.
absl::StatusOr<LogRecord> DecodeLogRecord(std::string_view data);

}  // namespace sluice
