#include "lib/base/status.h"
#include "lib/openflow/match.h"
#include "lib/openflow/match/shorthand.h"

namespace sluice {
namespace {

const Shorthand* FindShorthand(std::string_view name) {
  for (const Shorthand& shorthand : kShorthands) {
    if (shorthand.name == name) return &shorthand;
  }
  return nullptr;
}

void MatchNumber(OfMatch& match, FieldId id, uint64_t value) {
  const FieldInfo& field = Field(id);
  MatchField(match, field, FieldFromU64(field, value), ExactMask(field));
}

}  // namespace

absl::Status ParseMatchItem(std::string_view key, std::string_view value, const OfNames& names, OfMatch& match,
                            bool& used) {
  used = true;
  if (const Shorthand* shorthand = FindShorthand(key)) {
    if (!value.empty()) return InvalidArgument("{}={}: {} takes no value", key, value, key);
    MatchNumber(match, FieldId::kEthType, shorthand->type);
    if (shorthand->protocol >= 0) MatchNumber(match, FieldId::kIpProto, static_cast<uint64_t>(shorthand->protocol));
    return absl::OkStatus();
  }
  if (key == "eth" && value.empty()) return absl::OkStatus();  // what packets are unless packet_type says otherwise
  const FieldInfo* field = FindField(key);
  // Header names ("NXM_OF_ETH_SRC") are for actions.
  if (field == nullptr || (key != field->name && key != field->extra_name)) {
    if (field == nullptr && IsUnsupportedField(key)) {
      return InvalidArgument("{}: matching on tunnels and connection tracking is not supported yet", key);
    }
    used = false;
    return absl::OkStatus();
  }
  if (value.empty() || value == "*") {
    MatchField(match, *field, FieldValue(), FieldValue());
    return absl::OkStatus();
  }
  // The lower bits of nw_tos are ECN's, and passed over in a match.
  if (field->id == FieldId::kIpDscp && value.find('/') == std::string_view::npos) {
    absl::StatusOr<ParsedValue> whole = ParseFieldValue(Field(FieldId::kIpTtl), value, names);
    if (!whole.ok()) return InvalidArgument("{}: nw_tos is a number from 0 to 255", value);
    MatchField(match, *field, whole->value, ExactMask(*field));
    return absl::OkStatus();
  }
  absl::StatusOr<ParsedValue> parsed = ParseFieldValue(*field, value, names);
  if (!parsed.ok()) return parsed.status();
  MatchField(match, *field, parsed->value, parsed->mask);
  return absl::OkStatus();
}

}  // namespace sluice
