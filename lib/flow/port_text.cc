#include "lib/flow/port_text.h"

#include "lib/base/status.h"

namespace sluice {

absl::StatusOr<uint32_t> ParsePort(TextCursor& cursor, const PortNames& ports) {
  if (cursor.AtNumber()) return cursor.Number(UINT32_MAX);
  size_t start = cursor.position();
  std::string_view expected = ports.to_number ? "a port's number or name" : "a port number";
  std::string_view name = cursor.Word();
  if (name.empty() || !ports.to_number) return cursor.ExpectedAt(start, expected);
  absl::StatusOr<uint32_t> number = ports.to_number(name);
  if (!number.ok()) return cursor.ExpectedAt(start, fmt::format("{} ({})", expected, Message(number.status())));
  return number;
}

std::string FormatPort(uint32_t number, const PortNames& ports) {
  if (!ports.to_name) return fmt::to_string(number);
  std::string name = ports.to_name(number);
  TextCursor cursor(name);
  bool misread = cursor.AtNumber() || cursor.Word() != name || name == "drop" || name == "pop_vlan";
  return name.empty() || misread ? fmt::to_string(number) : name;
}

}  // namespace sluice
