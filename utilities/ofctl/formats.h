// Flow formats: in which forms flows can be said to a switch: OpenFlow 1.0 with or without its table extension, Nicira's
// extended match, and what each later version has (ovs-ofctl(8), --flow-format).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/openflow/flow_mod.h"

namespace sluice::ofctl {

// A set of formats; those that are preferred when a flow can be said in several come first.
enum FlowFormats : uint32_t {
  kOf10 = 1,
  kOf10Tid = 2,
  kNxm = 4,
  kNxmTid = 8,
  kOf11 = 16,
  kOxm12 = 32,
  kOxm13 = 64,
  kOxm14 = 128,
  kOxm15 = 256,
  kFlowFormatsEnd = 512,
};
constexpr uint32_t kOf10Any = kOf10 | kOf10Tid;
constexpr uint32_t kNxmAny = kNxm | kNxmTid;
constexpr uint32_t kVersion10 = kOf10Any | kNxmAny;
constexpr uint32_t kOxmAny = kOxm12 | kOxm13 | kOxm14 | kOxm15;
constexpr uint32_t kAnyFormat = kFlowFormatsEnd - 1;
constexpr uint32_t kWithTable = kOf10Tid | kNxmTid | kOf11 | kOxmAny;

// "OpenFlow10,NXM", "any", "NXM,OXM,OpenFlow11".
std::string FormatNames(uint32_t formats);
// Comma-separated names, as -F takes them.
absl::StatusOr<uint32_t> ParseFormats(std::string_view text);

// The version that a format belongs to, and all formats of some versions.
OfVersion VersionOf(uint32_t format);
uint32_t FormatsOf(OfVersions versions);
// "OpenFlow10, OpenFlow13".
std::string VersionNames(OfVersions versions);

// In which formats the flow can be said, its match, flags and actions.
uint32_t UsableFormats(const FlowMod& mod);
uint32_t UsableFormats(const FlowStatsRequest& request);

}  // namespace sluice::ofctl
