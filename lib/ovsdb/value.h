// OVSDB values (RFC 7047 sections 3.2, 5.1): atoms, and the sets and maps of atoms that columns hold.
//
// Plain values in host byte order, ordered as the specification's users print them: integers and reals by value, false
// before true, strings by bytes, UUIDs by their text.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/status.h"

namespace sluice {

using Json = nlohmann::json;

struct Uuid {
  std::array<uint8_t, 16> bytes{};  // in the order in which the text shows them

  static Uuid Random();  // version 4
  // "550e8400-e29b-41d4-a716-446655440000", either case.
  static absl::StatusOr<Uuid> Parse(std::string_view text);
  std::string ToString() const;
  bool IsZero() const { return *this == Uuid{}; }

  auto operator<=>(const Uuid&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Uuid& uuid) {
    return H::combine(std::move(h), uuid.bytes);
  }
};

enum class AtomType : uint8_t { kInteger, kReal, kBoolean, kString, kUuid };  // the order of Atom's alternatives
std::string_view AtomTypeName(AtomType type);                                 // "integer", ...

using Atom = std::variant<int64_t, double, bool, std::string, Uuid>;
inline AtomType TypeOf(const Atom& atom) { return static_cast<AtomType>(atom.index()); }
AtomType AtomTypeOrDefault(std::string_view name, bool* known);
Atom DefaultAtom(AtomType type);  // 0, 0.0, false, "", the zero UUID

// What a column holds. A set has `values` empty; a map has a value per key. Keys are sorted and unique: whoever fills
// one by hand calls Normalize(). An optional scalar is a set of at most one.
struct Datum {
  std::vector<Atom> keys;
  std::vector<Atom> values;

  static Datum Scalar(Atom atom) { return {{std::move(atom)}, {}}; }

  bool empty() const { return keys.empty(); }
  size_t size() const { return keys.size(); }
  // The index of `key`, or npos.
  static constexpr size_t npos = static_cast<size_t>(-1);
  size_t Find(const Atom& key) const;
  bool Contains(const Atom& key) const { return Find(key) != npos; }
  // Sorts by key. Of equal keys the first stays; returns whether there were any.
  bool Normalize(bool is_map);

  // Shortcuts for what configuration reads most; wrong types and absence give the fallback.
  std::string_view StringOr(std::string_view fallback) const;  // of the first key
  int64_t IntegerOr(int64_t fallback) const;
  bool BooleanOr(bool fallback) const;
  // The value of the string key in a map of strings, or nullptr.
  const std::string* FindString(std::string_view key) const;

  bool operator==(const Datum&) const = default;
};

// The text of the utilities (ovs-vsctl(8) "Database Values"): what `--data=string` shows and what set, add, find and
// --columns read. Strings are quoted only where they must be: empty, "true"/"false", what looks like a UUID, what holds
// other than letters, digits, '_', '-' and '.', or does not begin with a letter or '_'.
std::string AtomToText(const Atom& atom);
std::string AtomToBareText(const Atom& atom);  // unquoted
// [a, b], {k=v, k2=v2}; a single value, and an empty set as [], map as {}.
std::string DatumToText(const Datum& datum, bool is_map, bool is_scalar);

}  // namespace sluice
