#include "lib/ovsdb/value.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace sluice {
namespace {

constexpr std::string_view kAtomTypeNames[] = {"integer", "real", "boolean", "string", "uuid"};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool DashBefore(size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

bool SortedAndUnique(const std::vector<Atom>& keys) {
  return std::adjacent_find(keys.begin(), keys.end(), [](const Atom& a, const Atom& b) { return !(a < b); }) ==
         keys.end();
}

}  // namespace

Uuid Uuid::Random() {
  Uuid uuid;
  // Sixteen bytes come whole or not at all, and only before the kernel's generator is seeded would they not come.
  if (getrandom(uuid.bytes.data(), uuid.bytes.size(), 0) != static_cast<ssize_t>(uuid.bytes.size())) std::abort();
  uuid.bytes[6] = static_cast<uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);
  uuid.bytes[8] = static_cast<uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
  return uuid;
}

absl::StatusOr<Uuid> Uuid::Parse(std::string_view text) {
  auto bad = [&] { return InvalidArgument("\"{}\" is not a valid UUID", text); };
  if (text.size() != 36) return bad();
  Uuid uuid;
  size_t at = 0;
  for (size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (DashBefore(i) && text[at++] != '-') return bad();
    int high = HexDigit(text[at++]);
    int low = HexDigit(text[at++]);
    if (high < 0 || low < 0) return bad();
    uuid.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return uuid;
}

std::string Uuid::ToString() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (DashBefore(i)) text += '-';
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 0xf];
  }
  return text;
}

std::string_view AtomTypeName(AtomType type) { return kAtomTypeNames[static_cast<size_t>(type)]; }

AtomType AtomTypeOrDefault(std::string_view name, bool* known) {
  const auto* found = std::find(std::begin(kAtomTypeNames), std::end(kAtomTypeNames), name);
  *known = found != std::end(kAtomTypeNames);
  return *known ? static_cast<AtomType>(found - std::begin(kAtomTypeNames)) : AtomType::kString;
}

Atom DefaultAtom(AtomType type) {
  switch (type) {
    case AtomType::kInteger:
      return int64_t{0};
    case AtomType::kReal:
      return 0.0;
    case AtomType::kBoolean:
      return false;
    case AtomType::kString:
      return std::string();
    case AtomType::kUuid:
      return Uuid{};
  }
  std::abort();
}

size_t Datum::Find(const Atom& key) const {
  auto found = std::lower_bound(keys.begin(), keys.end(), key);
  return found != keys.end() && *found == key ? static_cast<size_t>(found - keys.begin()) : npos;
}

bool Datum::Normalize(bool is_map) {
  if (SortedAndUnique(keys)) return false;
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  Datum sorted;
  sorted.keys.reserve(keys.size());
  if (is_map) sorted.values.reserve(values.size());
  for (size_t i : order) {
    if (!sorted.keys.empty() && sorted.keys.back() == keys[i]) continue;
    sorted.keys.push_back(std::move(keys[i]));
    if (is_map) sorted.values.push_back(std::move(values[i]));
  }
  bool had_duplicates = sorted.keys.size() != keys.size();
  *this = std::move(sorted);
  return had_duplicates;
}

std::string_view Datum::StringOr(std::string_view fallback) const {
  const auto* text = keys.empty() ? nullptr : std::get_if<std::string>(&keys[0]);
  return text != nullptr ? std::string_view(*text) : fallback;
}

int64_t Datum::IntegerOr(int64_t fallback) const {
  const auto* number = keys.empty() ? nullptr : std::get_if<int64_t>(&keys[0]);
  return number != nullptr ? *number : fallback;
}

bool Datum::BooleanOr(bool fallback) const {
  const auto* boolean = keys.empty() ? nullptr : std::get_if<bool>(&keys[0]);
  return boolean != nullptr ? *boolean : fallback;
}

const std::string* Datum::FindString(std::string_view key) const {
  // By hand rather than by Find(): no string is made for the look-up.
  auto found = std::lower_bound(keys.begin(), keys.end(), key, [](const Atom& atom, std::string_view text) {
    const auto* string = std::get_if<std::string>(&atom);
    return string != nullptr && *string < text;
  });
  if (found == keys.end()) return nullptr;
  const auto* string = std::get_if<std::string>(&*found);
  size_t index = static_cast<size_t>(found - keys.begin());
  if (string == nullptr || *string != key || index >= values.size()) return nullptr;
  return std::get_if<std::string>(&values[index]);
}

}  // namespace sluice
