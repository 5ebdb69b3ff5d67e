#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "lib/base/status.h"
#include "lib/openflow/field.h"

namespace sluice {
namespace {

using Wide = unsigned __int128;

Wide Load(const uint8_t* bytes, size_t size) {
  Wide value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | bytes[i];
  return value;
}

template <typename Array>
void Store(Array& bytes, size_t size, Wide value) {
  for (size_t i = size; i-- > 0; value >>= 8) bytes[i] = static_cast<uint8_t>(value);
}

Wide Ones(size_t n_bits) { return n_bits >= 128 ? ~Wide{0} : (Wide{1} << n_bits) - 1; }

Wide ReadBits(const Subfield& subfield, const OfFlow& flow) {
  FieldValue whole = GetField(flow, *subfield.field);
  return Load(whole.bytes.data(), subfield.field->n_bytes) >> subfield.ofs & Ones(subfield.n_bits);
}

void WriteBits(const Subfield& subfield, Wide bits, OfFlow& flow) {
  size_t size = subfield.field->n_bytes;
  FieldValue whole = GetField(flow, *subfield.field);
  Wide mask = Ones(subfield.n_bits) << subfield.ofs;
  Wide value = (Load(whole.bytes.data(), size) & ~mask) | (bits << subfield.ofs & mask);
  Store(whole.bytes, size, value);
  SetField(flow, *subfield.field, whole);
}

std::optional<uint16_t> Number(std::string_view text) {
  uint16_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The header's name, as subfields are printed.
std::string_view HeaderName(const FieldInfo& field) {
  if (!field.nxm_name.empty()) return field.nxm_name;
  return field.oxm_name.empty() ? field.name : field.oxm_name;
}

}  // namespace

SubValue ReadSubfield(const Subfield& subfield, const OfFlow& flow) {
  SubValue value;
  Store(value, value.size(), ReadBits(subfield, flow));
  return value;
}

void WriteSubfield(const Subfield& subfield, const SubValue& value, OfFlow& flow) {
  WriteBits(subfield, Load(value.data(), value.size()), flow);
}

uint64_t ReadSubfieldU64(const Subfield& subfield, const OfFlow& flow) {
  return static_cast<uint64_t>(ReadBits(subfield, flow));
}

void WriteSubfieldU64(const Subfield& subfield, uint64_t number, OfFlow& flow) { WriteBits(subfield, number, flow); }

void SetSubfieldMask(const Subfield& subfield, OfMask& mask) { WriteBits(subfield, ~Wide{0}, mask); }

std::string FormatSubfield(const Subfield& subfield) {
  std::string_view name = HeaderName(*subfield.field);
  if (subfield.ofs == 0 && subfield.n_bits == subfield.field->n_bits) return fmt::format("{}[]", name);
  if (subfield.n_bits == 1) return fmt::format("{}[{}]", name, subfield.ofs);
  return fmt::format("{}[{}..{}]", name, subfield.ofs, subfield.ofs + subfield.n_bits - 1);
}

absl::StatusOr<Subfield> ParseSubfield(std::string_view text) {
  size_t bracket = text.find('[');
  std::string_view name = text.substr(0, bracket);
  const FieldInfo* field = FindField(name);
  if (field == nullptr && IsUnsupportedField(name)) {
    return InvalidArgument("{}: fields of tunnels and connection tracking are not supported yet", text);
  }
  if (field == nullptr) return InvalidArgument("{}: unknown field `{}'", text, name);
  if (bracket == std::string_view::npos) return Subfield{field, 0, field->n_bits};
  std::string_view range = text.substr(bracket + 1);
  if (!range.ends_with(']')) {
    return InvalidArgument("{}: syntax error expecting [] or [<bit>] or [<start>..<end>]", text);
  }
  range.remove_suffix(1);
  if (range.empty()) return Subfield{field, 0, field->n_bits};
  size_t dots = range.find("..");
  std::optional<uint16_t> first = Number(range.substr(0, dots));
  std::optional<uint16_t> last = dots == std::string_view::npos ? first : Number(range.substr(dots + 2));
  if (!first || !last) {
    return InvalidArgument("{}: syntax error expecting [] or [<bit>] or [<start>..<end>]", text);
  }
  if (*first > *last) return InvalidArgument("{}: starting bit {} is after ending bit {}", text, *first, *last);
  if (*last >= field->n_bits) {
    bool first_bad = *first >= field->n_bits;
    return InvalidArgument("{}: {} bit {} is not valid because field is only {} bits wide", text,
                           first_bad ? "starting" : "ending", first_bad ? *first : *last, field->n_bits);
  }
  return Subfield{field, *first, static_cast<uint16_t>(*last - *first + 1)};
}

}  // namespace sluice
