// MultipartParts: multipart requests that come in several messages (OFPMPF_REQ_MORE: OpenFlow 1.5.1, 7.3.5), put
// together. Of each connection one at a time, as nobody needs more; bounded by what one message can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/openflow/error.h"
#include "lib/openflow/wire.h"

namespace sluice {

class MultipartParts {
 public:
  // Takes a whole message. Gives the message to handle: `message` itself if it is not part of several, all parts as
  // one with the last; nothing while more are to come.
  OfResult<std::optional<std::string>> Add(const std::string& message);

 private:
  std::string pending_;  // header and bodies until now; empty: none
};

}  // namespace sluice
