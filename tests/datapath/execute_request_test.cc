// Packets that come from no port: Datapath::Execute.
#include <atomic>
#include <mutex>

#include "tests/datapath/datapath_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeFrame;
using ::testing::SizeIs;

class ExecuteRequestTest : public testing::DatapathFixture {
 protected:
  void Execute(const std::string& actions, ExecuteRequest request) {
    auto parsed = ParseActions(actions, datapath_->MakePortNames());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    request.actions = *std::move(parsed);
    absl::Status status = datapath_->Execute(std::move(request));
    ASSERT_TRUE(status.ok()) << status;
    ++injected_;
  }
};

TEST_F(ExecuteRequestTest, SendsTheFrameAsItIs) {
  AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  std::vector<uint8_t> bytes = MakeFrame({}).bytes;
  Execute("2", {.frame = bytes, .in_port = 1});
  EXPECT_EQ(Settle().sent, 1u);
  auto sent = out.TakeSent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].bytes, bytes);
  EXPECT_EQ(datapath_->FindPort("p1")->Stats().rx.frames, 0u);
}

TEST_F(ExecuteRequestTest, KeepsTheOrderOfMoreThanTheQueueHolds) {
  DummyNetdev& out = AddPort("p1");
  std::vector<uint8_t> bytes = MakeFrame({}).bytes;
  constexpr size_t kCount = 3 * PmdThread::kMaxRequests;
  for (size_t i = 0; i < kCount; ++i) {
    bytes[bytes.size() - 1] = static_cast<uint8_t>(i);
    bytes[bytes.size() - 2] = static_cast<uint8_t>(i >> 8);
    Execute("1", {.frame = bytes});
  }
  EXPECT_EQ(Settle().sent, kCount);
  auto sent = out.TakeSent();
  ASSERT_THAT(sent, SizeIs(kCount));
  for (size_t i = 0; i < kCount; ++i) {
    size_t size = sent[i].bytes.size();
    EXPECT_EQ(sent[i].bytes[size - 1] | sent[i].bytes[size - 2] << 8, static_cast<int>(i));
  }
}

TEST_F(ExecuteRequestTest, AccountsForCopiesAndDropsAlsoWhenTheThreadIsGone) {
  AddPort("p1");
  std::vector<uint8_t> bytes = MakeFrame({}).bytes;
  Execute("1,1,1", {.frame = bytes});
  Execute("77", {.frame = bytes});
  Execute("drop", {.frame = bytes});
  Execute("userspace(pid=1)", {.frame = bytes});
  for (int round = 0; round < 2; ++round) {
    Conservation sum = Settle();
    EXPECT_EQ(sum.sent, 3u);
    EXPECT_EQ(sum.copies, 2u);
    EXPECT_EQ(sum.drops[DropReason::kNoPort], 1u);
    EXPECT_EQ(sum.drops[DropReason::kActionDrop] + sum.drops[DropReason::kExplicitDrop], 1u);
    EXPECT_EQ(sum.drops[DropReason::kUserspace], 1u);
    // The other thread, or the only one again.
    CpuSet last({*std::prev(CpuSet::Allowed().end())});
    ASSERT_TRUE(datapath_->SetPmdCores(last).ok());
  }
}

TEST_F(ExecuteRequestTest, RefusesWhatIsNoFrame) {
  EXPECT_THAT(Message(datapath_->Execute({.frame = std::vector<uint8_t>(13)})),
              HasSubstr("a packet of 13 bytes cannot be sent, expected 14 to 65536"));
  EXPECT_FALSE(datapath_->Execute({.frame = std::vector<uint8_t>(65537)}).ok());
  Execute("drop", {.frame = std::vector<uint8_t>(14)});
  Execute("drop", {.frame = std::vector<uint8_t>(65536)});
  EXPECT_EQ(TotalDrops(Settle().drops), 2u);
}

TEST_F(ExecuteRequestTest, IsDoneBeforeALaterChange) {
  DummyNetdev& out = AddPort("p1");
  for (int i = 0; i < 100; ++i) Execute("1", {.frame = MakeFrame({}).bytes});
  Settle();
  EXPECT_EQ(out.sent_count(), 100u);
  for (int i = 0; i < 50; ++i) Execute("1", {.frame = MakeFrame({}).bytes});
  ASSERT_TRUE(datapath_->RemovePort(1).ok());
  EXPECT_EQ(Settle().sent, 150u);
}

// What a miss behind a recirculation is asked about.
class RecordingHandler final : public UpcallHandler {
 public:
  UpcallVerdict OnMiss(const FlowKey& key, const DpPacket& packet) override {
    std::lock_guard lock(mutex);
    keys.push_back(key);
    frames.emplace_back(packet.length());
    packet.CopyOut(0, packet.length(), frames.back().data());
    return {.actions = {{OutputAction{.port = 1}}}, .install = false};
  }
  bool OnUserspace(const FlowKey& key, const DpPacket& packet, const UserspaceAction& action) override {
    std::lock_guard lock(mutex);
    keys.push_back(key);
    frames.emplace_back(packet.length());
    userdata = action.userdata;
    return true;
  }
  std::mutex mutex;
  std::vector<FlowKey> keys;
  std::vector<std::vector<uint8_t>> frames;
  std::vector<uint8_t> userdata;
};

class RecirculatedMissTest : public ExecuteRequestTest {
 protected:
  void SetUp() override {
    ExecuteRequestTest::SetUp();
    out_ = &AddPort("p1");
    in_ = &AddPort("p2");
    datapath_->SetUpcallHandler(&handler_);
  }
  void TearDown() override { datapath_->SetUpcallHandler(nullptr); }

  RecordingHandler handler_;
  DummyNetdev* in_ = nullptr;
  DummyNetdev* out_ = nullptr;
};

TEST_F(RecirculatedMissTest, SeesThePacketAsItIsThen) {
  AddFlow("recirc_id(0),in_port(2)", "push_vlan(vid=7,pcp=3),set(ipv4(ttl=9)),recirc(0x5)");
  Inject(*in_, MakeFrame({}).bytes);
  Settle();
  ASSERT_THAT(handler_.keys, SizeIs(1));
  const FlowKey& key = handler_.keys[0];
  EXPECT_EQ(key.recirc_id, 5u);
  EXPECT_EQ(key.in_port, 2u);
  EXPECT_EQ(key.vlan_tci.Get(), 0x7007);
  EXPECT_EQ(key.ip_ttl, 9);
  auto sent = out_->TakeSent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(handler_.frames[0], sent[0].bytes);
}

TEST_F(RecirculatedMissTest, KnowsTheHash) {
  AddFlow("recirc_id(0),in_port(2)", "hash(l4(0)),recirc(0x1)");
  AddFlow("recirc_id(0x1),in_port(2),dp_hash(0/0x1)", "recirc(0x2)");
  AddFlow("recirc_id(0x1),in_port(2),dp_hash(0x1/0x1)", "recirc(0x2)");
  Inject(*in_, MakeFrame({}).bytes);
  Settle();
  ASSERT_THAT(handler_.keys, SizeIs(1));
  EXPECT_EQ(handler_.keys[0].recirc_id, 2u);
  EXPECT_NE(handler_.keys[0].dp_hash, 0u);
}

TEST_F(RecirculatedMissTest, OfARequestHasTheMetadataOfTheRequest) {
  Execute("recirc(0x3)",
          {.frame = MakeFrame({}).bytes, .in_port = 2, .skb_mark = 11, .skb_priority = 12, .dp_hash = 13});
  EXPECT_EQ(Settle().sent, 1u);
  ASSERT_THAT(handler_.keys, SizeIs(1));
  const FlowKey& key = handler_.keys[0];
  EXPECT_EQ(key.recirc_id, 3u);
  EXPECT_EQ(key.in_port, 2u);
  EXPECT_EQ(key.skb_mark, 11u);
  EXPECT_EQ(key.skb_priority, 12u);
  EXPECT_EQ(key.dp_hash, 13u);
}

TEST_F(RecirculatedMissTest, OfASuperPacketInsideNestedListsIsOneMiss) {
  AddFlow("recirc_id(0),in_port(2)", "sample(sample=100%,actions(check_pkt_len(size=200,gt(recirc(0x4)),le(drop))))");
  InjectSuper(*in_, MakeFrame({.payload = 3 * 1448}), 1448);
  EXPECT_EQ(Settle().sent, 3u);
  ASSERT_THAT(handler_.keys, SizeIs(1));
  EXPECT_EQ(handler_.keys[0].recirc_id, 4u);
}

TEST_F(RecirculatedMissTest, UserspaceGetsItsDataBehindARecirculation) {
  AddFlow("recirc_id(0),in_port(2)", "pop_vlan,recirc(0x6)");
  AddFlow("recirc_id(0x6),in_port(2)", "userspace(pid=0,userdata(0102ff))");
  Inject(*in_, MakeFrame({.vlan_tags = 1}).bytes);
  EXPECT_EQ(Settle().consumed, 1u);
  ASSERT_THAT(handler_.keys, SizeIs(1));
  EXPECT_EQ(handler_.keys[0].recirc_id, 6u);
  EXPECT_EQ(handler_.keys[0].vlan_tci.Get(), 0);
  EXPECT_THAT(handler_.userdata, ElementsAre(1, 2, 0xff));
}

}  // namespace
}  // namespace sluice
