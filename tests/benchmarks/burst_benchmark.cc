// What a batch costs on its way in (coalescing) and out (preparation for egress), per wire frame. Items are frames of
// 1514 bytes; only the call itself is timed, not the making of its packets.
//
//   BM_Coalesce/flows          128 frames of so many interleaved flows, checksums good, into super-packets
//   BM_CoalesceNothing         128 frames that nothing can be done with (UDP)
//   BM_EgressNothing           32 frames that need nothing, to a port without offloads
//   BM_EgressChecksum          32 frames whose postponed checksum is completed
//   BM_EgressInPlace/postpone  32 frames, coalesced, cut in place; checksums left to the port or computed
//   BM_EgressSegment/postpone  the same super-packet not cut in place: segmented by copying
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/base/cycle_clock.h"
#include "lib/packet/checksum.h"
#include "lib/packet/coalesce.h"
#include "lib/packet/egress.h"
#include "lib/packet/headers.h"
#include "lib/packet/parse.h"

namespace sluice {
namespace {

constexpr uint32_t kL3 = 14;
constexpr uint32_t kL4 = 34;
constexpr uint32_t kHeaders = 66;
constexpr uint32_t kPayload = 1448;

// Leaves the frames' freeing to after the clock was read.
class KeepingSink : public EgressSink {
 public:
  void Emit(PacketBatch& frames) override {
    benchmark::DoNotOptimize(frames.begin());
    for (DpPacket* packet : frames) kept_[count_++] = packet;
    frames.Clear();
  }
  void FreeAll() {
    while (count_ > 0) FreePacketChain(kept_[--count_]);
  }

 private:
  size_t count_ = 0;
  DpPacket* kept_[128];
};

class Source {
 public:
  Source() : pools_(PacketPools::Create(512, 64).value()) {}
  PacketPools& pools() { return pools_; }

  // The frame at `index` of a stream of flow `port`.
  DpPacketPtr Make(uint16_t port, uint32_t index, ChecksumState state, uint8_t protocol = kIpProtoTcp) {
    DpPacketPtr packet = pools_.small->Allocate();
    packet->SetHeadLength(kHeaders + kPayload);
    uint8_t* frame = packet->data();
    std::memset(frame, 0, kHeaders);
    HeaderAt<EthernetHeader>(*packet, 0)->type = Be16(kEthTypeIpv4);
    auto* ip = HeaderAt<Ipv4Header>(*packet, kL3);
    ip->version_ihl = 0x45;
    ip->total_length = Be16(kHeaders + kPayload - kL3);
    ip->id = Be16(static_cast<uint16_t>(index));
    ip->fragment = Be16(kIpv4DontFragment);
    ip->ttl = 64;
    ip->protocol = protocol;
    ip->source = Be32(0x0a000001);
    ip->destination = Be32(0x0a000002);
    ip->checksum = FinishChecksum(SumBytes(frame + kL3, sizeof *ip));
    auto* tcp = HeaderAt<TcpHeader>(*packet, kL4);
    tcp->source = Be16(port);
    tcp->sequence = Be32(index * kPayload);
    tcp->data_offset = 0x80;
    tcp->flags = kTcpAck;
    tcp->checksum = Be16::FromRaw(FoldSum(PseudoHeaderSum4(ip->source, ip->destination, protocol, kPayload + 32)));
    packet->offload = {.l4 = state, .csum_start = kL4, .csum_offset = 16};
    return packet;
  }
  void FillBurst(RxBurst& burst, uint32_t flows, uint8_t protocol = kIpProtoTcp) {
    for (uint32_t i = 0; i < RxBurst::kCapacity; ++i) {
      burst.Add(Make(static_cast<uint16_t>(i % flows), i / flows, ChecksumState::kGood, protocol));
    }
  }
  DpPacketPtr MakeCoalesced(uint32_t frames) {
    RxBurst burst;
    for (uint32_t i = 0; i < frames; ++i) burst.Add(Make(1, i, ChecksumState::kGood));
    CoalesceCounters counters;
    CoalesceBurst(burst, {}, counters);
    DpPacketPtr packet = burst.Take(0);
    burst.FreeAll();
    return packet;
  }

 private:
  PacketPools pools_;
};

// Times calls alone, and tells the median per frame, which other work on the machine disturbs less than the mean.
class Stopwatch {
 public:
  explicit Stopwatch(benchmark::State& state) : state_(state) { samples_.reserve(1 << 20); }

  template <typename Call>
  void Time(Call&& call) {
    const uint64_t start = CycleNow();
    call();
    const uint64_t cycles = CycleNow() - start;
    state_.SetIterationTime(CyclesToSeconds(cycles));
    if (samples_.size() < samples_.capacity()) samples_.push_back(cycles);
  }
  void Finish(size_t frames_per_call) {
    state_.SetItemsProcessed(state_.iterations() * static_cast<int64_t>(frames_per_call));
    auto middle = samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2);
    std::nth_element(samples_.begin(), middle, samples_.end());
    state_.counters["median_ns_per_frame"] = CyclesToSeconds(*middle) * 1e9 / static_cast<double>(frames_per_call);
  }

 private:
  benchmark::State& state_;
  std::vector<uint64_t> samples_;
};

void Coalesce(benchmark::State& state, uint32_t flows, uint8_t protocol) {
  Source source;
  CoalesceCounters counters;
  Stopwatch stopwatch(state);
  for (auto _ : state) {
    RxBurst burst;
    source.FillBurst(burst, flows, protocol);
    stopwatch.Time([&] { CoalesceBurst(burst, {}, counters); });
  }
  stopwatch.Finish(RxBurst::kCapacity);
}
void BM_Coalesce(benchmark::State& state) { Coalesce(state, static_cast<uint32_t>(state.range(0)), kIpProtoTcp); }
BENCHMARK(BM_Coalesce)->Arg(1)->Arg(2)->Arg(8)->Arg(32)->Arg(128)->UseManualTime();
void BM_CoalesceNothing(benchmark::State& state) { Coalesce(state, 1, kIpProtoUdp); }
BENCHMARK(BM_CoalesceNothing)->UseManualTime();

template <typename Fill>
void Egress(benchmark::State& state, const EgressCaps& caps, Fill&& fill) {
  Source source;
  DropCounters drops;
  KeepingSink sink;
  Stopwatch stopwatch(state);
  for (auto _ : state) {
    PacketBatch batch;
    fill(source, batch);
    for (DpPacket* packet : batch) ParseLayers(*packet);
    stopwatch.Time([&] { PrepareForEgress(batch, caps, source.pools(), sink, drops); });
    sink.FreeAll();
  }
  stopwatch.Finish(PacketBatch::kCapacity);
}

void FillFrames(Source& source, PacketBatch& batch, ChecksumState state) {
  for (uint32_t i = 0; i < PacketBatch::kCapacity; ++i) batch.Add(source.Make(1, i, state));
}
void BM_EgressNothing(benchmark::State& state) {
  Egress(state, {}, [](Source& source, PacketBatch& batch) { FillFrames(source, batch, ChecksumState::kGood); });
}
BENCHMARK(BM_EgressNothing)->UseManualTime();
void BM_EgressChecksum(benchmark::State& state) {
  Egress(state, {}, [](Source& source, PacketBatch& batch) { FillFrames(source, batch, ChecksumState::kPartial); });
}
BENCHMARK(BM_EgressChecksum)->UseManualTime();

void BM_EgressInPlace(benchmark::State& state) {
  Egress(state, {.partial_checksum = state.range(0) != 0},
         [](Source& source, PacketBatch& batch) { batch.Add(source.MakeCoalesced(PacketBatch::kCapacity)); });
}
BENCHMARK(BM_EgressInPlace)->ArgName("postpone")->Arg(0)->Arg(1)->UseManualTime();
void BM_EgressSegment(benchmark::State& state) {
  Egress(state, {.partial_checksum = state.range(0) != 0}, [](Source& source, PacketBatch& batch) {
    DpPacketPtr packet = source.MakeCoalesced(PacketBatch::kCapacity);
    packet->coalesced = false;
    batch.Add(std::move(packet));
  });
}
BENCHMARK(BM_EgressSegment)->ArgName("postpone")->Arg(0)->Arg(1)->UseManualTime();

}  // namespace
}  // namespace sluice
