// OvsdbClient against Debian's ovsdb-server, and against ours.
#include "lib/ovsdb/client.h"

#include <gmock/gmock.h>

#include <csignal>

#include "tests/lib/io/test_pki.h"
#include "tests/lib/ovsdb/client_fixture.h"
#include "tests/lib/ovsdb/server_process.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class ClientTest : public ClientFixture, public testing::WithParamInterface<ServerProcess::Model> {
 protected:
  ClientTest() : server_(scratch_.path(), GetParam()) {
    server_.Start();
    server_.Vsctl("init -- add-br br0 -- add-port br0 p1 -- set Bridge br0 other-config:hwaddr=02:00:00:00:00:01");
  }

  OvsdbClientOptions Options() const { return {.remotes = {server_.remote()}}; }

  // Every table, row and column is what a client sees that comes new.
  void ExpectEqualToFreshReplica(const OvsdbClient& client) {
    auto fresh = MakeClient(Options());
    RunUntilReady(*fresh);
    for (const auto& [table, schema] : client.schema()->tables) {
      const Database::Table& expected = (*fresh)->rows(table);
      EXPECT_EQ(client.rows(table).size(), expected.size()) << table;
      for (const auto& [uuid, row] : expected) {
        const Row* const ours = client.FindRow(table, uuid);
        ASSERT_NE(ours, nullptr) << table;
        for (size_t i = 0; i < schema.columns.size(); ++i) {
          EXPECT_EQ(ours->columns[i], row->columns[i]) << table << ":" << schema.columns[i].name;
        }
      }
    }
  }

  ServerProcess server_;
};

std::string ModelName(const testing::TestParamInfo<ServerProcess::Model>& info) {
  constexpr const char* kNames[] = {"Standalone", "Clustered", "Sluice"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Models, ClientTest,
                         testing::Values(ServerProcess::Model::kStandalone, ServerProcess::Model::kClustered,
                                         ServerProcess::Model::kSluice),
                         ModelName);

TEST_P(ClientTest, ReplicatesContents) {
  auto client = MakeClient(Options());
  EXPECT_EQ((*client)->schema(), nullptr);
  EXPECT_TRUE((*client)->rows("Bridge").empty());
  RunUntilReady(*client);
  EXPECT_EQ(client->changes, 1);
  EXPECT_THAT(client->states, testing::ElementsAre(State::kSynchronizing, State::kReady));
  ASSERT_NE((*client)->schema(), nullptr);
  EXPECT_EQ((*client)->schema()->name, "Open_vSwitch");
  const OvsdbClient& replica = *client->client;
  const Row* const bridge = OnlyRow(replica, "Bridge");
  ASSERT_NE(bridge, nullptr);
  EXPECT_EQ(replica.Get("Bridge", *bridge, "name").StringOr(""), "br0");
  EXPECT_EQ(*replica.Get("Bridge", *bridge, "other_config").FindString("hwaddr"), "02:00:00:00:00:01");
  EXPECT_EQ(replica.Get("Bridge", *bridge, "ports").size(), 2u);
  EXPECT_EQ(replica.Get("Bridge", *bridge, "mcast_snooping_enable").BooleanOr(true), false);
  EXPECT_TRUE(replica.Get("Bridge", *bridge, "no_such_column").empty());
  EXPECT_TRUE(replica.Get("No_such_table", *bridge, "name").empty());
  for (const Atom& port : replica.Get("Bridge", *bridge, "ports").keys) {
    EXPECT_NE(replica.FindRow("Port", std::get<Uuid>(port)), nullptr);
  }
}

TEST_P(ClientTest, FollowsChanges) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  for (const char* commands : {
           "set Open_vSwitch . external-ids:a=1 external-ids:b=2",
           "set Open_vSwitch . external-ids:a=3 -- remove Open_vSwitch . external-ids b",
           "add-br br1 -- add-port br1 p2 tag=7 -- set port p2 trunks=1,2,3",
           "set port p2 trunks=2,3,4 -- set interface p2 type=internal mtu_request=1400 options:x=\\\"y\\ z\\\"",
           "clear port p2 trunks tag -- clear interface p2 mtu_request",
           "set-fail-mode br1 secure -- set-controller br1 tcp:127.0.0.1:6653 tcp:127.0.0.1:6654",
           "del-fail-mode br1 -- del-controller br1",
           "del-br br0",
       }) {
    const int before = client->changes;
    server_.Vsctl(commands);
    RunUntil([&] { return client->changes > before; });
  }
  EXPECT_EQ(FindByName(*client->client, "Bridge", "br0"), nullptr);
  RunFor(milliseconds(50));
  ExpectEqualToFreshReplica(*client->client);
}

TEST_P(ClientTest, ReplicatesOnlyWhatIsAskedFor) {
  OvsdbClientOptions options = Options();
  options.tables = {{"Bridge", {"name", "ports", "unheard_of"}}, {"Port", {}}, {"Unheard_of", {}}};
  auto client = MakeClient(options);
  RunUntilReady(*client);
  const Row* const bridge = OnlyRow(*client->client, "Bridge");
  ASSERT_NE(bridge, nullptr);
  EXPECT_EQ((*client)->Get("Bridge", *bridge, "ports").size(), 2u);
  EXPECT_TRUE((*client)->Get("Bridge", *bridge, "other_config").empty());
  EXPECT_EQ((*client)->rows("Port").size(), 2u);
  EXPECT_TRUE((*client)->rows("Interface").empty());
  const int before = client->changes;
  server_.Vsctl("set interface p1 mtu_request=1400 -- set bridge br0 other_config:x=y");
  server_.Vsctl("set port p1 tag=5");
  RunUntil([&] { return client->changes > before; });
  EXPECT_EQ(client->changes, before + 1);
}

TEST_P(ClientTest, KeepsTheReplicaWhileTheServerIsAwayAndFindsTheDifference) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  const Row* const port = FindByName(*client->client, "Port", "p1");
  server_.Kill();
  RunUntil([&] { return client->states.back() == State::kBackoff || client->states.back() == State::kConnecting; });
  EXPECT_FALSE((*client)->last_error().ok());
  ASSERT_NE(FindByName(*client->client, "Bridge", "br0"), nullptr);
  EXPECT_EQ(Transact(*client->client, Json::array()).status().code(), absl::StatusCode::kUnavailable);
  const int before = client->changes;

  server_.Start();
  RunUntilReady(*client);
  EXPECT_EQ(client->changes, before) << "nothing has changed";
  EXPECT_EQ(FindByName(*client->client, "Port", "p1"), port);

  // Someone else is faster than we are this time.
  server_.Kill();
  RunUntil([&] { return (*client)->state() != State::kReady; });
  server_.Start();
  server_.Vsctl("add-br br1 -- del-port p1");
  RunUntilReady(*client);
  EXPECT_EQ(client->changes, before + 1);
  EXPECT_EQ(FindByName(*client->client, "Port", "p1"), nullptr);
  ASSERT_NE(FindByName(*client->client, "Bridge", "br1"), nullptr);
  ExpectEqualToFreshReplica(*client->client);
}

TEST_P(ClientTest, GoesOnWhereItWasAfterTheConnectionBroke) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  RunFor(milliseconds(1100));  // a session that lasted is made anew at once
  for (int i = 0; i < 3; ++i) {
    const size_t before = client->states.size();
    server_.DropConnections();
    RunUntil([&] { return client->states.size() > before; });
    server_.Vsctl(fmt::format("set Open_vSwitch . external-ids:round={} -- add-br r{}", i, i));
    RunUntil([&] {
      return (*client)->state() == State::kReady &&
             FindByName(*client->client, "Bridge", fmt::format("r{}", i)) != nullptr;
    });
  }
  ExpectEqualToFreshReplica(*client->client);
}

TEST_P(ClientTest, HandsTheLockOverFromClientToClient) {
  OvsdbClientOptions options = Options();
  options.lock = "ovs_vswitchd";
  auto first = MakeClient(options);
  RunUntil([&] { return (*first)->has_lock(); });
  auto second = MakeClient(options);
  RunUntilReady(*second);
  RunFor(milliseconds(100));
  EXPECT_FALSE((*second)->has_lock());

  // An assert holds for one and not for the other.
  TransactionBuilder with_lock(*(*first)->schema());
  with_lock.Assert("ovs_vswitchd");
  with_lock.Increment("Open_vSwitch", OnlyRow(*first->client, "Open_vSwitch")->uuid, "next_cfg", 1);
  EXPECT_TRUE(Commit(*first->client, with_lock).ok());
  EXPECT_THAT(Message(Commit(*second->client, with_lock)), HasSubstr("not owner"));

  first.reset();
  RunUntil([&] { return (*second)->has_lock(); });

  // A thief.
  auto third = MakeClient(Options());
  RunUntilReady(*third);
  (*third)->Call("steal", Json::array({"ovs_vswitchd"}), [](absl::StatusOr<Json> result) { EXPECT_TRUE(result.ok()); });
  RunUntil([&] { return !(*second)->has_lock(); });
  (*third)->Call("unlock", Json::array({"ovs_vswitchd"}),
                 [](absl::StatusOr<Json> result) { EXPECT_TRUE(result.ok()); });
  RunUntil([&] { return (*second)->has_lock(); });

  // It is asked for again after each connect.
  server_.Kill();
  RunUntil([&] { return !(*second)->has_lock(); });
  server_.Start();
  RunUntil([&] { return (*second)->has_lock(); });
}

TEST_P(ClientTest, BuildsTransactions) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  const OvsdbClient& replica = *client->client;
  const Uuid root = OnlyRow(replica, "Open_vSwitch")->uuid;

  TransactionBuilder insert(*replica.schema());
  EXPECT_TRUE(insert.empty());
  insert.Comment("two comments");
  insert.Comment("for the log");
  EXPECT_TRUE(insert.empty());
  const Uuid bridge = insert.Insert("Bridge");
  insert.Set("Bridge", bridge, "name", Datum::Scalar(std::string("br9")));
  const Uuid port = insert.Insert("Port");
  const Uuid interface = insert.Insert("Interface");
  insert.Set("Port", port, "name", Datum::Scalar(std::string("p9")));
  insert.Set("Port", port, "interfaces", Datum::Scalar(interface));
  insert.Set("Interface", interface, "name", Datum::Scalar(std::string("p9")));
  insert.AddTo("Interface", interface, "options", Strings({"peer", "uuid"}, {"p10", interface.ToString()}));
  insert.AddTo("Bridge", bridge, "ports", Datum::Scalar(port));
  insert.AddTo("Open_vSwitch", root, "bridges", Datum::Scalar(bridge));
  insert.Set("Bridge", bridge, "of_the_future", Datum::Scalar(int64_t{1}));
  insert.Increment("Open_vSwitch", root, "next_cfg", 1);
  const Uuid regretted = insert.Insert("Queue");
  insert.Delete("Queue", regretted);
  EXPECT_FALSE(insert.empty());
  const int64_t next_cfg = replica.Get("Open_vSwitch", *OnlyRow(replica, "Open_vSwitch"), "next_cfg").IntegerOr(-1);
  const auto results = Transact(*client->client, insert.Build());
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_TRUE(TransactionError(*results).ok()) << *results;
  // The replica has changed before the answer came.
  const Row* const row = FindByName(replica, "Bridge", "br9");
  ASSERT_NE(row, nullptr);
  ASSERT_TRUE(insert.ResultIndex(bridge).has_value());
  EXPECT_EQ((*results)[*insert.ResultIndex(bridge)]["uuid"][1], row->uuid.ToString());
  const Row* const interface_row = FindByName(replica, "Interface", "p9");
  ASSERT_NE(interface_row, nullptr);
  EXPECT_EQ((*results)[*insert.ResultIndex(interface)]["uuid"][1], interface_row->uuid.ToString());
  EXPECT_EQ(*replica.Get("Interface", *interface_row, "options").FindString("uuid"), interface.ToString());
  EXPECT_FALSE(insert.ResultIndex(regretted).has_value());
  EXPECT_FALSE(insert.ResultIndex(root).has_value());
  EXPECT_EQ(replica.Get("Open_vSwitch", *OnlyRow(replica, "Open_vSwitch"), "next_cfg").IntegerOr(-1), next_cfg + 1);

  TransactionBuilder change(*replica.schema());
  change.AddTo("Bridge", row->uuid, "external_ids", Strings({"a", "b", "c"}, {"1", "2", "3"}));
  change.AddTo("Bridge", row->uuid, "flood_vlans", Datum{{int64_t{1}, int64_t{2}, int64_t{5}}, {}});
  change.Set("Bridge", row->uuid, "stp_enable", Datum::Scalar(true));
  change.Set("Bridge", row->uuid, "fail_mode", Datum::Scalar(std::string("secure")));
  ASSERT_TRUE(Commit(*client->client, change).ok());
  const Uuid uuid = FindByName(replica, "Bridge", "br9")->uuid;
  TransactionBuilder again(*replica.schema());
  again.AddTo("Bridge", uuid, "external_ids", Strings({"b", "d"}, {"new", "4"}));
  again.RemoveFrom("Bridge", uuid, "external_ids", Strings({"a"}));
  again.RemoveFrom("Bridge", uuid, "external_ids", Strings({"c"}, {"another value"}));
  again.RemoveFrom("Bridge", uuid, "flood_vlans", Datum{{int64_t{2}, int64_t{9}}, {}});
  again.Set("Bridge", uuid, "fail_mode", Datum{});
  ASSERT_TRUE(Commit(*client->client, again).ok());
  const Row* const changed = replica.FindRow("Bridge", uuid);
  EXPECT_EQ(replica.Get("Bridge", *changed, "external_ids"), Strings({"b", "c", "d"}, {"new", "3", "4"}));
  EXPECT_EQ(replica.Get("Bridge", *changed, "flood_vlans"), (Datum{{int64_t{1}, int64_t{5}}, {}}));
  EXPECT_TRUE(replica.Get("Bridge", *changed, "stp_enable").BooleanOr(false));
  EXPECT_TRUE(replica.Get("Bridge", *changed, "fail_mode").empty());

  TransactionBuilder remove(*replica.schema());
  remove.RemoveFrom("Open_vSwitch", root, "bridges", Datum::Scalar(uuid));
  ASSERT_TRUE(Commit(*client->client, remove).ok());
  EXPECT_EQ(replica.FindRow("Bridge", uuid), nullptr);
  EXPECT_EQ(FindByName(replica, "Interface", "p9"), nullptr);
  ExpectEqualToFreshReplica(replica);
}

TEST_P(ClientTest, TransactionsThatFailChangeNothing) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  const OvsdbClient& replica = *client->client;
  const Uuid root = OnlyRow(replica, "Open_vSwitch")->uuid;
  const int before = client->changes;

  TransactionBuilder late(*replica.schema());
  late.Verify("Open_vSwitch", root, "next_cfg", Datum::Scalar(int64_t{4711}));
  late.Increment("Open_vSwitch", root, "next_cfg", 1);
  absl::Status status = Commit(*client->client, late);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_THAT(Message(status), HasSubstr("timed out"));

  TransactionBuilder in_time(*replica.schema());
  for (const char* column : {"next_cfg", "bridges", "external_ids", "ovs_version"}) {
    in_time.Verify("Open_vSwitch", root, column,
                   replica.Get("Open_vSwitch", *replica.FindRow("Open_vSwitch", root), column));
  }
  EXPECT_TRUE(Commit(*client->client, in_time).ok());

  TransactionBuilder twice(*replica.schema());
  const Uuid twin = twice.Insert("Bridge");
  twice.Set("Bridge", twin, "name", Datum::Scalar(std::string("br0")));
  twice.AddTo("Open_vSwitch", root, "bridges", Datum::Scalar(twin));
  status = Commit(*client->client, twice);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("constraint violation: "));

  TransactionBuilder dangling(*replica.schema());
  dangling.AddTo("Open_vSwitch", root, "bridges", Datum::Scalar(Uuid::Random()));
  EXPECT_THAT(Message(Commit(*client->client, dangling)), HasSubstr("referential integrity violation"));

  const auto nonsense = Transact(*client->client, Json::array({"nonsense"}));
  ASSERT_TRUE(nonsense.ok()) << nonsense.status();
  EXPECT_FALSE(TransactionError(*nonsense).ok());
  EXPECT_EQ(client->changes, before);
}

TEST_P(ClientTest, TellsThatALostTransactionMayHaveHappened) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  std::optional<absl::StatusOr<Json>> results;
  server_.Signal(SIGSTOP);
  (*client)->Transact(Json::array({{{"op", "comment"}, {"comment", "x"}}}),
                      [&](absl::StatusOr<Json> answer) { results = std::move(answer); });
  RunFor(milliseconds(50));
  EXPECT_FALSE(results.has_value());
  server_.Kill();
  RunUntil([&] { return results.has_value(); });
  EXPECT_EQ(results->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(results->status()), HasSubstr("may have taken effect or not"));
}

TEST_P(ClientTest, AnswersOtherMethods) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  std::optional<absl::StatusOr<Json>> list;
  std::optional<absl::StatusOr<Json>> unknown;
  (*client)->Call("list_dbs", Json::array(), [&](absl::StatusOr<Json> answer) { list = std::move(answer); });
  (*client)->Call("no_such", Json::array(), [&](absl::StatusOr<Json> answer) { unknown = std::move(answer); });
  RunUntil([&] { return list.has_value() && unknown.has_value(); });
  ASSERT_TRUE(list->ok()) << list->status();
  EXPECT_THAT(list->value().dump(), HasSubstr("\"Open_vSwitch\""));
  EXPECT_EQ(Message(unknown->status()), "no_such: unknown method");
}

TEST_P(ClientTest, SaysWhichDatabaseIsNotThere) {
  OvsdbClientOptions options = Options();
  options.database = "Closed_vSwitch";
  options.reconnect = false;
  auto client = MakeClient(options);
  RunUntil([&] { return (*client)->state() == State::kEnded; });
  EXPECT_EQ((*client)->last_error().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message((*client)->last_error()), HasSubstr("no database Closed_vSwitch"));
}

TEST_P(ClientTest, MayBeDestroyedInsideItsCallbacks) {
  auto client = std::make_unique<OvsdbClient>(loop_, Options());
  client->OnChange([&] { client.reset(); });
  RunUntil([&] { return client == nullptr; });

  client = std::make_unique<OvsdbClient>(loop_, Options());
  client->OnStateChange([&] {
    if (client->state() == State::kReady) client.reset();
  });
  RunUntil([&] { return client == nullptr; });

  client = std::make_unique<OvsdbClient>(loop_, Options());
  RunUntil([&] { return client->state() == State::kReady; });
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    client->Transact(Json::array(), [&](absl::StatusOr<Json>) {
      ++answers;
      client.reset();
    });
  }
  RunFor(milliseconds(100));
  EXPECT_EQ(client, nullptr);
  EXPECT_EQ(answers, 1);
}

using TlsClientTest = ClientFixture;

TEST_F(TlsClientTest, SpeaksTlsWithOpenVSwitch) {
  const TestPki pki(scratch_.File("pki"));
  ServerProcess server(scratch_.path(), ServerProcess::Model::kStandalone);
  uint16_t port = 0;
  {  // free a moment ago
    const auto listener = Listen("ptcp:0:127.0.0.1");
    port = listener->port();
  }
  server.Start({fmt::format("--remote=pssl:{}:127.0.0.1", port), "--private-key=" + pki.File("server.key"),
                "--certificate=" + pki.File("server.pem"), "--ca-cert=" + pki.File("ca.pem"),
                "--peer-ca-cert=" + pki.File("ca.pem")});
  TlsConfig tls = pki.Client();
  tls.ca_cert = scratch_.File("learned.pem");
  tls.bootstrap_ca = true;
  auto client = MakeClient({.remotes = {fmt::format("ssl:127.0.0.1:{}", port)}, .tls = tls});
  RunUntilReady(*client);
  server.Vsctl("add-br secret");
  RunUntil([&] { return FindByName(*client->client, "Bridge", "secret") != nullptr; });
  // And the other way round: Debian's client at our listener sees a TLS handshake that it accepts.
  const auto listener = Listen("pssl:0:127.0.0.1", pki.Server());
  server.Appctl(fmt::format("ovsdb-server/add-remote ssl:127.0.0.1:{}", listener->port()));
  RunUntil([&] { return !accepted_.empty(); });
  accepted_[0]->stream->Send(R"({"method":"list_dbs","params":[],"id":1})");
  RunUntil([&] { return accepted_[0]->received.find("Open_vSwitch") != std::string::npos; });
}

}  // namespace
}  // namespace sluice
