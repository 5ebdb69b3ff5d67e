#include "lib/packet/checksum.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "lib/packet/checksum_engine.h"

namespace sluice {
namespace {

using checksum_internal::Engine;
using checksum_internal::kMaxBlock;

struct EngineInfo {
  std::string_view name;
  const Engine* engine;
};
constexpr EngineInfo kEngines[] = {
    {"scalar", &checksum_internal::kScalarEngine},
    {"avx2", &checksum_internal::kAvx2Engine},
    {"avx512", &checksum_internal::kAvx512Engine},
};

bool Supported(ChecksumEngine engine) {
  switch (engine) {
    case ChecksumEngine::kScalar:
      return true;
    case ChecksumEngine::kAvx2:
      return __builtin_cpu_supports("avx2");
    case ChecksumEngine::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
  }
  return false;
}

// Usable before the picker below has run: the scalar engine needs no set-up.
constinit std::atomic<const Engine*> selected{&checksum_internal::kScalarEngine};

struct Picker {
  Picker() {
    __builtin_cpu_init();
    for (ChecksumEngine engine : {ChecksumEngine::kAvx512, ChecksumEngine::kAvx2}) {
      if (SelectChecksumEngine(engine)) return;
    }
  }
};
const Picker picker;

const Engine& Selected() { return *selected.load(std::memory_order_relaxed); }

// The sum of the 16 bytes of an IPv6 address.
Sum SumAddress(const uint8_t* address) {
  uint32_t words[4];
  std::memcpy(words, address, sizeof words);
  return Sum{words[0]} + words[1] + words[2] + words[3];
}

// Adds the sum of a piece that starts `position` bytes into the whole.
Sum AddPiece(Sum total, Sum piece, uint32_t position) { return total + (position & 1 ? SwapSum(piece) : piece); }

// Calls visit(bytes, size, position) for each piece of the range, position counting from `offset`.
template <typename Visit>
void ForEachPiece(const DpPacket& packet, uint32_t offset, uint32_t bytes, Visit visit) {
  const DpPacket* buffer = &packet;
  while (offset >= buffer->head_length() && buffer->next() != nullptr) {
    offset -= buffer->head_length();
    buffer = buffer->next();
  }
  for (uint32_t position = 0; position < bytes; buffer = buffer->next(), offset = 0) {
    assert(buffer != nullptr);
    const uint32_t size = std::min(bytes - position, buffer->head_length() - offset);
    visit(buffer->data() + offset, size, position);
    position += size;
  }
}

}  // namespace

Sum SumBytes(const uint8_t* bytes, size_t size) {
  const Engine& engine = Selected();
  if (size <= kMaxBlock) [[likely]]
    return engine.sum(bytes, size);
  Sum sum = 0;
  for (; size > kMaxBlock; bytes += kMaxBlock, size -= kMaxBlock) sum += engine.sum(bytes, kMaxBlock);
  return sum + engine.sum(bytes, size);
}

Sum CopyAndSum(uint8_t* to, const uint8_t* from, size_t size) {
  const Engine& engine = Selected();
  if (size <= kMaxBlock) [[likely]]
    return engine.copy_and_sum(to, from, size);
  Sum sum = 0;
  for (; size > kMaxBlock; to += kMaxBlock, from += kMaxBlock, size -= kMaxBlock) {
    sum += engine.copy_and_sum(to, from, kMaxBlock);
  }
  return sum + engine.copy_and_sum(to, from, size);
}

Sum SumPacket(const DpPacket& packet, uint32_t offset, uint32_t bytes) {
  Sum sum = 0;
  ForEachPiece(packet, offset, bytes, [&sum](const uint8_t* piece, uint32_t size, uint32_t position) {
    sum = AddPiece(sum, SumBytes(piece, size), position);
  });
  return sum;
}

Sum PseudoHeaderSum4(Be32 source, Be32 destination, uint8_t protocol, uint32_t length) {
  return Sum{source.Raw()} + destination.Raw() + Be16(protocol).Raw() + Be32(length).Raw();
}

Sum PseudoHeaderSum6(const uint8_t source[16], const uint8_t destination[16], uint8_t protocol, uint32_t length) {
  return SumAddress(source) + SumAddress(destination) + Be16(protocol).Raw() + Be32(length).Raw();
}

// HC' = ~(~HC + ~m + m'), which unlike HC - ~m - m' (equation 2) never turns a checksum into the wrong zero.
Be16 UpdateChecksum16(Be16 checksum, Be16 old_word, Be16 new_word) {
  return FinishChecksum(Sum{(~checksum).Raw()} + (~old_word).Raw() + new_word.Raw());
}

Be16 UpdateChecksum32(Be16 checksum, Be32 old_word, Be32 new_word) {
  return FinishChecksum(Sum{(~checksum).Raw()} + (~old_word).Raw() + new_word.Raw());
}

Be16 UpdateChecksumBytes(Be16 checksum, const uint8_t* old_bytes, const uint8_t* new_bytes, size_t size) {
  const auto old_complement = static_cast<uint16_t>(~FoldSum(SumBytes(old_bytes, size)));
  return FinishChecksum(Sum{(~checksum).Raw()} + old_complement + SumBytes(new_bytes, size));
}

bool SelectChecksumEngine(ChecksumEngine engine) {
  if (!Supported(engine)) return false;
  selected.store(kEngines[static_cast<size_t>(engine)].engine, std::memory_order_relaxed);
  return true;
}

ChecksumEngine SelectedChecksumEngine() {
  for (size_t i = 0; i < std::size(kEngines); ++i) {
    if (kEngines[i].engine == &Selected()) return static_cast<ChecksumEngine>(i);
  }
  return ChecksumEngine::kScalar;
}

std::string_view ChecksumEngineName(ChecksumEngine engine) { return kEngines[static_cast<size_t>(engine)].name; }

uint32_t Crc32cPacket(const DpPacket& packet, uint32_t offset, uint32_t bytes, uint32_t seed) {
  ForEachPiece(packet, offset, bytes,
               [&seed](const uint8_t* piece, uint32_t size, uint32_t) { seed = Crc32c(piece, size, seed); });
  return seed;
}

}  // namespace sluice
