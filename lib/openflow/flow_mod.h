// Flow mods, flow statistics and flow-removed: plain data, their bytes and their text.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/openflow/actions.h"
#include "lib/openflow/match.h"

namespace sluice {

enum class FlowCommand : uint8_t { kAdd = 0, kModify = 1, kModifyStrict = 2, kDelete = 3, kDeleteStrict = 4 };

enum FlowFlags : uint16_t {
  kSendFlowRem = 1,
  kCheckOverlap = 2,
  kResetCounts = 4,
  kNoPacketCounts = 8,
  kNoByteCounts = 16,
  kEmergency = 1 << 8,    // OpenFlow 1.0 only; refused
  kHiddenFlow = 1 << 14,  // in here only
  kNoReadonly = 1 << 15,  // in here only
};

struct FlowMod {
  FlowCommand command = FlowCommand::kAdd;
  OfMatch match;
  uint16_t priority = 32768;
  uint64_t cookie = 0;  // match: cookie & cookie_mask
  uint64_t cookie_mask = 0;
  uint64_t new_cookie = 0;
  bool modify_cookie = false;
  uint8_t table = kTableAll;  // of an addition without a table: 0
  uint16_t idle_timeout = 0;
  uint16_t hard_timeout = 0;
  uint16_t importance = 0;
  uint32_t buffer_id = kNoBuffer;
  OfPort out_port = kOfpNone;
  uint32_t out_group = kGroupAny;
  uint16_t flags = 0;
  OfActions actions;
};

// Wire. The body behind the OpenFlow header; for the Nicira form (NXT_FLOW_MOD, 1.0) behind the vendor header.
// `nx_table_id`: NXT_FLOW_MOD_TABLE_ID is on: the upper byte of the command is the table.
struct FlowModForm {
  OfVersion version = OfVersion::k10;
  bool nxm = false;
  bool nx_table_id = false;
};
void EncodeFlowMod(const FlowMod& mod, const FlowModForm& form, WireWriter& out);
OfResult<FlowMod> DecodeFlowMod(Bytes body, const FlowModForm& form);

struct OfFlowStats {
  OfMatch match;
  uint16_t priority = 0;
  uint64_t cookie = 0;
  uint8_t table = 0;
  uint16_t idle_timeout = 0;
  uint16_t hard_timeout = 0;
  uint16_t importance = 0;
  uint16_t flags = 0;
  std::chrono::nanoseconds duration{0};
  // Seconds; -1: unknown (shown only where the peer sent them: NXM replies, or 1.0 with vendor statistics).
  int idle_age = -1;
  int hard_age = -1;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  OfActions actions;
};
struct FlowStatsRequest {
  bool aggregate = false;
  OfMatch match;
  uint64_t cookie = 0;
  uint64_t cookie_mask = 0;
  OfPort out_port = kOfpNone;
  uint32_t out_group = kGroupAny;
  uint8_t table = kTableAll;
};
struct FlowRemoved {
  enum class Reason : uint8_t { kIdle = 0, kHard = 1, kDelete = 2, kGroupDelete = 3, kMeterDelete = 4, kEviction = 5 };
  OfMatch match;
  uint16_t priority = 0;
  uint64_t cookie = 0;
  Reason reason = Reason::kIdle;
  uint8_t table = 0;
  std::chrono::nanoseconds duration{0};
  uint16_t idle_timeout = 0;
  uint16_t hard_timeout = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

// Text
// -----------------------------------------------------------------------------------------------------------------

struct FormatFlowOptions {
  bool stats = true;  // duration, counters, ages
  bool offload = false;
};
// " cookie=0x0, duration=1.2s, table=0, n_packets=0, n_bytes=0, priority=5,ip actions=drop": one line of dump-flows.
std::string FormatFlow(const OfFlowStats& flow, const OfNames& names, const FormatFlowOptions& options);
// What ovs-ofctl's add-flow, mod-flows, del-flows and flow files take. For kDelete actions may be missing. `command`
// nullopt: the text begins with "add ", "modify ", "modify_strict ", "delete " or "delete_strict " (bundle files), add
// if it does not. The error quotes the word.
absl::StatusOr<FlowMod> ParseFlowMod(std::string_view text, std::optional<FlowCommand> command, const OfNames& names);
absl::StatusOr<FlowStatsRequest> ParseFlowStatsRequest(std::string_view text, const OfNames& names);
// "ADD cookie:0x0 table:255 priority=... actions=...": a flow mod in monitor and snoop output.
std::string FormatFlowMod(const FlowMod& mod, OfVersion version, const OfNames& names);

}  // namespace sluice
