// Segmentation of a TCP/IPv4 super-packet into 1448-byte segments, checksums included, into pooled buffers as the
// egress does it, per number of segments. Bytes are payload bytes; items are wire frames.
//
//   BM_Segment            WriteNext into 32 buffers in turn, checksum computed in the copying pass
//   BM_SegmentEmit        the same as packets, which are taken from a pool and go back
//   BM_SegmentPostponed   BM_SegmentEmit with the checksum left to the port
//   BM_Memcpy             the payload copied to one large buffer, nothing else: the bound
//   BM_MemcpyFrames       the payload copied into the same pooled buffers
//   BM_Unsegmented        the same bytes as frames of one MTU that each need copy and checksum
//   BM_DpdkSegment        rte_gso_segment (payload by reference) and rte_net checksums, where DPDK is there
//
// "Cold" rows walk over up to 128 MiB of super-packets, so that payload comes from memory; buffers written are reused
// in all.
#include "tests/benchmarks/segment_benchmark.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "lib/packet/checksum.h"
#include "lib/packet/gso.h"
#include "lib/packet/headers.h"
#include "lib/packet/packet_batch.h"
#include "lib/packet/parse.h"
#include "lib/packet/slab_pool.h"

namespace sluice {

namespace {

constexpr uint32_t kColdPackets = 2048;  // of up to 64 KiB

// Super-packets as a receive queue leaves them: what fits in a small buffer, and the rest in a large one.
class Sources {
 public:
  Sources(uint32_t segments, bool cold) : pools_(PacketPools::Create(kColdPackets, kColdPackets).value()) {
    const std::vector<uint8_t> frame = SuperFrame(segments);
    const auto size = static_cast<uint32_t>(frame.size());
    const uint32_t first = std::min(size, PacketPools::kSmallDataSize);
    const uint32_t count = cold ? std::min(kColdPackets, (128u << 20) / size) : 1;
    for (uint32_t i = 0; i < count; ++i) {
      DpPacketPtr head = pools_.small->Allocate();
      head->SetHeadLength(first);
      std::memcpy(head->data(), frame.data(), first);
      DpPacketPtr tail = pools_.large->Allocate();
      tail->SetHeadLength(size - first);
      std::memcpy(tail->data(), frame.data() + first, size - first);
      head->AppendChain(head.get(), tail.release());
      head->offload = {.l4 = ChecksumState::kPartial,
                       .segmentation = Segmentation::kTcp4,
                       .segment_size = kSegmentSize,
                       .csum_start = kL4Offset,
                       .csum_offset = 16};
      ParseLayers(*head);
      packets_.push_back(std::move(head));
    }
  }
  const DpPacket& Next() {
    if (++at_ >= packets_.size()) at_ = 0;
    return *packets_[at_];
  }

 private:
  PacketPools pools_;
  std::vector<DpPacketPtr> packets_;
  size_t at_ = 0;
};

// The same payload in one piece each, for memcpy.
class LinearSources {
 public:
  LinearSources(uint32_t segments, bool cold)
      : size_(segments * kSegmentSize),
        stride_((size_ + 4095) / 4096 * 4096 + 64),
        count_(cold ? std::min<size_t>(kColdPackets, (128u << 20) / size_) : 1),
        bytes_(count_ * stride_, 0x5a) {}
  const uint8_t* Next() {
    if (++at_ >= count_) at_ = 0;
    return &bytes_[at_ * stride_];
  }

 private:
  const size_t size_;
  const size_t stride_;
  const size_t count_;
  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

// Buffers to write frames into, taken from a pool and given back a batch at a time.
class Outputs {
 public:
  Outputs() : pools_(PacketPools::Create(64, 1).value()) {}
  DpPacket& Next() {
    if (batch_.full()) batch_.FreeAll();
    batch_.Add(pools_.small->Allocate());
    return *batch_[batch_.size() - 1];
  }

 private:
  PacketPools pools_;
  PacketBatch batch_;
};

void Segment(benchmark::State& state, bool cold) {
  const auto segments = static_cast<uint32_t>(state.range(0));
  Sources sources(segments, cold);
  PacketPools pools = PacketPools::Create(32, 1).value();
  PacketBatch outputs;
  while (!outputs.full()) outputs.Add(pools.small->Allocate());
  size_t at = 0;
  for (auto _ : state) {
    GsoSegmenter segmenter(sources.Next(), SegmentChecksum::kCompute);
    while (!segmenter.done()) segmenter.WriteNext(outputs[at++ % 32]->data());
    benchmark::ClobberMemory();
  }
  CountSegments(state, segments);
}

void Emit(benchmark::State& state, SegmentChecksum checksum) {
  const auto segments = static_cast<uint32_t>(state.range(0));
  Sources sources(segments, false);
  Outputs outputs;
  for (auto _ : state) {
    GsoSegmenter segmenter(sources.Next(), checksum);
    while (!segmenter.done()) segmenter.EmitNext(outputs.Next());
    benchmark::ClobberMemory();
  }
  CountSegments(state, segments);
}

void BM_Segment(benchmark::State& state) { Segment(state, false); }
void BM_SegmentCold(benchmark::State& state) { Segment(state, true); }
void BM_SegmentEmit(benchmark::State& state) { Emit(state, SegmentChecksum::kCompute); }
void BM_SegmentPostponed(benchmark::State& state) { Emit(state, SegmentChecksum::kPostpone); }

void Memcpy(benchmark::State& state, bool cold) {
  const auto segments = static_cast<uint32_t>(state.range(0));
  LinearSources sources(segments, cold);
  std::vector<uint8_t> to(segments * kSegmentSize);
  for (auto _ : state) {
    std::memcpy(to.data(), sources.Next(), to.size());
    benchmark::ClobberMemory();
  }
  CountSegments(state, segments);
}

void BM_Memcpy(benchmark::State& state) { Memcpy(state, false); }
void BM_MemcpyCold(benchmark::State& state) { Memcpy(state, true); }

void BM_MemcpyFrames(benchmark::State& state) {
  const auto segments = static_cast<uint32_t>(state.range(0));
  LinearSources sources(segments, false);
  Outputs outputs;
  for (auto _ : state) {
    const uint8_t* from = sources.Next();
    for (uint32_t i = 0; i < segments; ++i) {
      std::memcpy(outputs.Next().data() + kHeaderLength, from + i * kSegmentSize, kSegmentSize);
    }
    benchmark::ClobberMemory();
  }
  CountSegments(state, segments);
}

// What a sender without segmentation would have cost: each frame's headers copied, its transport copied and summed.
void BM_Unsegmented(benchmark::State& state) {
  const auto segments = static_cast<uint32_t>(state.range(0));
  const std::vector<uint8_t> frame = SuperFrame(1);
  PacketPools pools = PacketPools::Create(64, 1).value();
  std::vector<DpPacketPtr> frames;
  for (uint32_t i = 0; i < segments; ++i) {
    DpPacketPtr packet = pools.small->Allocate();
    packet->SetHeadLength(static_cast<uint32_t>(frame.size()));
    std::memcpy(packet->data(), frame.data(), frame.size());
    packet->offload.l4 = ChecksumState::kPartial;
    ParseLayers(*packet);
    frames.push_back(std::move(packet));
  }
  Outputs outputs;
  for (auto _ : state) {
    for (const DpPacketPtr& from : frames) {
      DpPacket& to = outputs.Next();
      const uint32_t start = from->l4_offset;
      to.SetHeadLength(from->length());
      std::memcpy(to.data(), from->data(), start);
      const Be16 checksum = FinishChecksum(CopyAndSum(to.data() + start, from->data() + start, from->length() - start));
      HeaderAt<TcpHeader>(to, start)->checksum = checksum;
      to.l3_offset = from->l3_offset;
      to.l4_offset = from->l4_offset;
      to.payload_offset = from->payload_offset;
      to.offload.l4 = ChecksumState::kGood;
    }
    benchmark::ClobberMemory();
  }
  CountSegments(state, segments);
}

BENCHMARK(BM_Memcpy)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_MemcpyFrames)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_Unsegmented)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_Segment)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_SegmentEmit)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_SegmentPostponed)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_MemcpyCold)->SLUICE_SEGMENT_ARGS;
BENCHMARK(BM_SegmentCold)->SLUICE_SEGMENT_ARGS;

}  // namespace
}  // namespace sluice
