// Integers in network byte order, as types.
//
// A Be16/Be32/Be64 holds the bytes exactly as they stand in a packet; only Get() and the explicit constructor convert,
// so mixing the two orders does not compile. All have alignment 1: header structs built of them can be laid over any
// byte of a packet. Comparison for equality works on the wire form and costs no swap.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>

namespace sluice {

template <typename Host>
class BigEndian {
 public:
  constexpr BigEndian() = default;
  constexpr explicit BigEndian(Host host) : bytes_(std::bit_cast<Bytes>(Swap(host))) {}

  // The value whose in-memory bytes are those of `raw` (what a load from the packet gives).
  static constexpr BigEndian FromRaw(Host raw) {
    BigEndian value;
    value.bytes_ = std::bit_cast<Bytes>(raw);
    return value;
  }

  constexpr Host Get() const { return Swap(Raw()); }
  constexpr Host Raw() const { return std::bit_cast<Host>(bytes_); }

  friend constexpr bool operator==(BigEndian a, BigEndian b) { return a.Raw() == b.Raw(); }
  friend constexpr BigEndian operator&(BigEndian a, BigEndian b) {
    return FromRaw(static_cast<Host>(a.Raw() & b.Raw()));
  }
  friend constexpr BigEndian operator|(BigEndian a, BigEndian b) {
    return FromRaw(static_cast<Host>(a.Raw() | b.Raw()));
  }
  friend constexpr BigEndian operator~(BigEndian a) { return FromRaw(static_cast<Host>(~a.Raw())); }

 private:
  struct Bytes {
    uint8_t b[sizeof(Host)];
  };

  static constexpr Host Swap(Host value) {
    if constexpr (std::endian::native == std::endian::big) {
      return value;
    } else if constexpr (sizeof(Host) == 2) {
      return __builtin_bswap16(value);
    } else if constexpr (sizeof(Host) == 4) {
      return __builtin_bswap32(value);
    } else {
      return __builtin_bswap64(value);
    }
  }

  Bytes bytes_{};
};

using Be16 = BigEndian<uint16_t>;
using Be32 = BigEndian<uint32_t>;
using Be64 = BigEndian<uint64_t>;

static_assert(sizeof(Be16) == 2 && alignof(Be16) == 1);
static_assert(sizeof(Be32) == 4 && alignof(Be32) == 1);
static_assert(sizeof(Be64) == 8 && alignof(Be64) == 1);

}  // namespace sluice
