// FrameParser: the flow key of a frame that is not in a packet buffer. Main thread.
#pragma once

#include <absl/status/statusor.h>

#include <string_view>

#include "lib/flow/flow_key.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

class FrameParser {
 public:
  static constexpr size_t kMaxFrame = 65535;

  // `frame`: from the Ethernet header on. Fails without memory, or if it is longer than that or shorter than an
  // Ethernet header.
  absl::StatusOr<FlowKey> Parse(std::string_view frame);

 private:
  SlabPool::Ptr pool_;
};

}  // namespace sluice
