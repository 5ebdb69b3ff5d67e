// Flow tables: rates of flow mods, memory per flow, and what a lookup costs with many subtables.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <memory>
#include <random>
#include <vector>

#include "lib/base/rcu.h"
#include "ofproto/flows/flow_tables.h"

namespace sluice {
namespace {

OfFlow Packet(uint32_t source, uint32_t destination, uint16_t tp_dst) {
  OfFlow flow;
  flow.in_port = 1;
  flow.packet.eth_type = Be16(0x0800);
  flow.packet.ip_proto = 6;
  flow.packet.ipv4_src = Be32(source);
  flow.packet.ipv4_dst = Be32(destination);
  flow.packet.tp_dst = Be16(tp_dst);
  return flow;
}

// Exact addresses, protocol and port; all of one mask.
std::vector<FlowMod> ExactFlows(size_t count) {
  std::vector<FlowMod> mods(count);
  for (size_t i = 0; i < count; ++i) {
    FlowMod& mod = mods[i];
    OfMatch& match = mod.match;
    match.value = Packet(0x0a000000 + static_cast<uint32_t>(i), 0xc0a80001, 80);
    match.mask.in_port = 0xffff;
    match.mask.packet.eth_type = match.mask.packet.tp_dst = Be16(0xffff);
    match.mask.packet.ip_proto = 0xff;
    match.mask.packet.ipv4_src = match.mask.packet.ipv4_dst = Be32(0xffffffff);
    mod.table = 0;
    mod.actions = {{OfOutput{static_cast<OfPort>(i % 100 + 1), 0}}};
  }
  return mods;
}

// What is freed is not measured.
void CleanUp(benchmark::State& state, std::unique_ptr<FlowTables> tables) {
  state.PauseTiming();
  tables.reset();
  RcuBarrier();
  state.ResumeTiming();
}

void BM_AddInBundle(benchmark::State& state) {
  const std::vector<FlowMod> mods = ExactFlows(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    auto tables = std::make_unique<FlowTables>();
    benchmark::DoNotOptimize(tables->ApplyAll(mods, {}, nullptr));
    CleanUp(state, std::move(tables));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_AddInBundle)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_AddOneByOne(benchmark::State& state) {
  const std::vector<FlowMod> mods = ExactFlows(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    auto tables = std::make_unique<FlowTables>();
    for (const FlowMod& mod : mods) benchmark::DoNotOptimize(tables->Apply(mod, {}));
    CleanUp(state, std::move(tables));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_AddOneByOne)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Every flow is replaced by one with other actions, then all are deleted strictly.
void BM_ModifyAndDelete(benchmark::State& state) {
  std::vector<FlowMod> mods = ExactFlows(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    auto tables = std::make_unique<FlowTables>();
    benchmark::DoNotOptimize(tables->ApplyAll(mods, {}, nullptr));
    for (FlowMod& mod : mods) mod.command = FlowCommand::kModifyStrict;
    benchmark::DoNotOptimize(tables->ApplyAll(mods, {}, nullptr));
    for (FlowMod& mod : mods) mod.command = FlowCommand::kDeleteStrict;
    benchmark::DoNotOptimize(tables->ApplyAll(mods, {}, nullptr));
    for (FlowMod& mod : mods) mod.command = FlowCommand::kAdd;
    CleanUp(state, std::move(tables));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 3);
}
BENCHMARK(BM_ModifyAndDelete)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_MemoryPerFlow(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<FlowMod> mods = ExactFlows(count);
  double bytes = 0;
  for (auto _ : state) {
    RcuBarrier();
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    FlowTables tables;
    benchmark::DoNotOptimize(tables.ApplyAll(mods, {}, nullptr));
    RcuBarrier();
    bytes = static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd - before);
  }
  state.counters["bytes_per_flow"] = bytes / static_cast<double>(count);
}
BENCHMARK(BM_MemoryPerFlow)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

void Look(benchmark::State& state, const FlowTables& tables) {
  std::mt19937 random(1);
  std::vector<OfFlow> flows;
  for (int i = 0; i < 4096; ++i) {
    flows.push_back(
        Packet(static_cast<uint32_t>(random()), static_cast<uint32_t>(random()), static_cast<uint16_t>(random())));
  }
  size_t next = 0;
  for (auto _ : state) {
    OfMask wildcards;
    benchmark::DoNotOptimize(tables.Lookup(tables.version(), 0, flows[next++ % flows.size()], &wildcards));
    RcuQuiescent();
  }
}

void BM_LookupAmongExact(benchmark::State& state) {
  RcuThread reader;
  FlowTables tables;
  benchmark::DoNotOptimize(tables.ApplyAll(ExactFlows(static_cast<size_t>(state.range(0))), {}, nullptr));
  Look(state, tables);
}
BENCHMARK(BM_LookupAmongExact)->Arg(100'000);

// Rules with masks of their own, of random bits: no two share a subtable.
void BM_LookupAmongWildcards(benchmark::State& state) {
  RcuThread reader;
  FlowTables tables;
  std::mt19937 random(2);
  for (int64_t i = 0; i < state.range(0); ++i) {
    FlowMod mod;
    mod.table = 0;
    mod.priority = static_cast<uint16_t>(i);
    mod.match.mask.packet.eth_type = Be16(0xffff);
    mod.match.mask.packet.ipv4_src = Be32(static_cast<uint32_t>(random()));
    mod.match.mask.packet.ipv4_dst = Be32(static_cast<uint32_t>(random()));
    mod.match.value.packet.eth_type = Be16(0x0800);
    mod.match.value.packet.ipv4_src = Be32(static_cast<uint32_t>(random())) & mod.match.mask.packet.ipv4_src;
    mod.match.value.packet.ipv4_dst = Be32(static_cast<uint32_t>(random())) & mod.match.mask.packet.ipv4_dst;
    benchmark::DoNotOptimize(tables.Apply(mod, {}));
  }
  Look(state, tables);
}
BENCHMARK(BM_LookupAmongWildcards)->Arg(1'000);

// An access list: prefixes of random lengths of both addresses.
void BM_LookupAmongPrefixes(benchmark::State& state) {
  RcuThread reader;
  FlowTables tables;
  std::mt19937 random(3);
  auto prefix = [&] { return Be32(~uint32_t{0} << (24 - random() % 25)); };
  std::vector<FlowMod> mods(static_cast<size_t>(state.range(0)));
  for (FlowMod& mod : mods) {
    mod.table = 0;
    mod.priority = static_cast<uint16_t>(random());
    mod.match.mask.packet.eth_type = Be16(0xffff);
    mod.match.mask.packet.ipv4_src = prefix();
    mod.match.mask.packet.ipv4_dst = prefix();
    mod.match.value.packet.eth_type = Be16(0x0800);
    mod.match.value.packet.ipv4_src = Be32(static_cast<uint32_t>(random())) & mod.match.mask.packet.ipv4_src;
    mod.match.value.packet.ipv4_dst = Be32(static_cast<uint32_t>(random())) & mod.match.mask.packet.ipv4_dst;
  }
  benchmark::DoNotOptimize(tables.ApplyAll(mods, {}, nullptr));
  Look(state, tables);
}
BENCHMARK(BM_LookupAmongPrefixes)->Arg(10'000);

}  // namespace
}  // namespace sluice
