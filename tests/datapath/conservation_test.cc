// The property that every frame is accounted for, over random frames, flows and changes of ports, threads and settings.

#include <random>

#include "tests/datapath/datapath_fixture.h"

namespace sluice {
namespace {

using testing::Frame;
using testing::MakeFrame;

class ConservationTest : public testing::DatapathFixture, public ::testing::WithParamInterface<uint32_t> {
 protected:
  void SetUp() override {
    SCOPED_TRACE(GetParam());
    random_.seed(GetParam());
    DatapathFixture::SetUp();
    for (int i = 0; i < 4; ++i) NewPort();
  }

  uint32_t Pick(uint32_t count) { return std::uniform_int_distribution<uint32_t>(0, count - 1)(random_); }

  void NewPort() {
    NetdevOptions options{{"n_rxq", std::to_string(1 + Pick(3))}};
    if (Pick(2) == 0) options["rx-gro"] = "true";
    if (Pick(3) == 0) options["userspace-tso-enable"] = Pick(2) == 0 ? "true" : "false";
    AddPort(fmt::format("p{}", ++made_), options);
  }
  Port* RandomPort() {
    auto it = datapath_->ports().begin();
    std::advance(it, Pick(static_cast<uint32_t>(datapath_->ports().size())));
    return it->second.get();
  }

  void RandomFlow() {
    const char* kActions[] = {"{}",
                              "{},{}",
                              "drop",
                              "recirc(0x1)",
                              "{},recirc(0x1)",
                              "userspace(pid=0)",
                              "clone({}),{}",
                              "trunc(100),{}",
                              "push_vlan(vid=7,pcp=0),{}",
                              "99"};
    std::string actions = kActions[Pick(std::size(kActions))];
    for (size_t at; (at = actions.find("{}")) != std::string::npos;) {
      actions.replace(at, 2, std::to_string(RandomPort()->number()));
    }
    auto match = ParseMatch(fmt::format("recirc_id({}),in_port({})", Pick(2), RandomPort()->number()), {});
    ASSERT_TRUE(match.ok()) << match.status();
    auto parsed = ParseActions(actions, {});
    ASSERT_TRUE(parsed.ok()) << actions << ": " << parsed.status();
    auto ufid = FlowTable::MakeUfid(*match);
    if (!datapath_->flows().Insert(*match, *parsed, ufid).ok()) {
      ASSERT_TRUE(datapath_->flows().Modify(*match, *parsed, false).ok());
    }
  }

  void RandomTraffic() {
    DummyNetdev& port = *FindDummy(RandomPort()->name());
    uint32_t count = 1 + Pick(50);
    for (uint32_t i = 0; i < count; ++i) {
      switch (Pick(4)) {
        case 0:
          InjectSuper(port, MakeFrame({.payload = 1 + Pick(20000)}), static_cast<uint16_t>(536 + Pick(1000)));
          break;
        case 1: {
          std::vector<uint8_t> noise(14 + Pick(1600));
          for (uint8_t& byte : noise) byte = static_cast<uint8_t>(Pick(256));
          Inject(port, noise, Pick(4));
          break;
        }
        default:
          Inject(port, MakeFrame({.vlan_tags = static_cast<int>(Pick(3)), .payload = Pick(1400)}).bytes, Pick(4));
      }
    }
  }

  // Frames that wait in the queue of a port that goes were never received.
  void RandomChange() {
    Port* port = RandomPort();
    switch (Pick(6)) {
      case 0:
        Settle();
        ASSERT_TRUE(datapath_->RemovePort(port->number()).ok());
        NewPort();
        break;
      case 1: {
        Settle();
        ASSERT_TRUE(datapath_->SetPortOptions(port->number(), {{"n_rxq", std::to_string(1 + Pick(3))}}).ok());
        break;
      }
      case 2:
        ASSERT_TRUE(datapath_->SetPmdCores(Pick(2) == 0 ? std::nullopt : std::optional(CpuSet::Allowed())).ok());
        break;
      case 3:
        datapath_->SetTso(Pick(2) == 0);
        break;
      case 4: {
        EgressCaps caps{.mtu = 1500, .max_buffers = static_cast<uint16_t>(1 + Pick(40))};
        if (Pick(2) == 0) caps.mtu = 1000;
        if (Pick(2) == 0) caps.partial_checksum = true;
        FindDummy(port->name())->SetCaps(caps);
        break;
      }
      default:
        FindDummy(port->name())->SetSendBudget(Pick(2) == 0 ? std::nullopt : std::optional<size_t>(Pick(100)));
    }
  }

  std::mt19937 random_;
  int made_ = 0;
};

TEST_P(ConservationTest, ReceivedAndCopiedEqualsSentAndDroppedAndConsumed) {
  for (int step = 0; step < 60; ++step) {
    RandomFlow();
    RandomTraffic();
    if (Pick(3) == 0) RandomChange();
    if (HasFatalFailure()) return;
    // Balanced at any moment, also before all has been received.
    EXPECT_TRUE(datapath_->GetConservation().Balanced()) << "step " << step;
  }
  Conservation sum = Settle();
  EXPECT_GT(sum.sent, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ConservationTest, ::testing::Range(1u, 13u));

}  // namespace
}  // namespace sluice
