#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>
#include <ostream>

#include "lib/base/status.h"
#include "netdev/dummy/dummy_netdev.h"
#include "netdev/netdev.h"
#include "tests/netdev/frames.h"

namespace sluice {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using testing::FrameSpec;
using ::testing::HasSubstr;
using testing::MakeFrame;
using testing::MakePacket;

bool IsReadable(int fd) {
  pollfd wait = {.fd = fd, .events = POLLIN};
  return poll(&wait, 1, 0) == 1;
}

class DummyTest : public ::testing::Test {
 protected:
  void Open(const NetdevOptions& options = {}) {
    auto opened = OpenNetdev("dum0", "dummy", options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    netdev_ = *std::move(opened);
    dummy_ = FindDummy("dum0");
    ASSERT_EQ(dummy_, netdev_.get());
    for (size_t i = 0; i < netdev_->rxq_count(); ++i) netdev_->rxq(i).Attach(pools_);
    txq_ = netdev_->OpenTxq().value();
  }
  void Send(int frames, const FrameSpec& spec = {}) {
    PacketBatch batch;
    for (int i = 0; i < frames; ++i) batch.Add(MakePacket(pools_, MakeFrame(spec).bytes));
    txq_->Send(batch);
    EXPECT_TRUE(batch.empty());
  }
  void SendSuper(uint32_t payload) {
    auto frame = MakeFrame({.payload = payload});
    PacketBatch batch;
    DpPacketPtr packet = MakePacket(pools_, frame.bytes);
    packet->offload = SuperOffload(frame.l4);
    batch.Add(std::move(packet));
    txq_->Send(batch);
  }
  static Offload SuperOffload(uint32_t l4) {
    Offload offload;
    offload.l4 = ChecksumState::kPartial;
    offload.segmentation = Segmentation::kTcp4;
    offload.segment_size = 1000;
    offload.csum_start = static_cast<uint16_t>(l4);
    offload.csum_offset = 16;
    return offload;
  }

  PacketPools pools_ = PacketPools::Create(64, 8).value();
  std::unique_ptr<Netdev> netdev_;
  DummyNetdev* dummy_ = nullptr;
  std::unique_ptr<NetdevTxq> txq_;
};

TEST_F(DummyTest, HandsOverWhatWasInjectedInOrderWithItsOffloadState) {
  Open();
  auto small = MakeFrame({.payload = 46});
  auto large = MakeFrame({.payload = 60000});
  dummy_->Inject(small.bytes);
  dummy_->Inject(large.bytes, SuperOffload(large.l4));

  RxBurst burst;
  EXPECT_TRUE(netdev_->rxq(0).Receive(burst, 1));
  EXPECT_FALSE(netdev_->rxq(0).Receive(burst, 32));
  ASSERT_EQ(burst.size(), 2u);
  EXPECT_EQ(BytesOf(*burst[0]), small.bytes);
  EXPECT_EQ(burst[0]->offload.l4, ChecksumState::kUnknown);
  EXPECT_EQ(BytesOf(*burst[1]), large.bytes);
  EXPECT_EQ(burst[1]->buffer_count(), 2);
  EXPECT_EQ(burst[1]->offload.segmentation, Segmentation::kTcp4);

  const QueueCounters& counters = netdev_->rxq(0).counters();
  EXPECT_EQ(counters.packets, 2u);
  EXPECT_EQ(counters.super_packets, 1u);
  EXPECT_EQ(counters.frames, 1u + 60);
  EXPECT_EQ(counters.bytes, small.bytes.size() + large.bytes.size() + 59u * large.payload);
}

TEST_F(DummyTest, WakesTheReaderOfTheQueueThatGotAFrame) {
  Open({{"n_rxq", "3"}});
  ASSERT_EQ(netdev_->rxq_count(), 3u);
  dummy_->Inject(MakeFrame({}).bytes, 1);
  EXPECT_FALSE(IsReadable(netdev_->rxq(0).wait_fd()));
  EXPECT_TRUE(IsReadable(netdev_->rxq(1).wait_fd()));

  RxBurst burst;
  EXPECT_FALSE(netdev_->rxq(0).Receive(burst, 32));
  EXPECT_TRUE(burst.empty());
  EXPECT_FALSE(netdev_->rxq(1).Receive(burst, 32));
  EXPECT_EQ(burst.size(), 1u);
  EXPECT_FALSE(IsReadable(netdev_->rxq(1).wait_fd()));
}

TEST_F(DummyTest, CountsWhatItCannotHandOver) {
  Open();
  dummy_->Inject(std::vector<uint8_t>(13));
  dummy_->Inject(MakeFrame({}).bytes, VnetHeader{.flags = 0x40});
  dummy_->Inject(std::vector<uint8_t>(100000));
  for (int i = 0; i < 70; ++i) dummy_->Inject(MakeFrame({}).bytes);

  RxBurst burst;
  EXPECT_FALSE(netdev_->rxq(0).Receive(burst, 128));
  const DropCounters& drops = netdev_->rxq(0).counters().drops;
  EXPECT_EQ(burst.size(), 64u);
  EXPECT_EQ(drops[DropReason::kRxRunt], 1u);
  EXPECT_EQ(drops[DropReason::kRxVnetFlags], 1u);
  EXPECT_EQ(drops[DropReason::kRxTruncated], 1u);
  EXPECT_EQ(drops[DropReason::kRxPoolEmpty], 6u);
  burst.FreeAll();
  EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
}

TEST_F(DummyTest, DecodesTheHeaderOfAnInjectedFrame) {
  Open();
  auto frame = MakeFrame({});
  dummy_->Inject(
      frame.bytes,
      VnetHeader{.flags = VnetHeader::kNeedsCsum, .csum_start = static_cast<uint16_t>(frame.l4), .csum_offset = 16});
  dummy_->SetReceiveChecksum(ChecksumState::kGood);
  dummy_->Inject(frame.bytes);
  RxBurst burst;
  netdev_->rxq(0).Receive(burst, 32);
  ASSERT_EQ(burst.size(), 2u);
  EXPECT_EQ(burst[0]->offload.l4, ChecksumState::kPartial);
  EXPECT_EQ(burst[1]->offload.l4, ChecksumState::kGood);
}

TEST_F(DummyTest, ReceivesHexadecimal) {
  Open();
  EXPECT_TRUE(dummy_->Receive("ffffffffffff 02aa00000001 88b5 0102FF").ok());
  RxBurst burst;
  netdev_->rxq(0).Receive(burst, 32);
  ASSERT_EQ(burst.size(), 1u);
  EXPECT_THAT(BytesOf(*burst[0]),
              ElementsAre(255, 255, 255, 255, 255, 255, 2, 0xaa, 0, 0, 0, 1, 0x88, 0xb5, 1, 2, 255));

  EXPECT_THAT(Message(dummy_->Receive("0g")), HasSubstr("'g' is not a hexadecimal digit"));
  EXPECT_THAT(Message(dummy_->Receive("012")), HasSubstr("odd number"));
  EXPECT_THAT(Message(dummy_->Receive("0123")), HasSubstr("frame of 2 bytes"));
}

TEST_F(DummyTest, CollectsWhatWasSent) {
  Open();
  Send(2, {.payload = 5});
  SendSuper(5000);
  auto sent = dummy_->TakeSent();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].bytes, MakeFrame({.payload = 5}).bytes);
  EXPECT_EQ(sent[2].bytes, MakeFrame({.payload = 5000}).bytes);
  EXPECT_EQ(sent[2].offload.segment_size, 1000);
  EXPECT_EQ(sent[2].buffers, 2);
  EXPECT_EQ(txq_->counters().frames, 7u);
  EXPECT_EQ(dummy_->sent_count(), 0u);
  EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
}

TEST_F(DummyTest, CountsFramesBeyondTheBudgetAsFull) {
  Open();
  dummy_->SetSendBudget(3);
  Send(5);
  SendSuper(5000);
  EXPECT_EQ(dummy_->sent_count(), 3u);
  EXPECT_EQ(txq_->counters().drops[DropReason::kTxFull], 2u + 5);
  dummy_->SetSendBudget(std::nullopt);
  Send(1);
  EXPECT_EQ(dummy_->sent_count(), 4u);
}

TEST_F(DummyTest, CountsFramesToAPortThatIsDown) {
  Open();
  NetdevState state = netdev_->state();
  state.carrier = false;
  dummy_->SetState(state);
  Send(2);
  EXPECT_EQ(txq_->counters().drops[DropReason::kTxPortDown], 2u);
  state.carrier = true;
  state.mtu = 9000;
  dummy_->SetState(state);
  Send(1);
  EXPECT_EQ(dummy_->sent_count(), 1u);
  EXPECT_EQ(txq_->caps().mtu, 9000u);
}

TEST_F(DummyTest, ReadsHeldPacketsWhenTheyComplete) {
  Open();
  dummy_->HoldCompletions(true);
  DpPacketPtr packet = MakePacket(pools_, MakeFrame({}).bytes);
  DpPacket* sent = packet.get();
  PacketBatch batch;
  batch.Add(std::move(packet));
  txq_->Send(batch);
  EXPECT_EQ(dummy_->sent_count(), 0u);
  EXPECT_EQ(pools_.small->OutstandingCount(), 1u);
  sent->data()[0] = 0x5a;  // who overwrites a buffer before its completion is found out
  EXPECT_EQ(dummy_->Complete(), 1u);
  EXPECT_EQ(pools_.small->OutstandingCount(), 0u);
  EXPECT_EQ(dummy_->TakeSent()[0].bytes[0], 0x5a);
}

TEST_F(DummyTest, OffersNoSegmentationWhileTsoIsOff) {
  Open();
  EgressCaps caps = {.mtu = 1400,
                     .max_super_length = 30000,
                     .max_segments = 7,
                     .segmentations = 2,
                     .segmentation_ecn = true,
                     .sctp_checksum = true};
  dummy_->SetCaps(caps);
  EXPECT_EQ(txq_->caps(), caps);
  EXPECT_EQ(netdev_->state().mtu, 1400u);
  netdev_->SetTsoEnabled(false);
  EXPECT_EQ(txq_->caps().segmentations, 0);
  EXPECT_EQ(txq_->caps().max_super_length, 0u);
  EXPECT_TRUE(txq_->caps().sctp_checksum);
  netdev_->SetTsoEnabled(true);
  EXPECT_EQ(txq_->caps(), caps);
}

TEST_F(DummyTest, WritesCaptureFiles) {
  auto path = (std::filesystem::temp_directory_path() / fmt::format("sluice-dummy-{}.pcap", getpid())).string();
  Open({{"pcap", path}});
  dummy_->Inject(MakeFrame({.payload = 1}).bytes);
  Send(1, {.payload = 2});
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);

  auto word = [&bytes](size_t offset) {
    uint32_t value;
    std::memcpy(&value, &bytes[offset], sizeof value);
    return value;
  };
  auto first = MakeFrame({.payload = 1}).bytes;
  auto second = MakeFrame({.payload = 2}).bytes;
  ASSERT_EQ(bytes.size(), 24 + 16 + first.size() + 16 + second.size());
  EXPECT_EQ(word(0), 0xa1b2c3d4u);
  EXPECT_EQ(word(20), 1u);
  EXPECT_LT(word(28), 1000000u);
  EXPECT_EQ(word(32), first.size());
  EXPECT_EQ(word(36), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin() + 40));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), bytes.end() - static_cast<long>(second.size())));
}

TEST_F(DummyTest, IsFoundByNameWhileItIsOpenAndOnlyOnce) {
  Open();
  EXPECT_THAT(Message(OpenNetdev("dum0", "dummy", {}).status()), HasSubstr("port dum0: a dummy port"));
  EXPECT_EQ(FindDummy("dum1"), nullptr);
  txq_.reset();
  netdev_.reset();
  EXPECT_EQ(FindDummy("dum0"), nullptr);
  EXPECT_TRUE(OpenNetdev("dum0", "dummy", {}).ok());
}

TEST_F(DummyTest, ChangesAllOptionsOrNone) {
  Open({{"n_rxq", "2"}});
  struct {
    NetdevOptions options;
    const char* error;
  } const cases[] = {
      {{{"n_rxq", "0"}}, "port dum0: option n_rxq is \"0\": expected a number from 1 to 64"},
      {{{"n_rxq", "65"}}, "expected a number from 1 to 64"},
      {{{"n_rxq", "4x"}}, "expected a number from 1 to 64"},
      {{{"n_rxq", "4"}, {"rx-gro", "yes"}}, "option rx-gro is \"yes\": expected true or false"},
      {{{"n_rxq", "4"}, {"n_txq", "4"}}, "unknown option \"n_txq\": known are n_rxq, rx-gro, pcap, rxq_pcap, tx_pcap"},
      {{{"n_rxq", "4"}, {"pcap", "/nonexistent/x"}}, "option pcap: capture file /nonexistent/x: cannot be created"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Message(netdev_->SetOptions(c.options)), HasSubstr(c.error));
    EXPECT_EQ(netdev_->rxq_count(), 2u);
    EXPECT_THAT(netdev_->GetOptions(), ElementsAre(std::pair("n_rxq", "2")));
  }
  EXPECT_FALSE(netdev_->rx_gro());
  EXPECT_TRUE(netdev_->SetOptions({{"rx-gro", "true"}, {"n_rxq", "3"}}).ok());
  EXPECT_TRUE(netdev_->rx_gro());
  EXPECT_EQ(netdev_->rxq_count(), 3u);
}

TEST(RegistryTest, NamesWhatWouldBeAccepted) {
  EXPECT_THAT(NetdevTypes(), ElementsAre("dummy", "internal", "system", "tap"));
  EXPECT_THAT(Message(OpenNetdev("p0", "vxlan", {}).status()),
              HasSubstr("port p0: unknown type \"vxlan\": expected one of dummy, internal, system, tap"));
  for (const char* name : {"", "abcdefghijklmnop", "a/b", "a b", "..", "a:1", "tap%d"}) {
    EXPECT_FALSE(OpenNetdev(name, "dummy", {}).ok()) << name;
  }
  EXPECT_TRUE(OpenNetdev("abcdefghijklmno", "dummy", {}).ok());
}

}  // namespace
}  // namespace sluice
