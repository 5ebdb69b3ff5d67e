#include "lib/packet/coalesce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "lib/packet/gso.h"
#include "lib/packet/parse.h"
#include "tests/lib/packet/tcp_frames.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class CoalesceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto pool = SlabPool::Create({.count = 256, .data_size = 2048, .headroom = PacketPools::kHeadroom});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }
  void TearDown() override {
    burst_.FreeAll();
    EXPECT_EQ(pool_->OutstandingCount(), 0u);
  }

  void Add(const TcpFrame& frame, ChecksumState state = ChecksumState::kGood) {
    burst_.Add(MakePacket(*pool_, frame, state));
  }
  // Adds the next `count` segments of a stream.
  void AddStream(TcpFrame& frame, int count, ChecksumState state = ChecksumState::kGood) {
    for (int i = 0; i < count; ++i) {
      Add(frame, state);
      Advance(frame);
    }
  }
  static void Advance(TcpFrame& frame) {
    frame.sequence += frame.payload;
    ++frame.id;
  }
  void Coalesce() { CoalesceBurst(burst_, limits_, counters_); }
  // Frames that each packet of the burst holds.
  std::vector<int> Shape() {
    std::vector<int> shape;
    for (DpPacket* packet : burst_) shape.push_back(packet->coalesced ? packet->buffer_count() : 1);
    return shape;
  }

  SlabPool::Ptr pool_;
  RxBurst burst_;
  CoalesceLimits limits_;
  CoalesceCounters counters_;
};

TEST_F(CoalesceTest, JoinsAStreamIntoOneSuperPacket) {
  for (bool ipv6 : {false, true}) {
    TcpFrame frame{.ipv6 = ipv6};
    AddStream(frame, 9);
    frame.flags |= kTcpPsh;
    frame.payload = 100;
    AddStream(frame, 1);
    Coalesce();
    ASSERT_THAT(Shape(), ElementsAre(10));
    const DpPacket& super = *burst_[0];
    EXPECT_EQ(super.length(), HeaderLength(frame) + 9 * 1448 + 100);
    EXPECT_EQ(super.offload.l4, ChecksumState::kPartial);
    EXPECT_EQ(super.offload.segmentation, ipv6 ? Segmentation::kTcp6 : Segmentation::kTcp4);
    EXPECT_EQ(super.offload.segment_size, 1448);
    EXPECT_EQ(super.offload.csum_start, L4Offset(frame));
    EXPECT_EQ(super.offload.csum_offset, 16);
    EXPECT_FALSE(super.offload.ecn);
    EXPECT_EQ(super.l3_offset, L3Offset(frame));
    EXPECT_EQ(super.l4_offset, L4Offset(frame));
    EXPECT_EQ(super.payload_offset, HeaderLength(frame));

    TcpFrame whole{.ipv6 = ipv6, .flags = kTcpAck | kTcpPsh, .payload = 9 * 1448 + 100};
    Bytes expected = Build(whole, ChecksumState::kPartial);
    Bytes header(expected.begin(), expected.begin() + HeaderLength(whole));
    Bytes got = BytesOf(super);
    got.resize(header.size());
    EXPECT_EQ(got, header);
    burst_.FreeAll();
  }
  EXPECT_EQ(counters_.super_packets, 2u);
  EXPECT_EQ(counters_.segments, 20u);
}

TEST_F(CoalesceTest, TakesPostponedChecksumsToo) {
  TcpFrame frame;
  AddStream(frame, 5, ChecksumState::kPartial);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(5));
}

TEST_F(CoalesceTest, LeavesASinglePacketAsItIs) {
  TcpFrame frame;
  Add(frame);
  Coalesce();
  ASSERT_EQ(burst_.size(), 1u);
  EXPECT_EQ(burst_[0]->offload.l4, ChecksumState::kGood);
  EXPECT_EQ(BytesOf(*burst_[0]), Build(frame, ChecksumState::kGood));
}

TEST_F(CoalesceTest, KeepsInterleavedFlowsApartAndInOrder) {
  TcpFrame a{.source_port = 1};
  TcpFrame b{.source_port = 2};
  for (int i = 0; i < 4; ++i) {
    AddStream(a, 1);
    AddStream(b, 1);
  }
  TcpFrame other_mac{.last_mac_byte = 7, .source_port = 1, .sequence = a.sequence, .id = a.id};
  Add(other_mac);
  AddStream(a, 1);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(5, 4, 1));
  EXPECT_EQ(HeaderAt<TcpHeader>(*burst_[0], 34)->source.Get(), 1);
  EXPECT_EQ(HeaderAt<TcpHeader>(*burst_[1], 34)->source.Get(), 2);
}

// What is changed in the middle one of three segments, and what the burst looks like afterwards. A change that makes
// the middle one a stranger to the flow's super-packet ends that one: the third may only join what comes later.
struct RuleCase {
  const char* name;
  std::function<void(TcpFrame&)> change;
  std::vector<int> shape;
};

class CoalesceRuleTest : public CoalesceTest, public ::testing::WithParamInterface<RuleCase> {};

TEST_P(CoalesceRuleTest, MiddleSegment) {
  TcpFrame frame;
  AddStream(frame, 2);
  TcpFrame middle = frame;
  GetParam().change(middle);
  Add(middle);
  Advance(frame);
  AddStream(frame, 2);
  Coalesce();
  EXPECT_EQ(Shape(), GetParam().shape);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, CoalesceRuleTest,
    ::testing::Values(RuleCase{"nothing", [](TcpFrame&) {}, {5}},
                      RuleCase{"psh_ends", [](TcpFrame& f) { f.flags |= kTcpPsh; }, {3, 2}},
                      RuleCase{"fin_ends", [](TcpFrame& f) { f.flags |= kTcpFin; }, {3, 2}},
                      RuleCase{"shorter_ends", [](TcpFrame& f) { f.payload = 1000; }, {3, 2}},
                      RuleCase{"one_byte_ends", [](TcpFrame& f) { f.payload = 1; }, {3, 2}},
                      RuleCase{"longer", [](TcpFrame& f) { f.payload = 1449; }, {2, 1, 2}},
                      RuleCase{"pure_ack", [](TcpFrame& f) { f.payload = 0; }, {2, 1, 2}},
                      RuleCase{"syn", [](TcpFrame& f) { f.flags |= kTcpSyn; }, {2, 1, 2}},
                      RuleCase{"rst", [](TcpFrame& f) { f.flags |= kTcpRst; }, {2, 1, 2}},
                      RuleCase{"urg", [](TcpFrame& f) { f.flags |= kTcpUrg; }, {2, 1, 2}},
                      RuleCase{"urgent_pointer", [](TcpFrame& f) { f.urgent = 3; }, {2, 1, 2}},
                      RuleCase{"no_ack", [](TcpFrame& f) { f.flags = 0; }, {2, 1, 2}},
                      RuleCase{"ece", [](TcpFrame& f) { f.flags |= kTcpEce; }, {2, 1, 2}},
                      // CWR starts one: segmentation keeps it on the first and clears it on the others.
                      RuleCase{"cwr_starts", [](TcpFrame& f) { f.flags |= kTcpCwr; }, {2, 3}},
                      RuleCase{"ack_number", [](TcpFrame& f) { f.acknowledgment = 78; }, {2, 1, 2}},
                      RuleCase{"window", [](TcpFrame& f) { f.window = 511; }, {2, 1, 2}},
                      RuleCase{"timestamp", [](TcpFrame& f) { f.options[7] = 9; }, {2, 1, 2}},
                      RuleCase{"last_option_byte", [](TcpFrame& f) { f.options[11] = 9; }, {2, 1, 2}},
                      RuleCase{"more_options",
                               [](TcpFrame& f) {
                                 f.options.insert(f.options.end(), {1, 1, 1, 1});
                               },
                               {2, 1, 2}},
                      RuleCase{"fewer_options", [](TcpFrame& f) { f.options.clear(); }, {2, 1, 2}},
                      RuleCase{"tos", [](TcpFrame& f) { f.tos = 3; }, {2, 1, 2}},
                      RuleCase{"ttl", [](TcpFrame& f) { f.ttl = 63; }, {2, 1, 2}},
                      RuleCase{"id_repeats", [](TcpFrame& f) { f.id -= 1; }, {2, 1, 2}},
                      RuleCase{"id_jumps", [](TcpFrame& f) { f.id += 1; }, {2, 1, 2}},
                      RuleCase{"fragment_bits", [](TcpFrame& f) { f.fragment = 0; }, {2, 1, 2}},
                      RuleCase{"first_fragment", [](TcpFrame& f) { f.fragment = kIpv4MoreFragments; }, {2, 1, 2}},
                      RuleCase{"later_fragment", [](TcpFrame& f) { f.fragment = 100; }, {2, 1, 2}},
                      RuleCase{"gap", [](TcpFrame& f) { f.sequence += 1; }, {2, 1, 2}},
                      RuleCase{"repetition", [](TcpFrame& f) { f.sequence -= 1448; }, {2, 1, 2}},
                      RuleCase{"padding", [](TcpFrame& f) { f.padding = 2; }, {2, 1, 2}},
                      RuleCase{"other_flow", [](TcpFrame& f) { f.last_ip_byte = 3; }, {2, 1, 2}}),
    [](const auto& rule) { return std::string(rule.param.name); });

TEST_F(CoalesceTest, AFlowOfItsOwnInBetweenHarmsNobody) {
  TcpFrame frame;
  AddStream(frame, 2);
  TcpFrame tagged{.tags = {5}};
  AddStream(tagged, 2);
  AddStream(frame, 2);
  AddStream(tagged, 2);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(4, 4));
}

TEST_F(CoalesceTest, WantsEveryChecksumVouchedFor) {
  for (ChecksumState state : {ChecksumState::kUnknown, ChecksumState::kBad}) {
    TcpFrame frame;
    AddStream(frame, 3, state);
    Coalesce();
    EXPECT_THAT(Shape(), ElementsAre(1, 1, 1));
    burst_.FreeAll();
  }
  // One bad segment in a good stream leaves as it came, in its place.
  TcpFrame frame;
  AddStream(frame, 2);
  Bytes wrong = Build(frame, ChecksumState::kGood);
  wrong.back() ^= 1;
  burst_.Add(ToPacket(*pool_, wrong));
  burst_[2]->offload.l4 = ChecksumState::kBad;
  Advance(frame);
  AddStream(frame, 2);
  Coalesce();
  ASSERT_THAT(Shape(), ElementsAre(2, 1, 2));
  EXPECT_EQ(BytesOf(*burst_[1]), wrong);
  EXPECT_EQ(burst_[1]->offload.l4, ChecksumState::kBad);
}

TEST_F(CoalesceTest, LeavesWrongIpv4ChecksumsAlone) {
  for (int broken : {0, 1, 2}) {
    TcpFrame frame;
    AddStream(frame, 3);
    burst_[broken]->data()[14 + 10] ^= 0x10;
    Coalesce();
    EXPECT_EQ(burst_.size(), broken == 1 ? 3u : 2u) << broken;
    burst_.FreeAll();
  }
}

TEST_F(CoalesceTest, LeavesWrongPseudoHeaderSumsAlone) {
  TcpFrame frame;
  AddStream(frame, 3, ChecksumState::kPartial);
  burst_[1]->data()[L4Offset(frame) + 16] ^= 1;
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(1, 1, 1));
}

TEST_F(CoalesceTest, LeavesForeignChecksumPlacesAlone) {
  TcpFrame frame;
  AddStream(frame, 3, ChecksumState::kPartial);
  burst_[2]->offload.csum_start += 2;
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(2, 1));
}

TEST_F(CoalesceTest, SuperPacketsFromThePortEndTheirFlowsOwn) {
  TcpFrame frame;
  AddStream(frame, 5);
  burst_[2]->offload = {.l4 = ChecksumState::kPartial, .segmentation = Segmentation::kTcp4, .segment_size = 500};
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(2, 1, 2));
}

TEST_F(CoalesceTest, ChainsFromThePortTakeNoPart) {
  TcpFrame frame;
  AddStream(frame, 3);
  DpPacketPtr tail = pool_->Allocate();
  tail->SetHeadLength(1);
  burst_[1]->AppendChain(burst_[1], tail.release());
  Coalesce();
  ASSERT_EQ(burst_.size(), 3u);
}

TEST_F(CoalesceTest, UnreadableTcpEndsEveryFlow) {
  TcpFrame a{.source_port = 1};
  TcpFrame b{.source_port = 2};
  AddStream(a, 2);
  AddStream(b, 2);
  TcpFrame options;
  burst_.Add(MakePacket(*pool_, options, ChecksumState::kGood));
  burst_[4]->data()[14] = 0x46;
  AddStream(a, 2);
  AddStream(b, 2);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(2, 2, 1, 2, 2));
}

TEST_F(CoalesceTest, OtherProtocolsEndNothing) {
  TcpFrame frame;
  AddStream(frame, 2);
  TcpFrame udp;
  Add(udp);
  burst_[2]->data()[14 + 9] = kIpProtoUdp;
  burst_.Add(ToPacket(*pool_, Bytes(60, 0xff)));
  burst_.Add(ToPacket(*pool_, Bytes(5, 0xff)));
  AddStream(frame, 2);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(4, 1, 1, 1));
}

TEST_F(CoalesceTest, StaysWithinItsLimits) {
  limits_.max_segments = 4;
  TcpFrame frame;
  AddStream(frame, 10);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(4, 4, 2));
  burst_.FreeAll();

  limits_ = {.max_length = 52 + 3 * 1448};
  AddStream(frame, 7);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(3, 3, 1));
  burst_.FreeAll();

  limits_ = {.max_length = 52 + 3 * 1448 - 1};
  AddStream(frame, 7);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(2, 2, 2, 1));
}

TEST_F(CoalesceTest, NeverExceedsTheIpLengthField) {
  limits_ = {.max_length = 1u << 20, .max_segments = 1000};
  for (bool ipv6 : {false, true}) {
    TcpFrame frame{.ipv6 = ipv6};
    AddStream(frame, 100);
    Coalesce();
    EXPECT_THAT(Shape(), ElementsAre(45, 45, 10));  // 45 * 1448 + headers <= 65535
    burst_.FreeAll();
  }
}

TEST_F(CoalesceTest, WrapsSequenceAndId) {
  TcpFrame frame{.sequence = 0xffffffff - 2000, .id = 0xfffe};
  AddStream(frame, 6);
  Coalesce();
  EXPECT_THAT(Shape(), ElementsAre(6));
}

TEST_F(CoalesceTest, CwrOnTheFirstIsToldToTheSegmenter) {
  TcpFrame frame{.flags = kTcpAck | kTcpCwr};
  AddStream(frame, 1);
  frame.flags = kTcpAck;
  AddStream(frame, 2);
  Coalesce();
  ASSERT_THAT(Shape(), ElementsAre(3));
  EXPECT_TRUE(burst_[0]->offload.ecn);
}

TEST_F(CoalesceTest, AsManyFlowsAsPackets) {
  for (uint16_t port = 0; port < RxBurst::kCapacity; ++port) Add(TcpFrame{.source_port = port});
  Coalesce();
  EXPECT_EQ(burst_.size(), RxBurst::kCapacity);
  EXPECT_EQ(counters_.super_packets, 0u);
}

TEST_F(CoalesceTest, LeavesWrongIpVersionsAlone) {
  for (bool ipv6 : {false, true}) {
    TcpFrame frame{.ipv6 = ipv6};
    AddStream(frame, 3, ChecksumState::kPartial);
    for (DpPacket* packet : burst_) packet->data()[14] ^= 0x10;
    Coalesce();
    EXPECT_THAT(Shape(), ElementsAre(1, 1, 1));
    burst_.FreeAll();
  }
}

// Buffers that end where their frame ends, so that the address sanitizer sees a byte read too far.
class TightPool : public PacketPool {
 public:
  DpPacketPtr Make(const Bytes& bytes) {
    auto* buffer = new uint8_t[std::max<size_t>(bytes.size(), 1)];
    std::copy(bytes.begin(), bytes.end(), buffer);
    auto* packet = new DpPacket(this, buffer, static_cast<uint32_t>(bytes.size()));
    packet->Reset(0);
    packet->SetHeadLength(static_cast<uint32_t>(bytes.size()));
    packet->offload.l4 = ChecksumState::kGood;
    return DpPacketPtr(packet);
  }
  void Free(DpPacket* packet) override {
    delete[] packet->data();  // moved by nobody: nothing here is coalesced
    delete packet;
  }
};

TEST_F(CoalesceTest, TruncatedFramesAreReadNoFurtherThanTheyReach) {
  TightPool tight;
  for (TcpFrame frame :
       {TcpFrame{.payload = 0}, TcpFrame{.ipv6 = true, .payload = 0}, TcpFrame{.tags = {1, 2}, .payload = 0}}) {
    for (uint32_t length = 0; length <= HeaderLength(frame); ++length) {
      // Behind an open super-packet of its flow, and as the first of its flow.
      for (bool has_flow : {true, false}) {
        TcpFrame good = frame;
        good.payload = 100;
        if (has_flow) AddStream(good, 2);
        Bytes bytes = Build(good, ChecksumState::kGood);
        bytes.resize(length);
        burst_.Add(tight.Make(bytes));
        burst_.Add(tight.Make(bytes));
        Coalesce();
        ASSERT_EQ(burst_.size(), has_flow ? 3u : 2u);
        EXPECT_EQ(BytesOf(*burst_[burst_.size() - 1]), bytes);
        burst_.FreeAll();
      }
    }
  }
}

// Random interleaved flows with losses, repetitions, reorders and changes of every field. What comes out, segmented, is
// what went in, flow by flow.
class CoalescePropertyTest : public CoalesceTest {
 protected:
  using Rng = std::mt19937;

  static uint32_t Below(Rng& rng, uint32_t bound) { return static_cast<uint32_t>(rng() % bound); }

  // A flow per index, that differs in what tells flows apart.
  static TcpFrame NewFlow(Rng& rng, int index) {
    TcpFrame frame{.ipv6 = index % 2 == 1};
    frame.tags.resize(index / 2 % 3, 100);
    frame.source_port = static_cast<uint16_t>(index);
    frame.sequence = static_cast<uint32_t>(rng());
    frame.id = static_cast<uint16_t>(rng());
    frame.payload = std::vector<uint32_t>{1, 8, 63, 64, 65, 536, 1448, 1900}[Below(rng, 8)];
    frame.options.resize(4 * Below(rng, 11), 1);
    return frame;
  }

  static TcpFrame Disturb(Rng& rng, TcpFrame f) {
    switch (Below(rng, 60)) {
      case 0:
        f.flags |= kTcpPsh;
        break;
      case 1:
        f.flags |= kTcpFin;
        break;
      case 2:
        f.flags ^= static_cast<uint8_t>(1u << Below(rng, 8));
        break;
      case 3:
        f.payload = Below(rng, 1900);
        break;
      case 4:
        f.window += 1;
        break;
      case 5:
        f.id += static_cast<uint16_t>(rng());
        break;
      case 6:
        f.sequence += Below(rng, 3000) - 1500;
        break;
      case 7:
        f.padding = Below(rng, 10);
        break;
      case 8:
        f.urgent = 1;
        break;
      case 9:
        f.tos = static_cast<uint8_t>(rng());
        break;
      case 10:
        f.ttl -= 1;
        break;
      case 11:
        f.fragment = static_cast<uint16_t>(rng());
        break;
      case 12:
        f.acknowledgment += 1;
        break;
      case 13:
        if (!f.options.empty()) f.options.back() ^= 2;
        break;
      default:
        break;
    }
    return f;
  }
};

// The Ethernet header, addresses and ports of a TCP frame.
std::string FlowName(const Bytes& frame) {
  uint32_t l3 = 14;
  while (Read16(&frame[l3 - 2]) == kEthTypeVlan) l3 += 4;
  const bool ipv6 = Read16(&frame[l3 - 2]) == kEthTypeIpv6;
  std::string name(frame.begin(), frame.begin() + l3);
  return name.append(frame.begin() + l3 + (ipv6 ? 8 : 12), frame.begin() + l3 + (ipv6 ? 44 : 24));
}

struct SentFrame {
  Bytes as_sent;
  Bytes completed;  // with its postponed checksum filled in, if it had one
};

TEST_F(CoalescePropertyTest, SegmentingGivesTheOriginalBytes) {
  Rng rng(TestSeed());
  uint64_t coalesced = 0;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE(round);
    std::vector<TcpFrame> flows;
    for (uint32_t i = 0, count = 1 + Below(rng, 6); i < count; ++i) flows.push_back(NewFlow(rng, static_cast<int>(i)));
    std::map<std::string, std::deque<SentFrame>> sent;
    const size_t count = Below(rng, RxBurst::kCapacity + 1);
    for (size_t i = 0; i < count; ++i) {
      TcpFrame& flow = flows[Below(rng, static_cast<uint32_t>(flows.size()))];
      const TcpFrame frame = Disturb(rng, flow);
      ChecksumState state = round % 2 == 0 ? ChecksumState::kGood : ChecksumState::kPartial;
      if (Below(rng, 50) == 0) state = static_cast<ChecksumState>(Below(rng, 4));
      burst_.Add(MakePacket(*pool_, frame, state));
      const Bytes bytes = Build(frame, state);
      sent[FlowName(bytes)].push_back(
          {bytes, state == ChecksumState::kPartial ? Build(frame, ChecksumState::kGood) : bytes});
      if (Below(rng, 50) != 0) Advance(flow);
    }
    Coalesce();

    size_t got = 0;
    // The flow's next frame, which must be the one that was sent next.
    auto expect = [&](const Bytes& bytes, bool completed) {
      ++got;
      auto& queue = sent[FlowName(bytes)];
      ASSERT_FALSE(queue.empty());
      ASSERT_EQ(bytes, completed ? queue.front().completed : queue.front().as_sent);
      queue.pop_front();
    };
    for (DpPacket* packet : burst_) {
      if (!packet->coalesced) {
        ASSERT_NO_FATAL_FAILURE(expect(BytesOf(*packet), false));
        continue;
      }
      ParseLayers(*packet);
      GsoSegmenter segmenter(*packet, SegmentChecksum::kCompute);
      ASSERT_TRUE(segmenter.ok());
      ASSERT_EQ(segmenter.segment_count(), packet->buffer_count());
      coalesced += segmenter.segment_count();
      while (!segmenter.done()) {
        Bytes segment(segmenter.next_length());
        segmenter.WriteNext(segment.data());
        ASSERT_NO_FATAL_FAILURE(expect(segment, true));
      }
    }
    ASSERT_EQ(got, count);
    burst_.FreeAll();
  }
  EXPECT_GT(coalesced, 30000u);
}

}  // namespace
}  // namespace sluice
