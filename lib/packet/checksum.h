// The Internet checksum (RFC 1071), its incremental update (RFC 1624), and CRC32c for SCTP (RFC 9260).
//
// Sums are 16-bit ones'-complement sums over bytes as they stand in memory (a sum of native-endian loads of network
// bytes): add, fold and store them without swapping. `Sum` is a partial, unfolded accumulator.
//
// Engines (scalar, AVX2, AVX-512) give bit-identical folded results; one is picked once from the processor's features.
#pragma once

#include <absl/types/span.h>

#include <bit>
#include <cstdint>
#include <string_view>

#include "lib/base/byte_order.h"
#include "lib/packet/dp_packet.h"

namespace sluice {

// An unfolded ones'-complement accumulator. What the functions below return leaves room for millions of additions (it
// is far below 2^64); how the parts were split and ordered makes no difference to the folded result.
using Sum = uint64_t;

// 16 bits, not complemented. Never maps a non-zero sum to zero.
constexpr uint16_t FoldSum(Sum sum) {
  uint32_t half = static_cast<uint32_t>(sum) + static_cast<uint32_t>(sum >> 32);
  half += half < static_cast<uint32_t>(sum);  // the carry of the line above
  // Both 16-bit halves of this are added in its upper one, together with the carry out of the lower.
  return static_cast<uint16_t>((half + std::rotl(half, 16)) >> 16);
}
// The checksum field for `sum`: folded and complemented, raw network bytes.
constexpr Be16 FinishChecksum(Sum sum) { return Be16::FromRaw(static_cast<uint16_t>(~FoldSum(sum))); }
// The sum of bytes that start at an odd offset of the whole, brought to even alignment.
constexpr Sum SwapSum(Sum sum) { return __builtin_bswap16(FoldSum(sum)); }

// The sum of `size` bytes; an odd last byte is padded with zero. No alignment required.
Sum SumBytes(const uint8_t* bytes, size_t size);
// Copies and sums in one pass. The ranges must not overlap.
Sum CopyAndSum(uint8_t* to, const uint8_t* from, size_t size);
// The sum of `bytes` bytes of a frame from `offset`, over all its buffers.
Sum SumPacket(const DpPacket& packet, uint32_t offset, uint32_t bytes);

// Pseudo-header sums. `length` is the transport header plus payload, in bytes.
Sum PseudoHeaderSum4(Be32 source, Be32 destination, uint8_t protocol, uint32_t length);
Sum PseudoHeaderSum6(const uint8_t source[16], const uint8_t destination[16], uint8_t protocol, uint32_t length);

// RFC 1624, equation 3: the checksum field after a 16- or 32-bit word, or an even-aligned range, changed.
Be16 UpdateChecksum16(Be16 checksum, Be16 old_word, Be16 new_word);
Be16 UpdateChecksum32(Be16 checksum, Be32 old_word, Be32 new_word);
Be16 UpdateChecksumBytes(Be16 checksum, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t size);

// CRC32c (Castagnoli) as SCTP stores it: write the result little-endian into the checksum field.
uint32_t Crc32c(const uint8_t* bytes, size_t size, uint32_t seed = 0);
uint32_t Crc32cPacket(const DpPacket& packet, uint32_t offset, uint32_t bytes, uint32_t seed = 0);

// Engines, for tests and benchmarks. SelectChecksumEngine returns false if this processor lacks it.
enum class ChecksumEngine : uint8_t { kScalar, kAvx2, kAvx512 };
bool SelectChecksumEngine(ChecksumEngine engine);
ChecksumEngine SelectedChecksumEngine();
std::string_view ChecksumEngineName(ChecksumEngine engine);

}  // namespace sluice
