// What a payload byte costs on its whole way through a PMD thread's pipeline - parse, caches, actions, egress - to a
// port that neither segments nor sums: as super-packets of N segments, and as the same bytes in unsegmented frames
// whose checksums are completed in software. The segments are written into buffers that the egress sends from; the
// frames are sent from the buffers they came in. Receiving and sending themselves cost nothing here.
#include <benchmark/benchmark.h>

#include <cstring>

#include "datapath/pipeline.h"
#include "lib/base/rcu.h"
#include "lib/packet/checksum.h"
#include "lib/packet/headers.h"
#include "netdev/dummy/dummy_netdev.h"
#include "tests/benchmarks/segment_benchmark.h"

namespace sluice {
namespace {

constexpr uint32_t kFramesPerBurst = 90;

// Sends by freeing.
class FreeingTxq final : public NetdevTxq {
 public:
  EgressCaps caps() const override { return {.mtu = 1500, .max_buffers = 64}; }
  void Send(PacketBatch& frames) override {
    counters_.frames += frames.size();
    frames.FreeAll();
  }
};

// One thread's pipeline with a flow from port 1 to port 2.
class Path {
 public:
  explicit Path(uint32_t segments)
      : segments_(segments),
        frame_(SuperFrame(segments)),
        pools_(*PacketPools::Create(4096, 512)),
        netdev_(*OpenNetdev("path0", "dummy", {})),
        pipeline_(table_, 0, pools_, upcalls_),
        from_(1, *netdev_, settings_),
        to_(2, *netdev_, settings_) {
    Match match;
    match.key.in_port = 1;
    match.mask.in_port = UINT32_MAX;
    (void)table_.Insert(match, {Action{OutputAction{2}}}, FlowTable::MakeUfid(match));
    from_.set_txq(std::make_unique<FreeingTxq>());
    to_.set_txq(std::make_unique<FreeingTxq>());
    pipeline_.SetPort(1, &from_);
    pipeline_.SetPort(2, &to_);
  }

  // The kernel has left the payload in the buffers; headers are written anew since the egress changed them.
  void Turn() {
    for (uint32_t i = 0; i < kFramesPerBurst / segments_; ++i) burst_.Add(Received());
    RcuQuiescent();
    pipeline_.BeginTurn();
    pipeline_.Process(burst_, from_, false);
  }
  uint64_t sent() const { return to_.txq()->counters().frames; }

 private:
  DpPacketPtr Received() {
    DpPacketPtr packet = pools_.small->Allocate();
    uint32_t length = static_cast<uint32_t>(frame_.size());
    uint32_t head = std::min(length, packet->tailroom());
    std::memcpy(packet->data(), frame_.data(), kHeaderLength);
    packet->SetHeadLength(head);
    if (head < length) {
      DpPacketPtr rest = pools_.large->Allocate();
      rest->SetHeadLength(length - head);
      packet->AppendChain(packet.get(), rest.release());
    }
    packet->offload.l4 = ChecksumState::kPartial;
    packet->offload.csum_start = kL4Offset;
    packet->offload.csum_offset = 16;
    if (segments_ > 1) {
      packet->offload.segmentation = Segmentation::kTcp4;
      packet->offload.segment_size = kSegmentSize;
    }
    return packet;
  }

  const uint32_t segments_;
  const std::vector<uint8_t> frame_;
  PacketPools pools_;
  std::unique_ptr<Netdev> netdev_;
  FlowTable table_;
  DropUpcallHandler upcalls_;
  PortSettings settings_;
  Pipeline pipeline_;
  PmdPort from_;
  PmdPort to_;
  RxBurst burst_;
};

// Arg 1: unsegmented frames.
void BM_Path(benchmark::State& state) {
  RcuThread rcu;
  Path path(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) path.Turn();
  if (path.sent() != static_cast<uint64_t>(state.iterations()) * kFramesPerBurst)
    state.SkipWithError("not every frame was sent");
  CountSegments(state, kFramesPerBurst);
}
BENCHMARK(BM_Path)->Arg(1)->Arg(2)->Arg(3)->Arg(5)->Arg(10)->Arg(45);

}  // namespace
}  // namespace sluice
