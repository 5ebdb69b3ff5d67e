#include "lib/ovsdb/error.h"

#include <absl/strings/cord.h>

#include <optional>

#include "lib/ovsdb/json.h"

namespace sluice {
namespace {

constexpr char kTag[] = "ovsdb/error";
constexpr char kDetails[] = "ovsdb/details";
constexpr char kSyntax[] = "ovsdb/syntax";

// What an error quotes of a request is bounded, since a request may be many megabytes.
constexpr size_t kMaxQuoted = 4096;

absl::Cord ToCord(std::string_view text) { return absl::Cord(absl::string_view(text.data(), text.size())); }

std::optional<std::string> Payload(const absl::Status& status, const char* url) {
  auto payload = status.GetPayload(url);
  if (!payload) return std::nullopt;
  return std::string(*payload);
}

absl::Status Make(std::string message, std::string_view tag, const std::string& details) {
  absl::Status status = MakeStatus(absl::StatusCode::kInvalidArgument, std::move(message));
  status.SetPayload(kTag, ToCord(tag));
  status.SetPayload(kDetails, ToCord(details));
  return status;
}

// Not in the middle of a character, so that the error itself is valid UTF-8.
std::string Quoted(const Json& about) {
  std::string text = DumpJson(about);
  if (text.size() <= kMaxQuoted) return text;
  size_t end = kMaxQuoted;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace

absl::Status OvsdbError(std::string_view tag, std::string details) {
  return Make(fmt::format("{}: {}", tag, details), tag, details);
}

absl::Status OvsdbErrorAbout(const Json& about, std::string_view tag, std::string details) {
  std::string syntax = Quoted(about);
  absl::Status status = Make(fmt::format("syntax \"{}\": {}: {}", syntax, tag, details), tag, details);
  status.SetPayload(kSyntax, ToCord(syntax));
  return status;
}

Json OvsdbErrorToJson(const absl::Status& status) {
  Json json = Json::object();
  json["error"] = OvsdbErrorTag(status);
  json["details"] = Payload(status, kDetails).value_or(Message(status));
  if (auto syntax = Payload(status, kSyntax)) json["syntax"] = *syntax;
  return json;
}

std::string OvsdbErrorTag(const absl::Status& status) { return Payload(status, kTag).value_or("syntax error"); }

}  // namespace sluice
