// The words that all of OpenFlow shares: versions, ports, tables, groups, time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// The wire's version byte.
enum class OfVersion : uint8_t { k10 = 1, k11 = 2, k12 = 3, k13 = 4, k14 = 5, k15 = 6 };

// A set of versions: bit N is wire version N.
using OfVersions = uint32_t;
constexpr OfVersions VersionBit(OfVersion version) { return 1u << static_cast<unsigned>(version); }
constexpr OfVersions kAllOfVersions = 0x7e;
// "OpenFlow10", ... "OpenFlow15": the names of Bridge:protocols and -O.
std::string_view OfVersionName(OfVersion version);
std::optional<OfVersion> ParseOfVersion(std::string_view name);

// Port numbers are 16 bits wide in here; the reserved ones are mapped to their 32-bit form on the wire of OpenFlow 1.1
// and later (0xfff8 is 0xfffffff8).
using OfPort = uint16_t;
constexpr OfPort kOfpMax = 0xff00;  // real ports are below
constexpr OfPort kOfpUnset = 0xfff7;
constexpr OfPort kOfpInPort = 0xfff8;
constexpr OfPort kOfpTable = 0xfff9;
constexpr OfPort kOfpNormal = 0xfffa;
constexpr OfPort kOfpFlood = 0xfffb;
constexpr OfPort kOfpAll = 0xfffc;
constexpr OfPort kOfpController = 0xfffd;
constexpr OfPort kOfpLocal = 0xfffe;
constexpr OfPort kOfpNone = 0xffff;  // also OFPP_ANY

constexpr uint32_t PortToWire(OfPort port) { return port >= kOfpMax ? 0xffff0000u | port : port; }
// nullopt: between 0xff00 and 0xfffffeff, which no port of ours can have (OFPBAC_BAD_OUT_PORT and relatives).
constexpr std::optional<OfPort> PortFromWire(uint32_t port) {
  if (port < kOfpMax) return static_cast<OfPort>(port);
  if (port >= 0xffffff00u) return static_cast<OfPort>(port);
  return std::nullopt;
}

constexpr uint8_t kTableAll = 0xff;
constexpr uint8_t kMaxTable = 254;  // the last that has flows
constexpr uint32_t kGroupMax = 0xffffff00;
constexpr uint32_t kGroupAll = 0xfffffffc;
constexpr uint32_t kGroupAny = 0xffffffff;
constexpr uint32_t kMeterMax = 0xffff0000;
constexpr uint32_t kMeterSlowpath = 0xfffffffd;
constexpr uint32_t kMeterController = 0xfffffffe;
constexpr uint32_t kMeterAll = 0xffffffff;
constexpr uint32_t kNoBuffer = 0xffffffff;
constexpr uint16_t kNoMaxLen = 0xffff;  // of output to the controller: the whole packet

// Names of ports and tables for text, both ways. An empty function knows no names.
struct OfNames {
  std::function<std::string(OfPort)> port_name;  // "" if it has none
  std::function<std::optional<OfPort>(std::string_view)> port_number;
  std::function<std::string(uint8_t)> table_name;
  std::function<std::optional<uint8_t>(std::string_view)> table_number;
};

// "LOCAL", "IN_PORT", ... , a name (quoted if it is no plain word), or the number.
std::string FormatOfPort(OfPort port, const OfNames& names);
// Numbers, reserved names in any case, names that `names` knows, quoted or not. nullopt: no such port.
std::optional<OfPort> ParseOfPort(std::string_view text, const OfNames& names);
std::string FormatOfTable(uint8_t table, const OfNames& names);

}  // namespace sluice
