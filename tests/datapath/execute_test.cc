#include "datapath/execute.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/actions/packet_copy.h"
#include "datapath/actions/tags.h"
#include "lib/packet/egress.h"
#include "lib/packet/parse.h"
#include "tests/datapath/execute_support.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

const Bytes kTcp = MakeFrame({}, MakeTransport(6, 100));
const Bytes kUdp6 = MakeFrame({.version = 6, .protocol = 17}, MakeTransport(17, 50));

class ExecuteTest : public ::testing::Test {
 protected:
  ExecuteTest() : pools_(*PacketPools::Create(256, 16)) {}
  ~ExecuteTest() override {
    sink_.kept.clear();
    EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
    EXPECT_EQ(pools_.large->OutstandingCount(), 0u);
  }

  // Runs `text` on packets with these bytes and expects the books to balance.
  void Execute(std::string_view text, const std::vector<Bytes>& frames, size_t head = 0) {
    PacketBatch batch;
    for (const Bytes& frame : frames) batch.Add(Load(frame, pools_, head));
    Execute(Actions(text), batch);
  }
  void Execute(const ActionList& actions, PacketBatch& batch) {
    uint64_t frames = 0;
    for (DpPacket* packet : batch) frames += WireFrames(*packet);
    ExecuteActions(batch, actions, pools_, sink_);
    EXPECT_TRUE(batch.empty());
    EXPECT_EQ(sink_.Balance(), frames);
  }
  const Bytes& OnlyOutput() {
    EXPECT_EQ(sink_.Summary(), "output 1");
    static const Bytes kNone;
    return sink_.events.empty() ? kNone : sink_.events[0].bytes;
  }

  PacketPools pools_;
  RecordingSink sink_;
};

TEST_F(ExecuteTest, GivesTheLastOutputThePacketItself) {
  PacketBatch batch;
  batch.Add(Load(kTcp, pools_));
  const DpPacket* original = batch[0];
  Execute(Actions("1,2,3"), batch);
  EXPECT_EQ(sink_.Summary(), "output 1, output 2, output 3");
  EXPECT_EQ(sink_.copies(), 2u);
  EXPECT_NE(sink_.events[0].packet, original);
  EXPECT_EQ(sink_.events[2].packet, original);
  for (const auto& event : sink_.events) EXPECT_EQ(event.bytes, kTcp);
}

TEST_F(ExecuteTest, RunsEachActionOverTheWholeBatch) {
  Execute("1,2", {kTcp, kUdp6});
  EXPECT_EQ(sink_.Summary(), "output 1, output 1, output 2, output 2");
}

TEST_F(ExecuteTest, DropsWhatNothingLetsGo) {
  for (std::string_view text : {"", "set(eth(src=00:00:00:00:00:01))", "push_vlan(vid=1)", "trunc(60)"}) {
    sink_.events.clear();
    Execute(text, {kTcp});
    EXPECT_EQ(sink_.Summary(), "drop action_drop") << text;
    sink_ = RecordingSink();
  }
  Execute("drop", {kTcp});
  EXPECT_EQ(sink_.Summary(), "drop explicit_drop");
}

TEST_F(ExecuteTest, EndsTheListAtDrop) {
  ActionList actions = Actions("1,drop,2");
  PacketBatch batch;
  batch.Add(Load(kTcp, pools_));
  Execute(actions, batch);
  EXPECT_EQ(sink_.Summary(), "output 1, drop explicit_drop");
}

TEST_F(ExecuteTest, DoesNotCopyForActionsThatHaveNoEffectAnyMore) {
  Execute("1,set(eth(src=00:00:00:00:00:01)),push_vlan(vid=1)", {kTcp});
  EXPECT_EQ(OnlyOutput(), kTcp);
  EXPECT_EQ(sink_.copies(), 0u);
}

TEST_F(ExecuteTest, CopiesChainsAndMetadata) {
  Bytes large = MakeFrame({}, MakeTransport(6, 50000));
  PacketBatch batch;
  batch.Add(Load(large, pools_, 2048));
  batch[0]->offload.l4 = ChecksumState::kGood;
  batch[0]->skb_mark = 77;
  sink_.keep = true;
  Execute(Actions("1,2"), batch);
  ASSERT_EQ(sink_.kept.size(), 2u);
  for (const auto& [where, packet] : sink_.kept) {
    EXPECT_EQ(BytesOf(*packet), large);
    EXPECT_EQ(packet->offload.l4, ChecksumState::kGood);
    EXPECT_EQ(packet->skb_mark, 77u);
    EXPECT_EQ(packet->l4_offset, 34);
  }
  EXPECT_TRUE(sink_.kept[0].second->IsLinear());
  EXPECT_GE(sink_.kept[0].second->headroom(), 64u);
}

TEST_F(ExecuteTest, CopiesTheLargestPacket) {
  Bytes huge = MakeFrame({.version = 6}, MakeTransport(6, 65535 - 32));
  DpPacketPtr packet = Load(huge, pools_, 2048);
  DpPacketPtr copy = CopyPacket(*packet, pools_);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(BytesOf(*copy), huge);
}

TEST_F(ExecuteTest, CountsACopyForWhichThereIsNoBuffer) {
  std::vector<DpPacketPtr> hoard;
  PacketBatch batch;
  batch.Add(Load(kTcp, pools_));
  while (DpPacketPtr packet = pools_.small->Allocate()) hoard.push_back(std::move(packet));
  Execute(Actions("1,clone(2),userspace(pid=1),recirc(1),sample(sample=100.0%,actions(5)),9"), batch);
  EXPECT_EQ(sink_.Summary(), "output 9");
  EXPECT_EQ(sink_.failed_copies(), 5u);
}

// VLAN and MPLS
// -----------------------------------------------------------------------------------------------------------

TEST_F(ExecuteTest, PushesAndPopsVlanTags) {
  Bytes tagged = MakeFrame({.vlan_tpids = {0x8100}}, MakeTransport(6, 100));  // vid 5, pcp 1
  Execute("push_vlan(vid=5,pcp=1),1", {kTcp});
  EXPECT_EQ(OnlyOutput(), tagged);
  EXPECT_EQ(sink_.events[0].l3_offset, 18);
  EXPECT_EQ(sink_.events[0].l4_offset, 38);
  EXPECT_EQ(sink_.events[0].payload_offset, 38 + 28);

  sink_ = RecordingSink();
  Execute("push_vlan(vid=5,pcp=1),push_vlan(tpid=0x88a8,vid=5,pcp=1),1", {kTcp});
  EXPECT_EQ(OnlyOutput(), MakeFrame({.vlan_tpids = {0x88a8, 0x8100}}, MakeTransport(6, 100)));

  sink_ = RecordingSink();
  Execute("pop_vlan,1", {tagged});
  EXPECT_EQ(OnlyOutput(), kTcp);
  EXPECT_EQ(sink_.events[0].l4_offset, 34);

  sink_ = RecordingSink();
  Execute("pop_vlan,1", {kTcp});
  EXPECT_EQ(OnlyOutput(), kTcp);
}

TEST_F(ExecuteTest, FindsTheLayersBehindAThirdTag) {
  Execute("pop_vlan,1", {MakeFrame({.vlan_tpids = {0x8100, 0x8100, 0x8100}}, MakeTransport(6, 100))});
  EXPECT_EQ(sink_.events[0].l3_offset, 22);
  EXPECT_EQ(sink_.events[0].l4_offset, 42);
}

TEST_F(ExecuteTest, PushesAndPopsMplsLabels) {
  Bytes labelled = kTcp;
  labelled[12] = 0x88;
  labelled[13] = 0x47;
  Bytes label = FromHex("00064140");  // label 100, tc 0, bottom, ttl 64
  labelled.insert(labelled.begin() + 14, label.begin(), label.end());
  Execute("push_mpls(label=100,tc=0,ttl=64,bos=1,eth_type=0x8847),1", {kTcp});
  EXPECT_EQ(OnlyOutput(), labelled);
  EXPECT_EQ(sink_.events[0].l3_offset, kNoOffset);

  sink_ = RecordingSink();
  Execute("pop_mpls(eth_type=0x800),1", {labelled});
  EXPECT_EQ(OnlyOutput(), kTcp);
  EXPECT_EQ(sink_.events[0].l3_offset, 14);
  EXPECT_EQ(sink_.events[0].l4_offset, 34);

  sink_ = RecordingSink();
  Execute("set(mpls(label=100,tc=0,ttl=9,bos=1)),1", {labelled});
  EXPECT_EQ(OnlyOutput()[17], 9);

  sink_ = RecordingSink();
  Execute("pop_mpls(eth_type=0x800),1", {kTcp});
  EXPECT_EQ(OnlyOutput(), kTcp);
}

TEST_F(ExecuteTest, PutsALabelBehindTags) {
  Bytes tagged = MakeFrame({.vlan_tpids = {0x8100}}, MakeTransport(6, 4));
  Execute("push_mpls(label=1,tc=0,ttl=64,bos=1,eth_type=0x8847),1", {tagged});
  const Bytes& out = OnlyOutput();
  EXPECT_EQ(out[12], 0x81);
  EXPECT_EQ(out[16] << 8 | out[17], 0x8847);
  EXPECT_EQ(out[22], tagged[18]);
}

TEST_F(ExecuteTest, DropsWhatHasNoRoomForAHeader) {
  for (std::string_view text : {"push_vlan(vid=1),1", "push_mpls(label=1,eth_type=0x8847),1"}) {
    PacketBatch batch;
    for (int i = 0; i < 3; ++i) batch.Add(Load(kTcp, pools_));
    DpPacket& middle = *batch[1];
    while (middle.headroom() > 3) middle.PushFront(1);
    std::copy(kTcp.begin(), kTcp.end(), middle.data());
    Execute(Actions(text), batch);
    EXPECT_EQ(sink_.Summary(), "drop no_headroom, output 1, output 1");
    sink_ = RecordingSink();
  }
}

TEST_F(ExecuteTest, DropsWhatLacksTheHeaderToSet) {
  Execute("set(tcp(src=1)),1", {kTcp, kUdp6, kTcp});
  EXPECT_EQ(sink_.Summary(), "drop action_malformed, output 1, output 1");
}

// Nested lists
// ------------------------------------------------------------------------------------------------------------

TEST_F(ExecuteTest, KeepsWhatACloneDoesFromTheRest) {
  Execute("clone(push_vlan(vid=5,pcp=1),1),2", {kTcp});
  EXPECT_EQ(sink_.Summary(), "output 1, output 2");
  EXPECT_EQ(sink_.events[0].bytes.size(), kTcp.size() + 4);
  EXPECT_EQ(sink_.events[1].bytes, kTcp);
}

TEST_F(ExecuteTest, CopiesNothingForACloneAtTheEnd) {
  Execute("clone(1)", {kTcp});
  EXPECT_EQ(sink_.Summary(), "output 1");
  EXPECT_EQ(sink_.copies(), 0u);
}

TEST_F(ExecuteTest, Samples) {
  Execute("sample(sample=100.0%,actions(1)),2", {kTcp});
  EXPECT_EQ(sink_.Summary(), "output 1, output 2");
  sink_ = RecordingSink();
  Execute("sample(sample=0.0%,actions(1)),2", {kTcp});
  EXPECT_EQ(sink_.Summary(), "output 2");
  EXPECT_EQ(sink_.copies(), 0u);
  sink_ = RecordingSink();
  Execute("sample(sample=0.0%,actions(1))", {kTcp});
  EXPECT_EQ(sink_.Summary(), "drop action_drop");
}

TEST_F(ExecuteTest, SamplesAsOftenAsAsked) {
  ActionList actions = Actions("sample(sample=25.0%,actions(1))");
  for (int i = 0; i < 500; ++i) {
    PacketBatch batch;
    for (int j = 0; j < 16; ++j) batch.Add(Load(kTcp, pools_));
    ExecuteActions(batch, actions, pools_, sink_);
  }
  auto sampled =
      std::count_if(sink_.events.begin(), sink_.events.end(), [](const auto& e) { return e.where == "output 1"; });
  EXPECT_NEAR(static_cast<double>(sampled), 2000, 250);  // more than six standard deviations
}

TEST_F(ExecuteTest, LimitsDepth) {
  ActionList actions = Actions("1");
  for (int i = 0; i < kMaxActionDepth; ++i) {
    ActionList outer(1);
    outer[0].value = CloneAction{actions};
    actions = outer;
  }
  PacketBatch batch;
  batch.Add(Load(kTcp, pools_));
  Execute(actions, batch);
  EXPECT_EQ(sink_.Summary(), "output 1");

  sink_ = RecordingSink();
  ActionList deeper(1);
  deeper[0].value = CloneAction{actions};
  batch.Add(Load(kTcp, pools_));
  Execute(deeper, batch);
  EXPECT_EQ(sink_.Summary(), "drop action_depth");
}

TEST_F(ExecuteTest, ChecksTheLengthWithoutTags) {
  std::string text = fmt::format("check_pkt_len(size={},gt(1),le(2))", kTcp.size());
  Execute(text, {kTcp, MakeFrame({}, MakeTransport(6, 101)),
                 MakeFrame({.vlan_tpids = {0x88a8, 0x8100}}, MakeTransport(6, 100))});
  EXPECT_EQ(sink_.Summary(), "output 2, output 1, output 2");
  sink_ = RecordingSink();
  Execute("check_pkt_len(size=60,gt(drop),le(2)),3", {kTcp});
  EXPECT_EQ(sink_.Summary(), "drop explicit_drop, output 3");
}

// Recirculation, hash, userspace, trunc
// -----------------------------------------------------------------------------------

TEST_F(ExecuteTest, Recirculates) {
  Execute("recirc(0x7),push_vlan(vid=1),1", {kTcp});
  EXPECT_EQ(sink_.Summary(), "recirculate 7, output 1");
  EXPECT_EQ(sink_.events[0].bytes, kTcp);
}

TEST_F(ExecuteTest, HashesWhatThePacketIsNow) {
  FlowKey key;
  ParsePacket(*Load(kTcp, pools_), key);
  Execute("hash(l4(5)),recirc(1)", {kTcp});
  EXPECT_EQ(sink_.events[0].dp_hash, FlowHash(key, 5));
  sink_ = RecordingSink();
  Execute("hash(sym_l4(0)),recirc(1)", {kTcp});
  EXPECT_EQ(sink_.events[0].dp_hash, SymmetricFlowHash(key, 0));
  sink_ = RecordingSink();
  key.tp_src = Be16(9);
  Execute("set(tcp(src=9)),hash(l4(5)),recirc(1)", {kTcp});
  EXPECT_EQ(sink_.events[0].dp_hash, FlowHash(key, 5));
}

TEST_F(ExecuteTest, GivesUserspaceCompleteChecksums) {
  Bytes partial = kTcp;
  size_t at = ChecksumAt(partial);
  partial[at] = static_cast<uint8_t>(PseudoSum(kTcp) >> 8);
  partial[at + 1] = static_cast<uint8_t>(PseudoSum(kTcp));
  PacketBatch batch;
  batch.Add(Load(partial, pools_));
  batch[0]->offload = {.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 16};
  Execute(Actions("userspace(pid=3),1"), batch);
  EXPECT_EQ(sink_.Summary(), "userspace 3, output 1");
  EXPECT_EQ(sink_.events[0].bytes, kTcp);
  EXPECT_EQ(sink_.events[1].bytes, partial);
  EXPECT_EQ(sink_.events[1].offload.l4, ChecksumState::kPartial);
}

TEST_F(ExecuteTest, DropsAPostponedChecksumThatCannotBeCompleted) {
  PacketBatch batch;
  batch.Add(Load(kTcp, pools_));
  batch[0]->offload = {.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 5000};
  Execute(Actions("userspace(pid=3)"), batch);
  EXPECT_EQ(sink_.Summary(), "drop tx_checksum_range");
}

TEST_F(ExecuteTest, TruncatesForTheNextOutputOnly) {
  Execute("trunc(60),1,2", {kTcp});
  EXPECT_EQ(sink_.Summary(), "output 1, output 2");
  EXPECT_EQ(sink_.events[0].bytes, Bytes(kTcp.begin(), kTcp.begin() + 60));
  EXPECT_EQ(sink_.events[0].l4_offset, kNoOffset);
  EXPECT_EQ(sink_.events[1].bytes, kTcp);
  sink_ = RecordingSink();
  Execute("trunc(2000),1", {kTcp});
  EXPECT_EQ(OnlyOutput(), kTcp);
  EXPECT_EQ(sink_.copies(), 0u);
}

TEST_F(ExecuteTest, TruncatesAcrossBuffers) {
  for (std::string_view text : {"trunc(90),1", "trunc(80),1", "trunc(14),1"}) {
    Execute(text, {kTcp}, 80);
    size_t size = std::stoul(std::string(text.substr(6)));
    EXPECT_EQ(OnlyOutput(), Bytes(kTcp.begin(), kTcp.begin() + static_cast<ptrdiff_t>(size)));
    sink_ = RecordingSink();
  }
}

TEST_F(ExecuteTest, TruncatesAPacketWhoseChecksumIsPostponedAfterCompletingIt) {
  Bytes partial = kTcp;
  size_t at = ChecksumAt(partial);
  partial[at] = static_cast<uint8_t>(PseudoSum(kTcp) >> 8);
  partial[at + 1] = static_cast<uint8_t>(PseudoSum(kTcp));
  PacketBatch batch;
  batch.Add(Load(partial, pools_));
  batch[0]->offload = {.l4 = ChecksumState::kPartial, .csum_start = 34, .csum_offset = 16};
  Execute(Actions("trunc(70),1"), batch);
  EXPECT_EQ(OnlyOutput(), Bytes(kTcp.begin(), kTcp.begin() + 70));
  EXPECT_EQ(sink_.events[0].offload.l4, ChecksumState::kUnknown);
}

}  // namespace
}  // namespace sluice::testing
