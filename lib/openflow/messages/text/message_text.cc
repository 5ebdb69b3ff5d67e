#include "lib/openflow/messages/text/text.h"

namespace sluice {
namespace messages {
namespace {

constexpr int kMaxDepth = 4;  // messages inside messages

std::string VersionText(uint8_t version) {
  if (version == static_cast<uint8_t>(OfVersion::k10)) return "";
  if (version <= 6) return fmt::format(" (OF1.{})", version - 1);
  return fmt::format(" (OF {:#04x})", version);
}

std::string HeaderText(const Row& row, const OfHeader& header) {
  return fmt::format("{}{} (xid={:#x}):", row.name, VersionText(header.version), header.xid);
}

std::string ErrorText(OfError error) { return fmt::format("***decode error: {}***\n", ErrorName(error)); }

bool IsUnknownError(const OfMessage& message) {
  const auto* error = std::get_if<OfErrorMessage>(&message.body);
  return error != nullptr && !FindError(error->code, message.version);
}

std::string FormatWhole(Bytes bytes, const Text& text) {
  OfResult<Found> found = FindRow(bytes);
  if (!found.ok()) return ErrorText(found.failure().error) + HexDump(bytes);
  std::string out = HeaderText(*found->row, ReadHeader(bytes));
  if (found->more) out += " flags=[more]";
  // Whether the sender turned this on is not known; without it the table reads as 0, which is not shown.
  OfResult<OfMessage> message = DecodeMessage(bytes, {.nx_table_id = true});
  if (message.ok() && IsUnknownError(*message)) message = OfFailure{OfError::kBrcBadLen, "error that is not known"};
  if (!message.ok()) return out + " " + ErrorText(message.failure().error) + HexDump(bytes);
  Text inner = text;
  inner.form = {message->version, found->row->experimenter != 0, false};
  found->row->codec.format(message->body, inner, out);
  if (out.back() != '\n') out += '\n';
  return out;
}

}  // namespace

std::string FormatNested(Bytes bytes, const Text& text) {
  if (text.depth > kMaxDepth) return "(message inside too many messages)\n";
  if (bytes.empty()) return "OpenFlow message is empty\n";
  if (bytes.size() < kOfHeaderSize) {
    return fmt::format("OpenFlow packet too short (only {} bytes):\n", bytes.size()) + HexDump(bytes);
  }
  OfHeader header = ReadHeader(bytes);
  if (header.length > bytes.size()) {
    return fmt::format("(***truncated to {} bytes from {}***)\n", bytes.size(), header.length) + HexDump(bytes);
  }
  if (header.length < bytes.size()) {
    return fmt::format("(***only uses {} bytes out of {}***)\n", header.length, bytes.size()) + HexDump(bytes);
  }
  return FormatWhole(bytes, text);
}

std::string HexDump(Bytes bytes) {
  std::string out;
  constexpr size_t kRow = 16;
  for (size_t start = 0; start < bytes.size(); start += kRow) {
    Bytes row = bytes.subspan(start, kRow);
    out += fmt::format("{:08x} ", start);
    for (size_t i = 0; i < kRow; ++i) {
      out += i == 8 && row.size() >= 8 ? '-' : ' ';
      out += i < row.size() ? fmt::format("{:02x}", row[i]) : "  ";
    }
    out += " |";
    for (size_t i = 0; i < kRow; ++i) {
      bool printable = i < row.size() && row[i] >= 0x20 && row[i] < 0x7f;
      out += i >= row.size() ? ' ' : printable ? static_cast<char>(row[i]) : '.';
    }
    out += "|\n";
  }
  return out;
}

std::string BitNames(uint32_t bits, absl::Span<const BitName> names, std::string_view separator) {
  if (bits == 0) return "0";
  std::string out;
  for (const BitName& name : names) {
    if ((bits & name.bit) == 0) continue;
    bits &= ~name.bit;
    if (!out.empty()) out += separator;
    out += name.name;
  }
  if (bits != 0) {
    if (!out.empty()) out += separator;
    out += fmt::format("{:#x}", bits);
  }
  return out;
}

std::string DurationText(std::chrono::nanoseconds duration) {
  auto count = static_cast<uint64_t>(duration.count());
  std::string out = std::to_string(count / 1'000'000'000);
  uint64_t fraction = count % 1'000'000'000;
  if (fraction == 0) return out + "s";
  if (fraction % 1'000'000 == 0) return fmt::format("{}.{:03}s", out, fraction / 1'000'000);
  std::string digits = fmt::format("{:09}", fraction);
  digits.erase(digits.find_last_not_of('0') + 1);
  return fmt::format("{}.{}s", out, digits);
}

}  // namespace messages

std::string FormatMessage(Bytes bytes, const OfNames& names, int verbosity) {
  return messages::FormatNested(bytes, {names, verbosity});
}

std::string MessageName(Bytes bytes) {
  OfResult<messages::Found> found = messages::FindRow(bytes);
  return found.ok() ? std::string(found->row->name) : ErrorName(found.failure().error);
}

}  // namespace sluice
