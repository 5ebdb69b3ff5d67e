// The baseline row of checksum_benchmark: DPDK's rte_raw_cksum over the same bytes.
#include <benchmark/benchmark.h>
#include <rte_ip.h>

#include <vector>

namespace sluice {
namespace {

void BM_DpdkSum(benchmark::State& state) {
  const std::vector<uint8_t> bytes(66 + static_cast<size_t>(state.range(0)), 0x5a);
  for (auto _ : state) benchmark::DoNotOptimize(rte_raw_cksum(&bytes[66], static_cast<size_t>(state.range(0))));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_DpdkSum)->Arg(64)->Arg(256)->Arg(1448)->Arg(9000)->Arg(65160);

}  // namespace
}  // namespace sluice
