#include "datapath/pipeline.h"

#include <algorithm>
#include <ctime>

#include "datapath/kernel_key.h"
#include "lib/base/cycle_clock.h"
#include "lib/packet/coalesce.h"
#include "lib/packet/headers.h"
#include "lib/packet/parse.h"

namespace sluice {
namespace {

constexpr uint32_t kMaxVlanTags = 2;

uint64_t CoarseMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

uint32_t FramesOf(const DpPacket& packet) { return packet.offload.IsSuper() ? WireFrames(packet) : 1; }
uint64_t BytesOf(const DpPacket& packet) { return packet.offload.IsSuper() ? WireBytes(packet) : packet.length(); }

// Whether a frame that is not a super-packet has more than `mtu` bytes behind its Ethernet header and VLAN tags.
bool IsOverMtu(const DpPacket& packet, uint32_t mtu) {
  uint32_t header = sizeof(EthernetHeader);
  if (packet.length() <= mtu + header) [[likely]]
    return false;
  for (uint32_t tags = 0; tags < kMaxVlanTags && packet.head_length() >= header; ++tags) {
    uint16_t type = HeaderAt<Be16>(packet, header - 2)->Get();
    if (type != kEthTypeVlan && type != kEthTypeQinq) break;
    header += sizeof(VlanHeader);
  }
  return packet.length() > mtu + header;
}

// The flow's hash, told apart by where the packet came in and how often it came round.
uint32_t CacheHash(uint32_t flow_hash, const FlowKey& key) {
  return flow_hash ^ (key.in_port * 0x9e3779b1u) ^ (key.recirc_id * 0x85ebca6bu);
}

// The receive reason for what could not be made of a packet at ingress.
DropReason ReceiveReason(DropReason reason) {
  switch (reason) {
    case DropReason::kTxOverMtu:
      return DropReason::kRxOverMtu;
    case DropReason::kTxPoolEmpty:
      return DropReason::kRxPoolEmpty;
    case DropReason::kTxChecksumRange:
      return DropReason::kRxVnetCsumRange;
    default:
      return DropReason::kRxGsoMismatch;
  }
}

}  // namespace

Pipeline::Pipeline(FlowTable& table, size_t slot, PacketPools& pools, UpcallHandler& upcalls)
    : table_(table),
      slot_(slot),
      pools_(pools),
      upcalls_(&upcalls),
      levels_(new std::array<Level, kMaxRecirculations + 1>) {}

void Pipeline::SetPort(uint32_t number, PmdPort* port) {
  if (number >= ports_.size()) ports_.resize(number + 1);
  ports_[number] = port;
  listed_.reserve(ports_.size());
}

// Ingress
// ---------------------------------------------------------------------------------------------------------------

void Pipeline::Process(RxBurst& burst, PmdPort& ingress, bool coalesce) {
  ingress_ = &ingress;
  now_ms_ = CoarseMilliseconds();
  if (Policer* policer = ingress.policer()) [[unlikely]]
    Police(burst, *policer);
  const uint32_t mtu = ingress.caps().mtu;
  bool has_oversized = false;
  bool has_super = false;
  for (DpPacket* packet : burst) {
    packet->in_port = ingress.number();
    bool is_super = packet->offload.IsSuper();
    has_super |= is_super;
    has_oversized |= !is_super && IsOverMtu(*packet, mtu);
  }
  if (has_oversized) [[unlikely]]
    DropOversized(burst, mtu);
  if (has_super && !ingress.tso()) [[unlikely]] {
    SegmentBurst(burst, mtu);
  } else {
    if (coalesce && burst.size() > 1) CoalesceBurst(burst, CoalesceLimits{}, ingress.counters.coalesced);
    for (size_t i = 0; i < burst.size(); ++i) {
      chunk_.Add(burst.Take(i));
      if (chunk_.full()) ProcessBatch(chunk_);
    }
    burst.Clear();
    if (!chunk_.empty()) ProcessBatch(chunk_);
  }
  FlushOutputs();
}

// Before anything is merged: what the wire brought is what counts.
void Pipeline::Police(RxBurst& burst, Policer& policer) {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  const uint64_t now = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  for (size_t i = 0; i < burst.size(); ++i) {
    if (burst[i]->offload.IsSuper()) ParseLayers(*burst[i]);  // how many segments it stands for
    const uint32_t frames = std::max(1u, FramesOf(*burst[i]));
    if (!policer.Admit(frames, BytesOf(*burst[i]), now)) Drop(burst.Take(i), DropReason::kRxPoliced);
  }
  burst.Compact();
}

void Pipeline::DropOversized(RxBurst& burst, uint32_t mtu) {
  for (size_t i = 0; i < burst.size(); ++i) {
    if (!burst[i]->offload.IsSuper() && IsOverMtu(*burst[i], mtu)) Drop(burst.Take(i), DropReason::kRxOverMtu);
  }
  burst.Compact();
}

void Pipeline::SegmentBurst(RxBurst& burst, uint32_t mtu) {
  for (size_t i = 0; i < burst.size(); ++i) {
    ParseLayers(*burst[i]);
    chunk_.Add(burst.Take(i));
    if (chunk_.full()) SegmentChunk(mtu);
  }
  burst.Clear();
  if (!chunk_.empty()) SegmentChunk(mtu);
}

void Pipeline::SegmentChunk(uint32_t mtu) {
  // Only the size is resolved here: checksums stay as they are, and buffers too.
  EgressCaps caps{.mtu = mtu, .max_buffers = UINT16_MAX, .partial_checksum = true, .sctp_checksum = true};
  DropCounters drops;
  PrepareForEgress(chunk_, caps, pools_, *this, drops);
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (drops.frames[i] == 0) continue;
    ingress_->counters.ingress_drops.Add(ReceiveReason(static_cast<DropReason>(i)), drops.frames[i]);
  }
}

// Classification
// ----------------------------------------------------------------------------------------------------------

void Pipeline::ParseBatch(PacketBatch& batch, Level& level) {
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i + 1 < batch.size()) __builtin_prefetch(batch[i + 1]->data());
    DpPacket& packet = *batch[i];
    FlowKey& key = level.keys[i];
    ParsePacket(packet, key);
    packet.flow_hash = FlowHash(key);
    level.hashes[i] = CacheHash(packet.flow_hash, key);
    cache_.Prefetch(level.hashes[i]);
  }
}

void Pipeline::ProcessBatch(PacketBatch& batch) {
  Level& level = (*levels_)[depth_];
  level.group_count = 0;
  ParseBatch(batch, level);
  for (size_t i = 0; i < batch.size(); ++i) {
    const FlowKey& key = level.keys[i];
    DpPacketPtr packet = batch.Take(i);
    if (depth_ == 0) ingress_->counters.rx_histogram.Add(FramesOf(*packet));
    DpFlow* flow = Classify(key, level.hashes[i]);
    if (flow == nullptr) [[unlikely]] {
      flow = Miss(key, level.hashes[i], packet);
      if (flow == nullptr) continue;
    }
    AddToGroup(level, flow, key, std::move(packet));
  }
  batch.Clear();
  for (size_t i = 0; i < level.group_count; ++i) ExecuteGroup(level.groups[i]);
}

DpFlow* Pipeline::Classify(const FlowKey& key, uint32_t hash) {
  uint32_t hits;
  if (DpFlow* flow = cache_.Lookup(key, hash, generation_, hits)) [[likely]] {
    ++counters_.cache_hits;
    if (hits % kOfferInterval == 0) OfferFlow(key, *flow, hits);
    return flow;
  }
  DpFlow* flow = table_.Lookup(key, slot_);
  if (flow == nullptr) return nullptr;
  ++counters_.table_hits;
  cache_.Insert(hash, flow, generation_);
  return flow;
}

// Only what is likely to be taken: KernelForwarding looks closely.
[[gnu::noinline]] void Pipeline::OfferFlow(const FlowKey& key, const DpFlow& flow, uint32_t hits) {
  if (key.ip_proto == kIpProtoTcp && hits % kTcpOfferInterval != 0) return;
  if (offers_ == nullptr || !ingress_->kernel_forwarding() || key.recirc_id != 0) return;
  auto output = OnlyOutput(flow.actions());
  if (!output || *output >= ports_.size()) return;
  const PmdPort* egress = ports_[*output];
  if (egress == nullptr || !egress->kernel_forwarding() || !KernelKeyDecides(flow.mask(), key)) return;
  if (!MakeKernelKey(key, 0)) return;
  offers_->Offer(key, flow.ufid());
}

void Pipeline::AddToGroup(Level& level, DpFlow* flow, const FlowKey& key, DpPacketPtr packet) {
  // Neighbours are mostly of one flow: look from the latest group back.
  size_t i = level.group_count;
  while (i > 0 && level.groups[i - 1].flow != flow) --i;
  Group& group = level.groups[i > 0 ? i - 1 : level.group_count];
  if (i == 0) {
    ++level.group_count;
    group.flow = flow;
    group.frames = group.bytes = 0;
    group.tcp_flags = 0;
  }
  group.frames += FramesOf(*packet);
  group.bytes += BytesOf(*packet);
  group.tcp_flags = static_cast<uint16_t>(group.tcp_flags | key.tcp_flags.Get());
  group.packets.Add(std::move(packet));
}

DpFlow* Pipeline::Miss(const FlowKey& key, uint32_t hash, DpPacketPtr& packet) {
  uint64_t start = CycleNow();
  ++counters_.misses;
  UpcallVerdict verdict = upcalls_->OnMiss(key, *packet);
  DpFlow* flow = nullptr;
  if (verdict.install) {
    Match match{.key = ApplyMask(key, verdict.wildcards), .mask = verdict.wildcards};
    auto inserted = table_.Insert(match, verdict.actions, FlowTable::MakeUfid(match), std::move(verdict.data));
    // Another thread may have been faster.
    flow = inserted.ok() ? *inserted : table_.Lookup(key, slot_);
    if (flow != nullptr) cache_.Insert(hash, flow, generation_);
  }
  counters_.upcall_cycles += CycleNow() - start;
  if (flow != nullptr) return flow;
  if (verdict.actions.empty()) {
    Drop(std::move(packet), DropReason::kNoFlow);
    return nullptr;
  }
  PacketBatch batch;
  batch.Add(std::move(packet));
  ExecuteActions(batch, verdict.actions, pools_, *this);
  return nullptr;
}

// Execution
// ---------------------------------------------------------------------------------------------------------------

void Pipeline::ExecuteGroup(Group& group) {
  FlowStats& stats = group.flow->stats(slot_);
  stats.packets += group.packets.size();
  stats.wire_frames += group.frames;
  stats.bytes += group.bytes;
  stats.last_used_ms.Add(now_ms_ - stats.last_used_ms);
  stats.tcp_flags.Add(group.tcp_flags & ~stats.tcp_flags.Get());
  ++counters_.batches;
  ExecuteActions(group.packets, group.flow->actions(), pools_, *this);
}

void Pipeline::Output(uint32_t number, PacketBatch& packets) {
  PmdPort* port = number < ports_.size() ? ports_[number] : nullptr;
  if (port == nullptr) [[unlikely]] {
    for (size_t i = 0; i < packets.size(); ++i) Drop(packets.Take(i), DropReason::kNoPort);
    packets.Clear();
    return;
  }
  if (!port->listed) {
    port->listed = true;
    listed_.push_back(port);
  }
  for (size_t i = 0; i < packets.size(); ++i) port->Enqueue(packets.Take(i), pools_);
  packets.Clear();
}

void Pipeline::FlushOutputs() {
  for (PmdPort* port : listed_) {
    port->Flush(pools_);
    port->listed = false;
  }
  listed_.clear();
}

void Pipeline::Recirculate(PacketBatch& packets) {
  if (depth_ == kMaxRecirculations) [[unlikely]] {
    for (size_t i = 0; i < packets.size(); ++i) Drop(packets.Take(i), DropReason::kRecirculationLimit);
    packets.Clear();
    return;
  }
  counters_.recirculations += packets.size();
  ++depth_;
  ProcessBatch(packets);
  --depth_;
}

void Pipeline::Userspace(DpPacketPtr packet, const UserspaceAction& action) {
  FlowKey key;
  ParsePacket(*packet, key);
  if (upcalls_->OnUserspace(key, *packet, action)) {
    ingress_->counters.consumed += FramesOf(*packet);
  } else {
    Drop(std::move(packet), DropReason::kUserspace);
  }
}

void Pipeline::Drop(DpPacketPtr packet, DropReason reason) {
  ingress_->counters.ingress_drops.Add(reason, FramesOf(*packet));
}

void Pipeline::OnCopy(const DpPacket& /*original*/, uint32_t frames, bool made) {
  ingress_->counters.copies += frames;
  if (!made) ingress_->counters.ingress_drops.Add(DropReason::kCloneFailed, frames);
}

}  // namespace sluice
