#include "lib/openflow/messages/text/text.h"

namespace sluice::messages {
namespace {

std::string VersionBitmap(OfVersions versions) {
  std::string out;
  for (unsigned version = 0; version < 32; ++version) {
    if ((versions >> version & 1) == 0) continue;
    out += fmt::format("{}{:#04x}", out.empty() ? "" : ", ", version);
  }
  return out;
}

void FormatEcho(std::string_view data, const Text& text, std::string& out) {
  out += fmt::format(" {} bytes of payload\n", data.size());
  if (text.verbosity > 1) out += HexDump(AsBytes(data));
}

std::string Printable(std::string_view data) {
  std::string out;
  for (char c : data) {
    auto byte = static_cast<uint8_t>(c);
    bool plain = byte >= 0x20 && byte < 0x7f && c != '\\' && c != '"';
    out += plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return out;
}

}  // namespace

void FormatHello(const OfHello& message, const Text& text, std::string& out) {
  OfVersions versions = message.versions;
  // Without a bitmap: the header's version and all below.
  if (versions == 0) versions = (2u << (static_cast<unsigned>(text.form.version) & 31)) - 2;
  out += "\n version bitmap: " + VersionBitmap(versions) + "\n";
}

void FormatError(const OfErrorMessage& message, const Text& text, std::string& out) {
  std::optional<OfError> error = FindError(message.code, text.form.version);
  if (!error) return;  // the caller says so
  out += " " + ErrorName(*error) + "\n";
  if (*error == OfError::kHfcIncompatible || *error == OfError::kHfcEperm) {
    out += Printable(message.data) + "\n";
    return;
  }
  Text inner = text;
  inner.verbosity = 1;
  ++inner.depth;
  out += FormatNested(AsBytes(message.data), inner);
}

void FormatEchoRequest(const OfEchoRequest& message, const Text& text, std::string& out) {
  FormatEcho(message.data, text, out);
}
void FormatEchoReply(const OfEchoReply& message, const Text& text, std::string& out) {
  FormatEcho(message.data, text, out);
}

}  // namespace sluice::messages
