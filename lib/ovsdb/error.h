// Errors of the OVSDB protocol (RFC 7047 section 3.1 <error>) as an absl::Status.
//
// The status's message is one line for people, as ovsdb-client and ovs-vsctl print it: `syntax "...": tag: details`.
// The members of the JSON object travel with it. A status made elsewhere (InvalidArgument() ...) becomes a "syntax
// error".
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/ovsdb/value.h"

namespace sluice {

// `tag`: the "error" member, a string that clients compare ("constraint violation", "timed out", ...).
absl::Status OvsdbError(std::string_view tag, std::string details);
// The same about a JSON text, which becomes the "syntax" member.
absl::Status OvsdbErrorAbout(const Json& about, std::string_view tag, std::string details);
inline absl::Status OvsdbSyntaxError(const Json& about, std::string details) {
  return OvsdbErrorAbout(about, "syntax error", std::move(details));
}

// {"error": ..., "details": ..., "syntax": ...}
Json OvsdbErrorToJson(const absl::Status& status);
std::string OvsdbErrorTag(const absl::Status& status);

}  // namespace sluice
