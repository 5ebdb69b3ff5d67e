// Checksum engines, alone and fused with a copy, against memcpy. Hot cache: one source, one destination, both placed as
// payloads are, 66 bytes into a buffer.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "lib/packet/checksum.h"

namespace sluice {
namespace {

constexpr size_t kPayloadOffset = 66;

std::vector<uint8_t> Source(size_t size) {
  std::vector<uint8_t> bytes(kPayloadOffset + size);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 151 + i / 256);
  return bytes;
}

bool Select(benchmark::State& state) {
  if (SelectChecksumEngine(static_cast<ChecksumEngine>(state.range(0)))) {
    const std::string_view name = ChecksumEngineName(SelectedChecksumEngine());
    state.SetLabel(std::string(name));
    return true;
  }
  state.SkipWithError("this processor lacks the engine");
  return false;
}

void BM_Memcpy(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  const std::vector<uint8_t> from = Source(size);
  std::vector<uint8_t> to(from.size());
  for (auto _ : state) {
    std::memcpy(&to[kPayloadOffset], &from[kPayloadOffset], size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void BM_CopyAndSum(benchmark::State& state) {
  if (!Select(state)) return;
  const auto size = static_cast<size_t>(state.range(1));
  const std::vector<uint8_t> from = Source(size);
  std::vector<uint8_t> to(from.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(CopyAndSum(&to[kPayloadOffset], &from[kPayloadOffset], size));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(1));
}

void BM_Sum(benchmark::State& state) {
  if (!Select(state)) return;
  const auto size = static_cast<size_t>(state.range(1));
  const std::vector<uint8_t> from = Source(size);
  for (auto _ : state) benchmark::DoNotOptimize(SumBytes(&from[kPayloadOffset], size));
  state.SetBytesProcessed(state.iterations() * state.range(1));
}

void BM_Crc32c(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  const std::vector<uint8_t> from = Source(size);
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(&from[kPayloadOffset], size));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

const std::vector<int64_t> kSizes = {64, 256, 1448, 9000, 65160};

BENCHMARK(BM_Memcpy)->ArgsProduct({kSizes});
BENCHMARK(BM_CopyAndSum)->ArgsProduct({{0, 1, 2}, kSizes});
BENCHMARK(BM_Sum)->ArgsProduct({{0, 1, 2}, kSizes});
BENCHMARK(BM_Crc32c)->ArgsProduct({kSizes});

}  // namespace
}  // namespace sluice
