// ConnectionCore: what all connections of a bridge share, as requests see it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/io/event_loop.h"
#include "ofproto/connections/connection.h"
#include "ofproto/connections/of_switch.h"
#include "ofproto/connections/tlv_table.h"

namespace sluice {

struct ConnectionCore {
  EventLoop& loop;
  OfSwitch& of_switch;
  std::vector<std::unique_ptr<OfConnection>> connections;
  std::optional<uint64_t> generation_id;  // of roles
  TlvTable tlv_table;
};

}  // namespace sluice
