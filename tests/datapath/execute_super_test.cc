// On a super-packet every action behaves as if on each of its segments: executing and then segmenting gives the same
// frames, at the same places and in the same order, as segmenting and then executing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "datapath/execute.h"
#include "lib/packet/egress.h"
#include "lib/packet/gso.h"
#include "tests/datapath/execute_support.h"
#include "tests/lib/packet/super_packet.h"

namespace sluice::testing {
namespace {

// Everything that arrives, in wire frames with all checksums complete, by where it arrives.
using Arrivals = std::map<std::string, std::vector<Bytes>>;

void AddFrames(DpPacket& packet, std::vector<Bytes>& frames) {
  if (!packet.offload.IsSuper()) {
    if (packet.offload.IsPartial()) {
      EXPECT_TRUE(CompletePostponedChecksum(packet));
    }
    frames.push_back(BytesOf(packet));
    return;
  }
  GsoSegmenter segmenter(packet, SegmentChecksum::kCompute);
  EXPECT_TRUE(segmenter.ok());
  while (segmenter.ok() && !segmenter.done()) {
    Bytes frame(segmenter.next_length());
    segmenter.WriteNext(frame.data());
    frames.push_back(frame);
  }
}

class ExecuteSuperTest : public ::testing::Test {
 protected:
  ExecuteSuperTest() : pools_(*PacketPools::Create(8192, 256)), seed_(std::random_device()()), random_(seed_) {
    std::printf("seed %u\n", seed_);
  }

  // Where nothing else goes: what arrives from different actions is in no order.
  unsigned NewPlace() { return ++places_; }
  unsigned Random(unsigned bound) { return random_() % bound; }
  template <size_t kSize>
  std::string OneOf(const char* const (&texts)[kSize]) {
    return texts[Random(kSize)];
  }

  std::string RandomAction(int depth) {
    switch (Random(depth < 2 ? 12 : 8)) {
      case 0:
        return fmt::format("set(eth(src=02:00:00:00:00:{:02x}))", Random(256));
      case 1:
        return OneOf({"set(ipv4(src=9.8.7.6,tos=0x3))", "set(ipv4(dst=1.2.0.0/255.255.0.0,ttl=9))"});
      case 2:
        return OneOf({"set(ipv6(src=fd00::9,hlimit=3))", "set(ipv6(dst=fd01::/ffff::,label=0x5,tclass=0x1))"});
      case 3:
        return fmt::format("set({}(src={},dst={}))", OneOf({"tcp", "udp"}), Random(65536), Random(65536));
      case 4:
        return OneOf({"push_vlan(vid=7,pcp=1)", "push_vlan(tpid=0x88a8,vid=9)", "pop_vlan", "set(vlan(vid=3))"});
      case 5:
        return OneOf({"push_mpls(label=5,tc=1,ttl=9,bos=1,eth_type=0x8847)", "pop_mpls(eth_type=0x800)",
                      "pop_mpls(eth_type=0x86dd)"});
      case 6:
        return fmt::format("trunc({}),{}", 14 + Random(2000), NewPlace());
      case 7:
        return fmt::format("{}", NewPlace());
      case 8:
        return fmt::format("clone({})", RandomList(depth + 1));
      case 9:
        return fmt::format("check_pkt_len(size={},gt({}),le({}))", 60 + Random(1600), RandomList(depth + 1),
                           RandomList(depth + 1));
      case 10:
        return fmt::format("userspace(pid={})", NewPlace());
      default:
        return fmt::format("recirc({})", NewPlace());
    }
  }
  std::string RandomList(int depth) {
    std::string text;
    for (unsigned i = Random(4) + 1; i > 0; --i) text += RandomAction(depth) + ",";
    return text + fmt::format("{}", NewPlace());
  }

  // Gives one batch to the actions and adds what comes out to `arrivals`.
  void Run(const ActionList& actions, PacketBatch& batch, Arrivals& arrivals) {
    RecordingSink sink;
    sink.keep = true;
    uint64_t frames = 0;
    for (DpPacket* packet : batch) frames += WireFrames(*packet);
    ExecuteActions(batch, actions, pools_, sink);
    EXPECT_EQ(sink.Balance(), frames);
    EXPECT_EQ(sink.failed_copies(), 0u);
    for (auto& [where, packet] : sink.kept) {
      // What a dropped packet looks like is nobody's affair.
      if (where.substr(0, 4) == "drop") {
        arrivals[where].resize(arrivals[where].size() + WireFrames(*packet));
      } else {
        AddFrames(*packet, arrivals[where]);
      }
    }
  }

  DpPacketPtr LoadRandomly(const SuperPacket& super) {
    auto size = static_cast<uint32_t>(super.frame.size());
    uint32_t head = std::min<uint32_t>(size, super.payload_offset + Random(300));
    return LoadSuper(super, pools_, head, Random(2) ? 0 : 1000 + Random(3000));
  }

  PacketPools pools_;
  const unsigned seed_;
  std::mt19937 random_;
  unsigned places_ = 0;
};

TEST_F(ExecuteSuperTest, ExecutingCommutesWithSegmenting) {
  for (int round = 0; round < 1500; ++round) {
    std::string text = RandomList(0);
    ActionList actions = Actions(text);
    SuperPacket super = MakeSuper(RandomSuperOptions(random_), random_);
    if (super.SegmentCount() > 100) continue;
    SCOPED_TRACE(fmt::format("round {}: {} on {} segments of {}", round, text, super.SegmentCount(),
                             super.options.segment_size));

    Arrivals whole;
    PacketBatch batch;
    batch.Add(LoadRandomly(super));
    Run(actions, batch, whole);

    Arrivals apart;
    DpPacketPtr again = LoadRandomly(super);
    std::vector<Bytes> segments;
    AddFrames(*again, segments);
    again.reset();
    for (const Bytes& segment : segments) {
      batch.Add(Load(segment, pools_, std::min<size_t>(segment.size(), 2048)));
      Run(actions, batch, apart);
    }

    ASSERT_EQ(whole.size(), apart.size());
    for (const auto& [where, frames] : apart) {
      ASSERT_EQ(whole[where].size(), frames.size()) << where;
      for (size_t i = 0; i < frames.size(); ++i) {
        ASSERT_EQ(ToHex(whole[where][i]), ToHex(frames[i])) << where << " frame " << i;
      }
    }
    ASSERT_EQ(pools_.small->OutstandingCount(), 0u);
    ASSERT_EQ(pools_.large->OutstandingCount(), 0u);
  }
}

SuperPacket TcpSuper(std::mt19937& random, uint32_t payload) {
  return MakeSuper({.payload_bytes = payload, .segment_size = 1000}, random);
}

TEST_F(ExecuteSuperTest, StaysWholeWhereAllSegmentsFareAlike) {
  SuperPacket super = TcpSuper(random_, 10500);
  for (std::string_view text :
       {"set(ipv4(ttl=3)),set(tcp(dst=1)),push_vlan(vid=1),1", "clone(2),1", "check_pkt_len(size=1400,gt(2),le(1))",
        "check_pkt_len(size=500,gt(1),le(2))", "trunc(1054),1", "hash(l4(0)),recirc(1)"}) {
    RecordingSink sink;
    PacketBatch batch;
    batch.Add(LoadRandomly(super));
    ExecuteActions(batch, Actions(text), pools_, sink);
    for (const auto& event : sink.events) EXPECT_EQ(event.frames, 11u) << text;
  }
}

TEST_F(ExecuteSuperTest, TellsTheLastSegmentApartByItsLength) {
  RecordingSink sink;
  PacketBatch batch;
  batch.Add(LoadRandomly(TcpSuper(random_, 10500)));
  ExecuteActions(batch, Actions("check_pkt_len(size=800,gt(1),le(2))"), pools_, sink);
  ASSERT_EQ(sink.events.size(), 11u);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(sink.events[i].where, "output 1");
  EXPECT_EQ(sink.events[10].where, "output 2");
}

// Buffers for four segments of eleven.
TEST_F(ExecuteSuperTest, BalancesWhenThePoolRunsDryInTheMiddle) {
  for (std::string_view text : {"userspace(pid=1)", "userspace(pid=1),1"}) {
    RecordingSink sink;
    sink.keep = true;
    PacketBatch batch;
    batch.Add(LoadRandomly(TcpSuper(random_, 10500)));
    std::vector<DpPacketPtr> hoard;
    while (DpPacketPtr packet = pools_.small->Allocate()) hoard.push_back(std::move(packet));
    hoard.resize(hoard.size() - 4);
    ExecuteActions(batch, Actions(text), pools_, sink);
    EXPECT_EQ(sink.Balance(), 11u) << text;
    EXPECT_EQ(std::count_if(sink.events.begin(), sink.events.end(), [](auto& e) { return e.where == "userspace 1"; }),
              4);
  }
}

TEST_F(ExecuteSuperTest, DropsASuperPacketThatCannotBeSegmented) {
  RecordingSink sink;
  PacketBatch batch;
  DpPacketPtr packet = LoadRandomly(TcpSuper(random_, 5000));
  packet->offload.csum_offset = 6;
  batch.Add(std::move(packet));
  ExecuteActions(batch, Actions("userspace(pid=1)"), pools_, sink);
  EXPECT_EQ(sink.Summary(), "drop tx_not_segmentable");
  EXPECT_EQ(sink.Balance(), 5u);
}

}  // namespace
}  // namespace sluice::testing
