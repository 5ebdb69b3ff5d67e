#include "lib/openflow/ofp.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 6> kVersionNames = {"OpenFlow10", "OpenFlow11", "OpenFlow12",
                                                           "OpenFlow13", "OpenFlow14", "OpenFlow15"};

constexpr std::pair<OfPort, std::string_view> kReservedPorts[] = {
    {kOfpUnset, "UNSET"}, {kOfpInPort, "IN_PORT"}, {kOfpTable, "TABLE"},           {kOfpNormal, "NORMAL"},
    {kOfpFlood, "FLOOD"}, {kOfpAll, "ALL"},        {kOfpController, "CONTROLLER"}, {kOfpLocal, "LOCAL"},
    {kOfpNone, "ANY"},    {kOfpNone, "NONE"},
};

char Upper(char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool EqualIgnoringCase(std::string_view text, std::string_view upper) {
  if (text.size() != upper.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (Upper(text[i]) != upper[i]) return false;
  }
  return true;
}

bool IsLetter(char c) { return 'A' <= Upper(c) && Upper(c) <= 'Z'; }

// A name as it is if it is a letter and then letters and digits, otherwise in quotes: the rule of ovs-ofctl. Unlike
// there, a name that would be read as a reserved port is quoted as well.
std::string QuotedIfNeeded(const std::string& name) {
  bool plain = !name.empty() && IsLetter(name[0]);
  for (char c : name) plain = plain && (IsLetter(c) || ('0' <= c && c <= '9'));
  for (const auto& [port, reserved] : kReservedPorts) plain = plain && !EqualIgnoringCase(name, reserved);
  if (plain) return name;
  std::string quoted = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  std::string name;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    name += text[i];
  }
  return name;
}

std::optional<uint32_t> ParseNumber(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string FormatOfPort(OfPort port, const OfNames& names) {
  for (const auto& [reserved, name] : kReservedPorts) {
    if (reserved == port) return std::string(name);
  }
  if (names.port_name) {
    std::string name = names.port_name(port);
    if (!name.empty()) return QuotedIfNeeded(name);
  }
  return fmt::format("{}", port);
}

std::optional<OfPort> ParseOfPort(std::string_view text, const OfNames& names) {
  if (std::optional<uint32_t> number = ParseNumber(text)) {
    if (*number >= kOfpMax && *number <= 0xffff) return static_cast<OfPort>(*number);
    return PortFromWire(*number);
  }
  for (const auto& [reserved, name] : kReservedPorts) {
    if (EqualIgnoringCase(text, name)) return reserved;
  }
  if (names.port_number) return names.port_number(Unquoted(text));
  return std::nullopt;
}

std::string FormatOfTable(uint8_t table, const OfNames& names) {
  if (names.table_name) {
    std::string name = names.table_name(table);
    if (!name.empty()) return QuotedIfNeeded(name);
  }
  return fmt::format("{}", table);
}

std::string_view OfVersionName(OfVersion version) { return kVersionNames[static_cast<size_t>(version) - 1]; }

std::optional<OfVersion> ParseOfVersion(std::string_view name) {
  for (size_t i = 0; i < kVersionNames.size(); ++i) {
    if (kVersionNames[i] == name) return static_cast<OfVersion>(i + 1);
  }
  return std::nullopt;
}

}  // namespace sluice
