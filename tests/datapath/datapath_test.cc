#include "datapath/datapath.h"

#include "tests/datapath/datapath_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using testing::Frame;
using testing::FrameSpec;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeFrame;
using ::testing::SizeIs;

class DatapathTest : public testing::DatapathFixture {};

TEST_F(DatapathTest, ForwardsBytesUnchanged) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  Frame frame = MakeFrame({});
  Inject(in, frame.bytes);
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, 1u);
  auto sent = out.TakeSent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].bytes, frame.bytes);
  EXPECT_THAT(in.TakeSent(), IsEmpty());
}

TEST_F(DatapathTest, KeepsTheOrderOfAFlowAcrossBatches) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  std::vector<uint8_t> bytes = MakeFrame({}).bytes;
  for (int i = 0; i < 200; ++i) {
    bytes.back() = static_cast<uint8_t>(i);
    Inject(in, bytes);
  }
  Settle();
  auto sent = out.TakeSent();
  ASSERT_THAT(sent, SizeIs(200));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(sent[static_cast<size_t>(i)].bytes.back(), static_cast<uint8_t>(i));
}

TEST_F(DatapathTest, CountsPerFlowInPacketsFramesBytesAndFlags) {
  DummyNetdev& in = AddPort("p1");
  AddPort("p2");
  AddFlow("in_port(1)", "2");
  Inject(in, MakeFrame({.payload = 100}).bytes);
  Frame super = MakeFrame({.payload = 4344});
  InjectSuper(in, super, 1448);
  Settle();
  FlowStats stats = StatsOfOnlyFlow();
  EXPECT_EQ(stats.packets, 2u);
  EXPECT_EQ(stats.wire_frames, 4u);
  uint64_t headers = super.payload;
  EXPECT_EQ(stats.bytes, headers + 100 + 3 * headers + 4344);
  EXPECT_EQ(stats.tcp_flags, uint64_t{kTcpAck});
  EXPECT_GT(stats.last_used_ms, 0u);
}

TEST_F(DatapathTest, SuperPacketPassesWholeAndIsCountedExactly) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  Frame super = MakeFrame({.payload = 45 * 1448});
  InjectSuper(in, super, 1448);
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, 45u);
  auto sent = out.TakeSent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].bytes.size(), super.bytes.size());
  PortStats stats = datapath_->FindPort("p1")->Stats();
  EXPECT_EQ(stats.rx.super_packets, 1u);
  EXPECT_EQ(stats.rx_histogram.packets[45], 1u);
  EXPECT_EQ(stats.rx_histogram.segments, 45u);
  EXPECT_EQ(datapath_->FindPort("p2")->Stats().tx_histogram.packets[45], 1u);
}

TEST_F(DatapathTest, WithTsoOffNoFrameOverTheMtuEntersTheDatapath) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  datapath_->SetTso(false);
  InjectSuper(in, MakeFrame({.payload = 10 * 1448 + 7}), 1448);
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, 11u);
  auto sent = out.TakeSent();
  ASSERT_THAT(sent, SizeIs(11));
  for (const auto& frame : sent) EXPECT_LE(frame.bytes.size(), 1514u);
  EXPECT_EQ(datapath_->FindPort("p1")->Stats().rx_histogram.packets[1], 11u);
  EXPECT_EQ(StatsOfOnlyFlow().packets, 11u);
}

TEST_F(DatapathTest, ThePortsOwnTsoSettingGoesBeforeTheSwitchs) {
  AddPort("p1", {{"userspace-tso-enable", "false"}});
  AddPort("p2");
  EXPECT_FALSE(datapath_->FindPort("p1")->tso());
  EXPECT_TRUE(datapath_->FindPort("p2")->tso());
  datapath_->SetTso(false);
  EXPECT_FALSE(datapath_->FindPort("p2")->tso());
  ASSERT_TRUE(datapath_->SetPortOptions(1, {{"userspace-tso-enable", "true"}}).ok());
  EXPECT_TRUE(datapath_->FindPort("p1")->tso());
  ASSERT_TRUE(datapath_->SetPortOptions(1, {}).ok());
  EXPECT_FALSE(datapath_->FindPort("p1")->tso());
}

TEST_F(DatapathTest, CoalescesAndSendsOneSuperPacket) {
  DummyNetdev& in = AddPort("p1", {{"rx-gro", "true"}});
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  in.SetReceiveChecksum(ChecksumState::kGood);
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 10; ++i) {
    frames.push_back(MakeFrame({.payload = 1448}));
    auto& ip = *reinterpret_cast<Ipv4Header*>(&frames.back().bytes[sizeof(EthernetHeader)]);
    ip.id = Be16(static_cast<uint16_t>(i));
    reinterpret_cast<TcpHeader*>(&frames.back().bytes[frames.back().l4])->sequence = Be32(i * 1448);
  }
  // Sent in one go, so that they lie in one burst: the port is busy with nothing else.
  datapath_->SetUpcallHandler(nullptr);
  for (const Frame& frame : frames) Inject(in, frame.bytes);
  Conservation sum = Settle();
  EXPECT_EQ(sum.sent, 10u);
  PortStats stats = datapath_->FindPort("p1")->Stats();
  EXPECT_EQ(stats.rx.frames, 10u);
  uint64_t alone = stats.rx_histogram.packets[1];
  EXPECT_EQ(alone + stats.coalesced_segments, 10u);
  EXPECT_EQ(out.sent_count(), alone + stats.coalesced_packets);
}

// Drops
// -------------------------------------------------------------------------------------------------------------------

TEST_F(DatapathTest, FrameOverTheMtuThatCannotBeCutIsDroppedOnArrival) {
  DummyNetdev& in = AddPort("p1");
  AddPort("p2");
  AddFlow("in_port(1)", "2");
  constexpr uint8_t kNoTransport = 253;  // for experiments, RFC 3692
  for (int tags : {0, 1, 2}) {
    for (uint32_t layer3 : {1500, 1501}) {
      uint32_t payload = layer3 - sizeof(Ipv4Header);
      Inject(in, MakeFrame({.vlan_tags = tags, .protocol = kNoTransport, .payload = payload}).bytes);
    }
  }
  Conservation sum = Settle();
  EXPECT_EQ(RxDrops("p1", DropReason::kRxOverMtu), 3u);
  EXPECT_EQ(sum.sent, 3u);
}

TEST_F(DatapathTest, EachDropHasOneReasonAtOnePort) {
  DummyNetdev& p1 = AddPort("p1");
  DummyNetdev& p2 = AddPort("p2");
  DummyNetdev& p3 = AddPort("p3");
  DummyNetdev& p4 = AddPort("p4");
  AddPort("full");
  AddFlow("in_port(1)", "77");
  AddFlow("in_port(2)", "drop");
  AddFlow("in_port(3)", "userspace(pid=0)");
  Inject(p1, MakeFrame({}).bytes);
  Inject(p2, MakeFrame({}).bytes);
  Inject(p3, MakeFrame({}).bytes);
  Inject(p4, MakeFrame({}).bytes);
  Settle();
  FindDummy("full")->SetSendBudget(0);
  AddFlow("in_port(4)", "5");
  Inject(p4, MakeFrame({}).bytes);
  Conservation sum = Settle();
  EXPECT_EQ(RxDrops("p1", DropReason::kNoPort), 1u);
  EXPECT_EQ(RxDrops("p2", DropReason::kActionDrop) + RxDrops("p2", DropReason::kExplicitDrop), 1u);
  EXPECT_EQ(RxDrops("p3", DropReason::kUserspace), 1u);
  EXPECT_EQ(RxDrops("p4", DropReason::kNoFlow), 1u);
  EXPECT_EQ(TxDrops("full", DropReason::kTxFull), 1u);
  EXPECT_EQ(TotalDrops(sum.drops), 5u);
  EXPECT_EQ(sum.sent, 0u);
}

TEST_F(DatapathTest, CopiesAreAccounted) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& p2 = AddPort("p2");
  DummyNetdev& p3 = AddPort("p3");
  AddFlow("in_port(1)", "2,3");
  Inject(in, MakeFrame({}).bytes);
  InjectSuper(in, MakeFrame({.payload = 3 * 1448}), 1448);
  Conservation sum = Settle();
  EXPECT_EQ(sum.received, 4u);
  EXPECT_EQ(sum.copies, 4u);
  EXPECT_EQ(sum.sent, 8u);
  EXPECT_EQ(p2.sent_count(), 2u);
  EXPECT_EQ(p3.sent_count(), 2u);
}

// Recirculation
// -------------------------------------------------------------------------------------------------------------

TEST_F(DatapathTest, RecirculatedPacketIsLookedUpAgain) {
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  AddFlow("recirc_id(0),in_port(1)", "recirc(0x5)");
  AddFlow("recirc_id(0x5),in_port(1)", "2");
  for (int i = 0; i < 40; ++i) Inject(in, MakeFrame({}).bytes);
  Settle();
  EXPECT_EQ(out.sent_count(), 40u);
  EXPECT_EQ(datapath_->pmds()[0].thread->pipeline_counters().recirculations, 40u);
}

TEST_F(DatapathTest, EndlessRecirculationEndsInADrop) {
  DummyNetdev& in = AddPort("p1");
  AddFlow("recirc_id(0),in_port(1)", "recirc(0x1)");
  AddFlow("recirc_id(0x1),in_port(1)", "recirc(0x1)");
  Inject(in, MakeFrame({}).bytes);
  Settle();
  EXPECT_EQ(RxDrops("p1", DropReason::kRecirculationLimit), 1u);
}

// Upcalls
// -------------------------------------------------------------------------------------------------------------------

// Sends everything to port 2, and installs a flow by in_port if told to.
class ForwardHandler final : public UpcallHandler {
 public:
  explicit ForwardHandler(bool install) : install_(install) {}
  UpcallVerdict OnMiss(const FlowKey&, const DpPacket&) override {
    ++misses;
    UpcallVerdict verdict{.actions = {{OutputAction{.port = 2}}}, .install = install_};
    verdict.wildcards.in_port = UINT32_MAX;
    verdict.wildcards.recirc_id = UINT32_MAX;
    return verdict;
  }
  bool OnUserspace(const FlowKey& key, const DpPacket& packet, const UserspaceAction& action) override {
    in_port = key.in_port;
    length = packet.length();
    pid = action.pid;
    return true;
  }

  std::atomic<int> misses{0};
  std::atomic<uint32_t> in_port{0}, length{0}, pid{0};

 private:
  const bool install_;
};

TEST_F(DatapathTest, UpcallInstallsTheFlowOnce) {
  ForwardHandler handler(true);
  datapath_->SetUpcallHandler(&handler);
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  for (int i = 0; i < 50; ++i) Inject(in, MakeFrame({}).bytes);
  Settle();
  EXPECT_EQ(handler.misses, 1);
  EXPECT_EQ(out.sent_count(), 50u);
  EXPECT_EQ(datapath_->flows().flow_count(), 1u);
  EXPECT_EQ(StatsOfOnlyFlow().packets, 50u);
  datapath_->SetUpcallHandler(nullptr);
}

TEST_F(DatapathTest, UpcallForwardsWithoutInstalling) {
  ForwardHandler handler(false);
  datapath_->SetUpcallHandler(&handler);
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  for (int i = 0; i < 3; ++i) Inject(in, MakeFrame({}).bytes);
  Settle();
  EXPECT_EQ(handler.misses, 3);
  EXPECT_EQ(out.sent_count(), 3u);
  EXPECT_EQ(datapath_->flows().flow_count(), 0u);
  datapath_->SetUpcallHandler(nullptr);
}

TEST_F(DatapathTest, UserspaceActionConsumesWhatAListenerTook) {
  ForwardHandler handler(false);
  datapath_->SetUpcallHandler(&handler);
  DummyNetdev& in = AddPort("p1");
  AddFlow("in_port(1)", "userspace(pid=9)");
  Frame frame = MakeFrame({});
  Inject(in, frame.bytes);
  Conservation sum = Settle();
  EXPECT_EQ(sum.consumed, 1u);
  EXPECT_EQ(handler.in_port, 1u);
  EXPECT_EQ(handler.length, frame.bytes.size());
  EXPECT_EQ(handler.pid, 9u);
  datapath_->SetUpcallHandler(nullptr);
}

// Ports
// ---------------------------------------------------------------------------------------------------------------------

TEST_F(DatapathTest, NumbersPortsFromOneAndDoesNotSoonUseANumberAgain) {
  EXPECT_EQ(*datapath_->AddPort("a", "dummy", {}), 1u);
  EXPECT_EQ(*datapath_->AddPort("b", "dummy", {}), 2u);
  ASSERT_TRUE(datapath_->RemovePort(1).ok());
  EXPECT_EQ(*datapath_->AddPort("c", "dummy", {}), 3u);
  EXPECT_EQ(*datapath_->AddPort("d", "dummy", {}, 9), 9u);
}

TEST_F(DatapathTest, ErrorsNameThePortAndChangeNothing) {
  AddPort("p1");
  EXPECT_THAT(Message(datapath_->AddPort("p1", "dummy", {}).status()), HasSubstr("p1 is in datapath test already"));
  EXPECT_THAT(Message(datapath_->AddPort("p2", "dummy", {}, 1).status()), HasSubstr("number 1 belongs to port p1"));
  EXPECT_THAT(Message(datapath_->AddPort("p2", "dummy", {{"pmd-rxq-affinity", "x"}}).status()),
              HasSubstr("port p2: pmd-rxq-affinity x: expected"));
  EXPECT_THAT(Message(datapath_->SetPortOptions(1, {{"userspace-tso-enable", "maybe"}})),
              HasSubstr("port p1: userspace-tso-enable=maybe: expected true or false"));
  EXPECT_FALSE(datapath_->SetPortOptions(1, {{"n_rxq", "0"}}).ok());
  EXPECT_THAT(Message(datapath_->RemovePort(7)), HasSubstr("no port 7"));
  EXPECT_THAT(datapath_->ports(), SizeIs(1));
  EXPECT_EQ(datapath_->FindPort(1)->rxqs().size(), 1u);
  EXPECT_THAT(datapath_->FindPort(1)->options(), IsEmpty());
}

TEST_F(DatapathTest, RemovedPortsCountsStayInTheAccounts) {
  DummyNetdev& in = AddPort("p1");
  AddPort("p2");
  AddFlow("in_port(1)", "2");
  for (int i = 0; i < 5; ++i) Inject(in, MakeFrame({}).bytes);
  Settle();
  ASSERT_TRUE(datapath_->RemovePort(1).ok());
  ASSERT_TRUE(datapath_->RemovePort(2).ok());
  EXPECT_EQ(Settle().sent, 5u);
}

TEST_F(DatapathTest, CountsSurviveAChangeOfQueues) {
  DummyNetdev& in = AddPort("p1", {{"n_rxq", "3"}});
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  for (size_t queue = 0; queue < 3; ++queue) Inject(in, MakeFrame({}).bytes, queue);
  Settle();
  ASSERT_TRUE(datapath_->SetPortOptions(1, {{"n_rxq", "1"}}).ok());
  EXPECT_EQ(datapath_->FindPort(1)->Stats().rx.frames, 3u);
  ASSERT_TRUE(datapath_->SetPortOptions(1, {{"n_rxq", "2"}}).ok());
  Inject(in, MakeFrame({}).bytes, 1);
  Settle();
  EXPECT_EQ(datapath_->FindPort(1)->Stats().rx.frames, 4u);
  EXPECT_EQ(out.sent_count(), 4u);
}

// Threads
// -------------------------------------------------------------------------------------------------------------------

TEST_F(DatapathTest, RefusesACoreThatIsNotThere) {
  absl::Status status = datapath_->SetPmdCores(CpuSet({0, 4000}));
  EXPECT_THAT(Message(status), HasSubstr("processor 4000"));
  ASSERT_THAT(datapath_->pmds(), SizeIs(1));
  EXPECT_EQ(datapath_->pmds()[0].thread->core(), *CpuSet::Allowed().begin());
}

TEST_F(DatapathTest, QueuesAreSpreadOverThreadsAndComeBack) {
  DummyNetdev& in = AddPort("p1", {{"n_rxq", "4"}});
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  CpuSet cores = CpuSet::Allowed();
  ASSERT_TRUE(datapath_->SetPmdCores(cores).ok());
  EXPECT_THAT(datapath_->pmds(), SizeIs(cores.size()));
  for (size_t queue = 0; queue < 4; ++queue) Inject(in, MakeFrame({}).bytes, queue);
  Settle();
  ASSERT_TRUE(datapath_->SetPmdCores(std::nullopt).ok());
  for (size_t queue = 0; queue < 4; ++queue) Inject(in, MakeFrame({}).bytes, queue);
  Settle();
  EXPECT_EQ(out.sent_count(), 8u);
  EXPECT_EQ(StatsOfOnlyFlow().packets, 8u);
}

TEST_F(DatapathTest, PinnedQueueIsPolledOnItsCore) {
  CpuSet cores = CpuSet::Allowed();
  if (cores.size() < 2) GTEST_SKIP() << "needs two processors";
  int second = *std::next(cores.begin());
  ASSERT_TRUE(datapath_->SetPmdCores(cores).ok());
  AddPort("p1", {{"pmd-rxq-affinity", fmt::format("0:{}", second)}});
  EXPECT_EQ(datapath_->FindPort(1)->rxqs()[0]->thread->core(), second);
  EXPECT_FALSE(datapath_->IsIsolated(0));
  EXPECT_TRUE(datapath_->IsIsolated(1));
}

TEST_F(DatapathTest, IdleThreadSleeps) {
  AddPort("p1");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto& counters = datapath_->pmds()[0].thread->counters();
  uint64_t turns = counters.turns;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(counters.turns - turns, 2u);
}

TEST_F(DatapathTest, EmptyPoolDropsWithACountAndRecovers) {
  Start({.small_buffers = 40, .large_buffers = 4});
  DummyNetdev& in = AddPort("p1");
  DummyNetdev& out = AddPort("p2");
  AddFlow("in_port(1)", "2");
  out.HoldCompletions(true);
  for (int i = 0; i < 100; ++i) Inject(in, MakeFrame({}).bytes);
  Settle();
  EXPECT_EQ(RxDrops("p1", DropReason::kRxPoolEmpty), 60u);
  out.Complete();
  out.HoldCompletions(false);
  for (int i = 0; i < 10; ++i) Inject(in, MakeFrame({}).bytes);
  Settle();
  EXPECT_EQ(RxDrops("p1", DropReason::kRxPoolEmpty), 60u);
}

}  // namespace
}  // namespace sluice
