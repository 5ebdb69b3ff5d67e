// Bridges, fake bridges, ports and bonds.
#include "tests/utilities/vsctl/command_fixture.h"

namespace sluice::vsctl {
namespace {

using BridgesTest = CommandFixture;

TEST_F(BridgesTest, ListsWhatWasAdded) {
  Run("add-br br0 -- add-br br1");
  Run("add-port br0 p1 tag=7 -- add-port br0 p0");
  EXPECT_EQ(Run("list-br"), "br0\nbr1\n");
  EXPECT_EQ(Run("list-ports br0"), "p0\np1\n");
  EXPECT_EQ(Run("get port p1 tag"), "7\n");
  EXPECT_EQ(Run("port-to-br p1"), "br0\n");
  EXPECT_EQ(Run("get interface br1 type"), "internal\n");
}

TEST_F(BridgesTest, SeesItsOwnChangesBeforeTheyAreCommitted) {
  EXPECT_EQ(Run("add-br br0 -- add-port br0 p0 -- list-ports br0 -- del-port p0 -- list-ports br0 -- list-br"),
            "p0\nbr0\n");
  EXPECT_EQ(RowCount("Port"), 1u);  // the local one
}

TEST_F(BridgesTest, ChangesNothingIfOneCommandFails) {
  Run("add-br br0");
  EXPECT_EQ(Error("add-port br0 p0 -- add-br br1 -- add-port br2 p1"), "no bridge named br2");
  EXPECT_EQ(Run("list-br"), "br0\n");
  EXPECT_EQ(Run("list-ports br0"), "");
}

TEST_F(BridgesTest, RefusesNamesThatAreTaken) {
  Run("add-br br0 -- add-port br0 p0 -- add-bond br0 bond0 e0 e1");
  const std::pair<const char*, const char*> kCases[] = {
      {"add-br br0", "cannot create a bridge named br0 because a bridge named br0 already exists"},
      {"add-br p0", "cannot create a bridge named p0 because a port named p0 already exists on bridge br0"},
      {"add-port br0 e1", "cannot create a port named e1 because an interface named e1 already exists on bridge br0"},
      {"add-bond br0 b1 e2 e0",
       "cannot create an interface named e0 because an interface named e0 already exists on bridge br0"},
      {"add-bond br0 b1 e2 e2", "interface e2 is named twice; a bond's interfaces are different ones"},
      {"add-br br1 br0 4096", "add-br: vlan must be between 0 and 4095"},
      {"add-br br1 br0 x", "add-br: vlan must be between 0 and 4095"},
      {"add-br br1 br0", "'add-br' command takes exactly 1 or 3 arguments"},
      {"del-port br0",
       "cannot delete port br0 because it is the local port for bridge br0 (deleting this port requires deleting the "
       "entire bridge)"},
      {"del-bond-iface p0 p0", "cannot delete last interface from port p0"},
  };
  for (const auto& [line, error] : kCases) EXPECT_EQ(Error(line), error) << line;
}

TEST_F(BridgesTest, MayExistAcceptsTheSameAlone) {
  Run("add-br br0 -- add-br fb br0 7 -- add-port br0 p0");
  Run("--may-exist add-br br0 -- --may-exist add-br fb br0 7 -- --may-exist add-port br0 p0");
  EXPECT_EQ(Error("--may-exist add-br fb"), "\"--may-exist add-br fb\" but fb is a VLAN bridge for VLAN 7");
  EXPECT_EQ(Error("--may-exist add-br fb br0 8"),
            "\"--may-exist add-br fb br0 8\" but fb is a VLAN bridge for the wrong VLAN 7");
  EXPECT_EQ(Error("--may-exist add-port fb p0"),
            "\"--may-exist add-port fb p0\" but p0 is actually attached to bridge br0");
}

TEST_F(BridgesTest, FakeBridgeHasItsVlansPorts) {
  Run("add-br br0 -- add-port br0 old tag=7 -- add-br fb br0 7 -- add-port fb new -- add-port br0 other");
  EXPECT_EQ(Run("list-ports fb"), "new\nold\n");
  EXPECT_EQ(Run("list-ports br0"), "other\n");
  EXPECT_EQ(Run("get port new tag"), "7\n");
  EXPECT_EQ(Run("br-to-vlan fb -- br-to-parent fb -- br-to-vlan br0"), "7\nbr0\n0\n");
  EXPECT_EQ(Run("--fake list-br"), "fb\n");
  EXPECT_EQ(Error("del-port br0 new"), "bridge br0 does not have a port new (although its child bridge fb does)");
  Run("br-set-external-id fb k v");
  EXPECT_EQ(Run("br-get-external-id fb"), "k=v\n");
  EXPECT_EQ(Run("get port fb external_ids"), "{fake-bridge-k=v}\n");
  Run("del-br fb");
  EXPECT_EQ(Run("list-ports br0"), "other\n");
}

TEST_F(BridgesTest, DeletingABridgeDeletesAllOfIt) {
  Run("add-br br0 -- add-br fb br0 7 -- add-port fb p0 -- add-bond br0 b e0 e1 -- add-br br1");
  Run("set-controller br0 tcp:1.1.1.1");
  Run("del-br br0");
  EXPECT_EQ(Run("list-br"), "br1\n");
  EXPECT_EQ(RowCount("Port"), 1u);
  EXPECT_EQ(RowCount("Interface"), 1u);
  EXPECT_EQ(RowCount("Controller"), 0u);
  Run("del-br br1 -- add-br br1");
  EXPECT_EQ(RowCount("Bridge"), 1u);
}

TEST_F(BridgesTest, NewInterfacesAreRemembered) {
  Run("add-br br0 -- add-port br0 p0 -- add-bond br0 b e0 e1 -- del-port p0");
  EXPECT_EQ(outcome().new_interfaces.size(), 4u);
}

TEST_F(BridgesTest, SomebodyElsesChangeOfPortsIsAConflict) {
  Run("add-br br0");
  set_before_commit("add-port br0 p0");
  EXPECT_EQ(Error("add-port br0 p1").find("{\"details\""), 0u);
  EXPECT_EQ(Run("list-ports br0"), "p0\n");
  set_before_commit("del-br br0");
  Error("add-port br0 p1");
  EXPECT_EQ(RowCount("Port"), 0u);
}

TEST_F(BridgesTest, BrExistsSaysItByExitCode) {
  Run("add-br br0 -- br-exists br0");
  EXPECT_FALSE(outcome().exit_code.has_value());
  Run("add-br br1 -- br-exists nosuch");
  EXPECT_EQ(outcome().exit_code, 2);
  EXPECT_EQ(Run("list-br"), "br0\n");
}

}  // namespace
}  // namespace sluice::vsctl
