#include "datapath/execute.h"

#include <absl/types/span.h>

#include <algorithm>
#include <variant>

#include "datapath/actions/packet_copy.h"
#include "datapath/actions/set_fields.h"
#include "datapath/actions/tags.h"
#include "lib/base/cycle_clock.h"
#include "lib/base/hash.h"
#include "lib/packet/egress.h"
#include "lib/packet/gso.h"
#include "lib/packet/parse.h"

namespace sluice {
namespace {

constexpr uint32_t kNoCut = UINT32_MAX;

uint32_t FramesOf(const DpPacket& packet) { return packet.offload.IsSuper() ? WireFrames(packet) : 1; }

// Bytes of the longest frame and of the last one that the packet stands for.
struct FrameLengths {
  uint32_t longest;
  uint32_t last;
};
FrameLengths LengthsOf(const DpPacket& packet) {
  if (!packet.offload.IsSuper() || packet.payload_offset == kNoOffset) return {packet.length(), packet.length()};
  uint32_t segment = packet.offload.segment_size;
  uint32_t payload = packet.length() - packet.payload_offset;
  if (payload <= segment) return {packet.length(), packet.length()};
  return {packet.payload_offset + segment, packet.payload_offset + (payload - 1) % segment + 1};
}

// Whether packets leave the list by this action. Any other one only prepares for a later one.
bool LetsGo(const Action& action) {
  return std::visit(
      [](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        return std::is_same_v<T, OutputAction> || std::is_same_v<T, DropAction> || std::is_same_v<T, RecircAction> ||
               std::is_same_v<T, CloneAction> || std::is_same_v<T, SampleAction> ||
               std::is_same_v<T, CheckPktLenAction> || std::is_same_v<T, UserspaceAction>;
      },
      action.value);
}

using Actions = absl::Span<const Action>;

// The part of `actions` that has an effect: up to the last one that lets packets go, or the first drop.
Actions Effective(Actions actions) {
  size_t count = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (LetsGo(actions[i])) count = i + 1;
    if (std::holds_alternative<DropAction>(actions[i].value)) break;
  }
  return actions.subspan(0, count);
}

// Gathers packets and hands them on in batches.
template <typename Consume>
class Gather {
 public:
  explicit Gather(Consume consume) : consume_(consume) {}
  ~Gather() { Flush(); }
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  void Add(DpPacketPtr packet) {
    batch_.Add(std::move(packet));
    if (batch_.full()) Flush();
  }
  void Flush() {
    if (batch_.empty()) return;
    consume_(batch_);
    assert(batch_.empty());
  }

 private:
  Consume consume_;
  PacketBatch batch_;
};

class Executor {
 public:
  Executor(PacketPools& pools, ActionSink& sink) : pools_(pools), sink_(sink) {}

  void Run(PacketBatch& batch, Actions all, uint32_t cut, int depth) {
    if (depth > kMaxActionDepth) [[unlikely]]
      return DropAll(batch, DropReason::kActionDepth);
    Actions actions = Effective(all);
    if (actions.empty()) return DropAll(batch, DropReason::kActionDrop);
    Step step{batch, actions, actions.size() == 1, cut, depth};
    while (!step.rest.empty() && !batch.empty()) {
      step.last = step.rest.size() == 1;
      std::visit([this, &step](const auto& action) { Do(action, step); }, step.rest[0].value);
      step.rest.remove_prefix(1);
    }
  }

 private:
  // Where a list stands. The last action leaves `batch` empty.
  struct Step {
    PacketBatch& batch;
    Actions rest;  // this action first
    bool last;
    uint32_t cut;  // trunc: bytes that the next output sends, or kNoCut
    int depth;
  };

  void DropAll(PacketBatch& batch, DropReason reason) {
    for (size_t i = 0; i < batch.size(); ++i) sink_.Drop(batch.Take(i), reason);
    batch.Clear();
  }

  DpPacketPtr Copy(const DpPacket& packet) {
    DpPacketPtr copy = CopyPacket(packet, pools_);
    sink_.OnCopy(packet, FramesOf(packet), copy != nullptr);
    return copy;
  }
  // The packet itself for the last action, a copy for others, perhaps nullptr.
  DpPacketPtr Obtain(Step& step, size_t i) { return step.last ? step.batch.Take(i) : Copy(*step.batch[i]); }

  // Gives `consume` the batch itself or, where something follows, a copy of it.
  template <typename Consume>
  void WithBatch(Step& step, Consume consume) {
    if (step.last) return consume(step.batch);
    PacketBatch copies;
    for (DpPacket* packet : step.batch) {
      if (DpPacketPtr copy = Copy(*packet)) copies.Add(std::move(copy));
    }
    if (!copies.empty()) consume(copies);
  }

  // Changes every packet; those for which `change` is false are dropped.
  template <typename Change>
  void ChangeAll(Step& step, DropReason reason, Change change) {
    bool dropped = false;
    for (size_t i = 0; i < step.batch.size(); ++i) {
      if (change(*step.batch[i])) [[likely]]
        continue;
      sink_.Drop(step.batch.Take(i), reason);
      dropped = true;
    }
    if (dropped) step.batch.Compact();
  }

  // Segments ----------------------------------------------------------------------------------------------------------

  // Gives `consume` every segment of `super`. Without `owned` they count as copies of it. Segments for which there is
  // no buffer are dropped: the balance then has those that were made as copies of a packet that was dropped whole.
  template <typename Consume>
  void Segment(const DpPacket& super, DpPacketPtr owned, SegmentChecksum checksum, Consume consume) {
    GsoSegmenter segmenter(super, checksum);
    if (!segmenter.ok()) {
      if (owned == nullptr) return sink_.OnCopy(super, FramesOf(super), false);
      return sink_.Drop(std::move(owned), DropReason::kTxNotSegmentable);
    }
    uint32_t made = 0;
    while (!segmenter.done()) {
      DpPacketPtr segment = AllocateFor(segmenter.next_length(), pools_);
      if (segment == nullptr) break;
      segmenter.EmitNext(*segment);
      ++made;
      consume(std::move(segment));
    }
    uint32_t missing = segmenter.segment_count() - made;
    if (made > 0 && (owned == nullptr || missing > 0)) sink_.OnCopy(super, made, true);
    if (missing == 0) return;
    if (owned == nullptr) return sink_.OnCopy(super, missing, false);
    sink_.Drop(std::move(owned), DropReason::kCloneFailed);
  }
  // The same for the packet at `i`, taken out if this is the last action.
  template <typename Consume>
  void SegmentAt(Step& step, size_t i, SegmentChecksum checksum, Consume consume) {
    const DpPacket& super = *step.batch[i];
    Segment(super, step.last ? step.batch.Take(i) : nullptr, checksum, consume);
  }

  // Completes a postponed checksum, or drops.
  DpPacketPtr Completed(DpPacketPtr packet) {
    if (!packet->offload.IsPartial() || CompletePostponedChecksum(*packet)) return packet;
    sink_.Drop(std::move(packet), DropReason::kTxChecksumRange);
    return nullptr;
  }

  // Gives `consume` every frame that the packets stand for, complete with checksums and cut to step.cut.
  template <typename Consume>
  void WithCompleteFrames(Step& step, Consume consume) {
    auto finish = [&step, &consume](DpPacketPtr frame) {
      if (frame->length() > step.cut) {
        frame->Truncate(step.cut);
        frame->offload = Offload{};  // the checksum is one of bytes that are gone
        ParseLayers(*frame);
      }
      consume(std::move(frame));
    };
    for (size_t i = 0; i < step.batch.size(); ++i) {
      if (step.batch[i]->offload.IsSuper()) {
        SegmentAt(step, i, SegmentChecksum::kCompute, finish);
      } else if (DpPacketPtr packet = Obtain(step, i)) {
        packet = Completed(std::move(packet));
        if (packet != nullptr) finish(std::move(packet));
      }
    }
    if (step.last) step.batch.Clear();
  }

  // Runs this action and what follows on the segments of the super-packets and on the other packets, with complete
  // checksums. True if it did, and then the list is done; false if there is neither.
  bool ContinueWithCompleteFrames(Step& step) {
    bool needed = std::any_of(step.batch.begin(), step.batch.end(),
                              [](DpPacket* p) { return p->offload.IsSuper() || p->offload.IsPartial(); });
    if (!needed) return false;
    // The frames will not come here again, so this nests once.
    Gather frames([&](PacketBatch& batch) { Run(batch, step.rest, step.cut, step.depth); });
    Step whole{step.batch, step.rest, true, kNoCut, step.depth};
    WithCompleteFrames(whole, [&frames](DpPacketPtr frame) { frames.Add(std::move(frame)); });
    return true;
  }

  // Actions that let packets go
  // ------------------------------------------------------------------------------------------

  void Do(const OutputAction& output, Step& step) {
    bool cuts = step.cut != kNoCut && std::any_of(step.batch.begin(), step.batch.end(), [&step](DpPacket* packet) {
                  return LengthsOf(*packet).longest > step.cut;
                });
    if (!cuts) [[likely]] {
      WithBatch(step, [&](PacketBatch& batch) { sink_.Output(output.port, batch); });
    } else {
      Gather frames([&](PacketBatch& batch) { sink_.Output(output.port, batch); });
      WithCompleteFrames(step, [&frames](DpPacketPtr frame) { frames.Add(std::move(frame)); });
    }
    step.cut = kNoCut;
  }

  void Do(const UserspaceAction& userspace, Step& step) {
    WithCompleteFrames(step, [&](DpPacketPtr frame) { sink_.Userspace(std::move(frame), userspace); });
    step.cut = kNoCut;
  }

  void Do(const DropAction&, Step& step) { DropAll(step.batch, DropReason::kExplicitDrop); }

  void Do(const RecircAction& recirc, Step& step) {
    WithBatch(step, [&](PacketBatch& batch) {
      for (DpPacket* packet : batch) {
        packet->recirc_id = recirc.id;
        packet->flow_hash = 0;
      }
      sink_.Recirculate(batch);
    });
  }

  void Do(const CloneAction& clone, Step& step) {
    WithBatch(step, [&](PacketBatch& batch) { Run(batch, clone.actions, step.cut, step.depth + 1); });
  }

  void Do(const SampleAction& sample, Step& step) {
    Gather sampled([&](PacketBatch& batch) { Run(batch, sample.actions, step.cut, step.depth + 1); });
    for (size_t i = 0; i < step.batch.size(); ++i) {
      // A super-packet is sampled whole: one segment more or less is within chance.
      if (Chance(sample.probability)) {
        if (DpPacketPtr packet = Obtain(step, i)) sampled.Add(std::move(packet));
      } else if (step.last) {
        sink_.Drop(step.batch.Take(i), DropReason::kActionDrop);
      }
    }
    if (step.last) step.batch.Clear();
  }

  // Neighbours on one side go on together; order is kept across the sides.
  void Do(const CheckPktLenAction& check, Step& step) {
    bool greater = false;
    Gather side([&](PacketBatch& batch) {
      Run(batch, greater ? check.if_greater : check.if_less_or_equal, step.cut, step.depth + 1);
    });
    auto add = [&](DpPacketPtr packet, bool is_greater) {
      if (is_greater != greater) side.Flush();
      greater = is_greater;
      side.Add(std::move(packet));
    };
    for (size_t i = 0; i < step.batch.size(); ++i) {
      uint32_t tags = TagBytes(*step.batch[i]);
      FrameLengths lengths = LengthsOf(*step.batch[i]);
      bool is_greater = lengths.longest - tags > check.length;
      if (is_greater == (lengths.last - tags > check.length)) {
        if (DpPacketPtr packet = Obtain(step, i)) add(std::move(packet), is_greater);
      } else {
        SegmentAt(step, i, SegmentChecksum::kPostpone, [&](DpPacketPtr segment) {
          bool segment_is_greater = segment->length() - tags > check.length;
          add(std::move(segment), segment_is_greater);
        });
      }
    }
    if (step.last) step.batch.Clear();
  }

  // Actions that change packets
  // --------------------------------------------------------------------------------------------

  void Do(const SetAction& set, Step& step) {
    ChangeAll(step, DropReason::kActionMalformed, [&set](DpPacket& packet) { return ApplySet(packet, set); });
  }
  void Do(const PushVlanAction& push, Step& step) {
    ChangeAll(step, DropReason::kNoHeadroom, [&push](DpPacket& packet) { return PushVlan(packet, push); });
  }
  void Do(const PopVlanAction&, Step& step) {
    for (DpPacket* packet : step.batch) PopVlan(*packet);
  }
  void Do(const PushMplsAction& push, Step& step) {
    if (ContinueWithCompleteFrames(step)) return;
    ChangeAll(step, DropReason::kNoHeadroom, [&push](DpPacket& packet) { return PushMpls(packet, push); });
  }
  void Do(const PopMplsAction& pop, Step& step) {
    for (DpPacket* packet : step.batch) PopMpls(*packet, pop);
  }
  void Do(const HashAction& hash, Step& step) {
    bool symmetric = hash.algorithm == HashAction::Algorithm::kSymL4;
    for (DpPacket* packet : step.batch) {
      FlowKey key;
      ParsePacket(*packet, key);
      packet->dp_hash = symmetric ? SymmetricFlowHash(key, hash.basis) : FlowHash(key, hash.basis);
    }
  }
  void Do(const TruncAction& trunc, Step& step) { step.cut = trunc.max_length; }

  // True `probability` times in 2^32 - 1. The cycle counter's low bits are noise enough, spread by hashing.
  bool Chance(uint32_t probability) {
    if (probability == UINT32_MAX) return true;
    random_ = HashAdd(random_, CycleNow());
    return HashFinish(random_) < probability;
  }

  PacketPools& pools_;
  ActionSink& sink_;
  uint64_t random_ = 0;
};

}  // namespace

void ExecuteActions(PacketBatch& batch, const ActionList& actions, PacketPools& pools, ActionSink& sink) {
  if (batch.empty()) return;
  // Most flows: one output.
  if (actions.size() == 1) {
    if (const auto* output = std::get_if<OutputAction>(&actions[0].value)) return sink.Output(output->port, batch);
  }
  Executor(pools, sink).Run(batch, actions, kNoCut, 0);
}

}  // namespace sluice
