// The database commands.
#include "tests/utilities/vsctl/command_fixture.h"

namespace sluice::vsctl {
namespace {

class DatabaseTest : public CommandFixture {
 protected:
  void SetUp() override { Run("add-br br0 -- add-port br0 p0 tag=7 -- add-port br0 p1"); }
};

TEST_F(DatabaseTest, SetsAndGetsValues) {
  Run("set bridge br0 other-config:a=b external_ids={x=y,z=w} fail_m=secure");
  EXPECT_EQ(Run("get bridge br0 other_config external_ids:x fail_mode"), "{a=b}\ny\nsecure\n");
  Run("set bridge br0 other_config:a=c other_config:d=\"e\"");
  EXPECT_EQ(Run("get br br0 other_config"), "{a=c, d=e}\n");
  Run("set port p0 trunks=1-3,9");
  EXPECT_EQ(Run("get port p0 trunks -- clear port p0 trunks -- get port p0 trunks"), "[1, 2, 3, 9]\n[]\n");
}

TEST_F(DatabaseTest, AddsAndRemovesElements) {
  Run("add port p0 trunks 5 6-8 -- remove port p0 trunks 7");
  EXPECT_EQ(Run("get port p0 trunks"), "[5, 6, 8]\n");
  Run("add bridge br0 external_ids a=b -- add bridge br0 external_ids a=c d=e");
  EXPECT_EQ(Run("get bridge br0 external_ids"), "{a=b, d=e}\n");
  Run("remove bridge br0 external_ids a=x d");
  EXPECT_EQ(Run("get bridge br0 external_ids"), "{a=b}\n");
}

TEST_F(DatabaseTest, SaysWhatIsWrongInOneLine) {
  const std::pair<const char*, const char*> kCases[] = {
      {"set prot p0 tag=1", "unknown table \"prot\"; did you mean \"Port\"?"},
      {"set q p0 tag=1", "\"q\" matches multiple table names: QoS, Queue"},
      {"set port p0 tagg=1", "Port does not contain a column whose name matches \"tagg\"; did you mean \"tag\"?"},
      {"set port p9 tag=1", "no row \"p9\" in table Port"},
      {"set port p0 tag=4096", "constraint violation: 4096 is not in the valid range 0 to 4095 (inclusive)"},
      {"set port p0 tag=1,2", "1,2: 2 value(s) specified but the maximum number is 1"},
      {"set port p0 tag:x=1", "cannot specify key to set for non-map column tag"},
      {"set port p0 tag=", "tag=: argument does not end in \"=\" followed by a value."},
      {"set port p0 name=p2", "cannot modify read-only column name in table Port"},
      {"set port p0 qos=@q", "row id \"@q\" is referenced but never created (e.g. with \"-- --id=@q create ...\")"},
      {"get port p0 tag:x", "cannot specify key to get for non-map column tag"},
      {"get bridge br0 other_config:x", "no key \"x\" in Bridge record \"br0\" column other_config"},
      {"add port p0 tag 8",
       "\"add\" operation would put 2 value(s) in column tag of table Port but the maximum number is 1"},
      {"clear interface p0 type",
       "\"clear\" operation cannot be applied to column type of table Interface, which is not allowed to be empty"},
      {"--id=q create qos type=x", "row id \"q\" does not begin with \"@\""},
      {"--columns=, list port", "must specify at least one column name"},
  };
  for (const auto& [line, error] : kCases) EXPECT_EQ(Error(line), error) << line;
}

TEST_F(DatabaseTest, IfExistsLetsRecordsBeMissing) {
  EXPECT_EQ(Run("--if-exists get port p9 tag -- --if-exists set port p9 tag=1 -- --if-exists list port p9"), "");
  EXPECT_EQ(Run("--if-exists get bridge br0 other_config:x"), "\n");
}

TEST_F(DatabaseTest, RowsCreatedInOneLineReferToEachOther) {
  Run("set port p0 qos=@q -- --id=@q create qos type=t queues:1=@u -- --id=@u create queue dscp=3");
  EXPECT_EQ(Run("get qos p0 type"), "t\n");
  EXPECT_EQ(RowCount("Queue"), 1u);
  EXPECT_EQ(Run("find queue dscp=3 -- --columns=dscp list queue").substr(0, 20), "_uuid               ");
}

TEST_F(DatabaseTest, KeepsAUuidThatWasAskedFor) {
  Run("--id=7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21 create qos type=t");
  EXPECT_EQ(Run("get qos 7d5a type"), "t\n");
  EXPECT_EQ(Error("get qos 7d5 type"), "no row \"7d5\" in table QoS");
  Error("--id=7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21 create qos type=t");
}

TEST_F(DatabaseTest, FindsByEveryOperator) {
  Run("set port p0 trunks=1,2 -- set bridge br0 external_ids:a=b");
  const std::pair<const char*, bool> kPortP0[] = {
      {"tag=7", true},           {"tag!=7", false},          {"tag<8", true},           {"tag>7", false},
      {"tag<=7", true},          {"tag>=8", false},          {"trunks=2,1", true},      {"trunks{=}1,2", true},
      {"trunks{!=}1", true},     {"trunks{<}1,2", false},    {"trunks{<}1,2,3", true},  {"trunks{>}1", true},
      {"trunks{<=}1,2", true},   {"trunks{>=}1,2,3", false}, {"trunks{in}1,2,3", true}, {"trunks{not-in}1", false},
      {"trunks{not-in}3", true},
  };
  for (const auto& [condition, found] : kPortP0) {
    const std::string output = Run(fmt::format("--bare --columns=name find port name=p0 {}", condition));
    EXPECT_EQ(output, found ? "p0\n" : "") << condition;
  }
  EXPECT_EQ(Run("--bare --columns=name find bridge external_ids:a!=c"), "br0\n");
  EXPECT_EQ(Run("--bare --columns=name find bridge external_ids:z!=c"), "");
  EXPECT_EQ(Run("--bare --columns=name find bridge external_ids:z{!=}c"), "br0\n");
}

TEST_F(DatabaseTest, WaitUntilAsksForAnotherAttempt) {
  Run("wait-until port p0 tag=7");
  EXPECT_FALSE(outcome().try_again);
  Run("wait-until port p0 tag=8 -- set port p1 tag=8");
  EXPECT_TRUE(outcome().try_again);
  Run("wait-until port p9");
  EXPECT_TRUE(outcome().try_again);
  EXPECT_EQ(Run("get port p1 tag"), "[]\n");
}

TEST_F(DatabaseTest, NoChangeIsLostToSomebodyElses) {
  set_before_commit("set bridge br0 other_config:b=2");
  EXPECT_NE(Error("set bridge br0 other_config:a=1").find("timed out"), std::string::npos);
  EXPECT_EQ(Run("set bridge br0 other_config:a=1 -- get bridge br0 other_config"), "{a=\"1\", b=\"2\"}\n");
  set_before_commit("del-port p0");
  EXPECT_NE(Error("set port p0 tag=3").find("timed out"), std::string::npos);
}

TEST_F(DatabaseTest, WarnsOfKeysThatAreNearlyKnown) {
  Run("set Open_vSwitch . other_config:userspace-tso-enabel=true");
  ASSERT_EQ(outcome().warnings.size(), 1u);
  EXPECT_EQ(outcome().warnings[0],
            "other_config:userspace-tso-enabel is not a key that does anything; did you mean "
            "\"userspace-tso-enable\"?");
  Run("set Open_vSwitch . other_config:userspace-tso-enable=true other_config:mine=1 external_ids:hwadr=1");
  EXPECT_TRUE(outcome().warnings.empty());
}

TEST_F(DatabaseTest, EmerResetKeepsBridgesAndTheirAddresses) {
  Run("set bridge br0 other_config:hwaddr=1 other_config:x=y fail_mode=secure -- set-controller br0 tcp:1.1.1.1");
  Run("set-manager ptcp:6640 -- set-ssl /k /c /ca -- set port p0 other_config:x=y");
  Run("emer-reset");
  EXPECT_EQ(Run("get bridge br0 other_config fail_mode controller"), "{hwaddr=\"1\"}\n[]\n[]\n");
  EXPECT_EQ(Run("list-ports br0 -- get-manager -- get-ssl -- get port p0 other_config tag"), "p0\np1\n{}\n7\n");
}

TEST_F(DatabaseTest, ShowsWhatIsNotDefault) {
  Run("set-manager ptcp:6640 -- set interface p1 type=patch options:peer=x");
  const std::string shown = Run("show");
  EXPECT_EQ(shown.substr(shown.find('\n')),
            "\n"
            "    Manager \"ptcp:6640\"\n"
            "    Bridge br0\n"
            "        Port br0\n"
            "            Interface br0\n"
            "                type: internal\n"
            "        Port p0\n"
            "            tag: 7\n"
            "            Interface p0\n"
            "        Port p1\n"
            "            Interface p1\n"
            "                type: patch\n"
            "                options: {peer=x}\n");
}

}  // namespace
}  // namespace sluice::vsctl
