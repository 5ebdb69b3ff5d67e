// OvsdbClient with servers that Debian's is not: older ones, members of a cluster, and ones that talk nonsense.
#include <gmock/gmock.h>

#include "lib/ovsdb/client.h"
#include "lib/ovsdb/client_replica.h"
#include "tests/lib/ovsdb/client_fixture.h"
#include "tests/lib/ovsdb/scripted_server.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

const char kSchema[] = R"({"name":"db","version":"1.0.0","tables":{"T":{"columns":{
    "name":{"type":"string"},
    "opt":{"type":{"key":"string","min":0,"max":1}},
    "set":{"type":{"key":"integer","min":1,"max":3}},
    "map":{"type":{"key":"string","value":"integer","min":0,"max":"unlimited"}}}}}})";
const char kZero[] = "00000000-0000-0000-0000-000000000000";
const char kA[] = "aaaaaaaa-0000-0000-0000-000000000000";
const char kB[] = "bbbbbbbb-0000-0000-0000-000000000000";
const char kTxn1[] = "11111111-0000-0000-0000-000000000000";
const char kTxn2[] = "22222222-0000-0000-0000-000000000000";

Json J(const std::string& text) {
  const auto json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << text;
  return *json;
}

Json UpdateOf(const char* uuid, const std::string& update) {
  return J(fmt::format(R"({{"T":{{"{}":{}}}}})", uuid, update));
}

class ScriptedTest : public ClientFixture {
 protected:
  ScriptedTest() : server_(loop_, scratch_.File("one")) {
    server_.OnResult("get_schema", J(kSchema));
    server_.OnResult("monitor_cond_since", Json::array({false, kTxn1, Initial()}));
  }

  static Json Initial() {
    return UpdateOf(kA, R"({"initial":{"name":"a","set":["set",[1,2]],"map":["map",[["x",1],["y",2]]]}})");
  }
  OvsdbClientOptions Options() const { return {.remotes = {server_.remote()}, .database = "db"}; }
  static Json MonitorId() { return Json::array({"monid", "db"}); }

  std::string Name(Watched& watched, const char* uuid) {
    const Row* const row = watched->FindRow("T", *Uuid::Parse(uuid));
    return row == nullptr ? "(no row)" : std::string(watched->Get("T", *row, "name").StringOr("(none)"));
  }
  Datum Column(Watched& watched, const char* uuid, const char* column) {
    const Row* const row = watched->FindRow("T", *Uuid::Parse(uuid));
    return row == nullptr ? Datum{} : watched->Get("T", *row, column);
  }
  void RunUntilChange(Watched& watched) {
    RunUntil([&, before = watched.changes] { return watched.changes > before; });
  }

  ScriptedServer server_;
};

TEST_F(ScriptedTest, AppliesUpdatesOfTheThirdGeneration) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  ASSERT_EQ(server_.requests("monitor_cond_since").size(), 1u);
  EXPECT_EQ(server_.requests("monitor_cond_since")[0],
            Json::array({"db", MonitorId(), J(R"({"T":[{"columns":["map","name","opt","set"]}]})"), kZero}));
  EXPECT_EQ(Column(*client, kA, "set"), (Datum{{int64_t{1}, int64_t{2}}, {}}));
  server_.Notify(
      "update3",
      {MonitorId(), kTxn2,
       UpdateOf(kA, R"({"modify":{"opt":"here","set":["set",[1,2,3]],"map":["map",[["x",1],["y",5],["z",9]]]}})")});
  RunUntilChange(*client);
  EXPECT_EQ(Name(*client, kA), "a");
  EXPECT_EQ(Column(*client, kA, "opt"), Strings({"here"}));
  EXPECT_EQ(Column(*client, kA, "set"), (Datum{{int64_t{3}}, {}}));
  EXPECT_EQ(Column(*client, kA, "map"), (Datum{{std::string("y"), std::string("z")}, {int64_t{5}, int64_t{9}}}));
  server_.Notify("update3", {MonitorId(), kTxn2, UpdateOf(kA, R"({"modify":{"opt":["set",[]]}})")});
  RunUntilChange(*client);
  EXPECT_TRUE(Column(*client, kA, "opt").empty());
  server_.Notify("update3", {MonitorId(), kTxn2, UpdateOf(kB, R"({"insert":{"name":"b","set":7}})")});
  RunUntilChange(*client);
  EXPECT_EQ(Name(*client, kB), "b");
  server_.Notify("update3", {MonitorId(), kTxn2, UpdateOf(kA, R"({"delete":null})")});
  RunUntilChange(*client);
  EXPECT_EQ(Name(*client, kA), "(no row)");
  // Another monitor's, which is none of ours.
  server_.Notify("update3", {"other", kTxn2, UpdateOf(kB, R"({"delete":null})")});
  server_.Notify("update3", {MonitorId(), kTxn2, UpdateOf(kB, R"({"modify":{"name":"c"}})")});
  RunUntilChange(*client);
  EXPECT_EQ(Name(*client, kB), "c");
}

TEST_F(ScriptedTest, SpeaksTheSecondGenerationToOlderServers) {
  server_.OnError("monitor_cond_since", J(R"({"error":"unknown method"})"));
  server_.OnResult("monitor_cond", Initial());
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  server_.Notify("update2", {MonitorId(), UpdateOf(kA, R"({"modify":{"name":"A","set":["set",[2,3]]}})")});
  RunUntilChange(*client);
  EXPECT_EQ(Name(*client, kA), "A");
  EXPECT_EQ(Column(*client, kA, "set"), (Datum{{int64_t{1}, int64_t{3}}, {}}));
  EXPECT_TRUE(server_.requests("monitor").empty());
}

TEST_F(ScriptedTest, SpeaksTheFirstGenerationToTheOldest) {
  server_.OnError("monitor_cond_since", "unknown method");
  server_.OnResult("monitor", UpdateOf(kA, R"({"new":{"name":"a","opt":["set",[]],"set":1,"map":["map",[]]}})"));
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  EXPECT_EQ(Name(*client, kA), "a");
  const Json changed =
      UpdateOf(kA, R"({"old":{"set":1},"new":{"name":"a","opt":"o","set":["set",[4,5]],"map":["map",[["k",1]]]}})");
  server_.Notify("update", {MonitorId(), changed});
  RunUntilChange(*client);
  EXPECT_EQ(Column(*client, kA, "set"), (Datum{{int64_t{4}, int64_t{5}}, {}}));
  server_.Notify("update", {MonitorId(), UpdateOf(kB, R"({"new":{"name":"b","opt":"","set":1,"map":["map",[]]}})")});
  RunUntilChange(*client);
  server_.Notify("update", {MonitorId(), UpdateOf(kA, R"({"old":{"name":"a"}})")});
  RunUntilChange(*client);
  EXPECT_EQ(Name(*client, kA), "(no row)");
  EXPECT_EQ(Name(*client, kB), "b");
}

TEST_F(ScriptedTest, SaysWhyItCannotMonitor) {
  for (const char* method : {"monitor_cond_since", "monitor_cond", "monitor"}) {
    server_.OnError(method, J(R"({"error":"permission error","details":"not you"})"));
  }
  OvsdbClientOptions options = Options();
  options.reconnect = false;
  auto client = MakeClient(options);
  RunUntil([&] { return (*client)->state() == State::kEnded; });
  EXPECT_THAT(Message((*client)->last_error()), HasSubstr("monitor: permission error: not you"));
}

TEST_F(ScriptedTest, AsksOnlyForWhatCameSinceTheLastTransaction) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  server_.Notify("update3", {MonitorId(), kTxn2, UpdateOf(kB, R"({"insert":{"name":"b","set":1}})")});
  RunUntilChange(*client);
  const Row* const row_a = (*client)->FindRow("T", *Uuid::Parse(kA));
  server_.OnResult("monitor_cond_since", {true, kTxn1, UpdateOf(kB, R"({"modify":{"name":"B"}})")});
  server_.Disconnect();
  RunUntilChange(*client);
  ASSERT_EQ(server_.requests("monitor_cond_since").size(), 2u);
  EXPECT_EQ(server_.requests("monitor_cond_since")[1][3], kTxn2);
  EXPECT_EQ(Name(*client, kB), "B");
  EXPECT_EQ((*client)->FindRow("T", *Uuid::Parse(kA)), row_a);
  // The server has forgotten: everything comes anew, and A is unchanged.
  server_.OnResult("monitor_cond_since", {false, kZero, Initial()});
  server_.Disconnect();
  RunUntilChange(*client);
  EXPECT_EQ(server_.requests("monitor_cond_since")[2][3], kTxn1);
  EXPECT_EQ(Name(*client, kB), "(no row)");
  EXPECT_EQ((*client)->FindRow("T", *Uuid::Parse(kA)), row_a);
  // A zero id is not one to go on from.
  const int before = client->changes;
  server_.Disconnect();
  RunUntil([&] { return server_.requests("monitor_cond_since").size() == 4 && (*client)->state() == State::kReady; });
  EXPECT_EQ(server_.requests("monitor_cond_since")[3][3], kZero);
  EXPECT_EQ(client->changes, before);
}

TEST_F(ScriptedTest, StartsFromScratchAfterAnUpdateThatDoesNotFit) {
  for (const char* update : {R"({"modify":{"name":"x"}})", R"({"delete":null})", R"({"nonsense":1})", "7",
                             R"({"insert":{"name":7}})", R"({"insert":[]})"}) {
    auto client = MakeClient(Options());
    RunUntilReady(*client);
    server_.Notify("update3", {MonitorId(), kTxn2, UpdateOf(kB, update)});
    RunUntil([&] { return (*client)->state() != State::kReady; });
    RunUntilReady(*client);
    EXPECT_EQ(server_.requests("monitor_cond_since").back()[3], kZero) << update;
    EXPECT_EQ(Name(*client, kA), "a");
  }
}

TEST_F(ScriptedTest, ReadsTheSchemaAgainWhenTheDatabaseIsConverted) {
  auto client = MakeClient(Options());
  RunUntilReady(*client);
  const DatabaseSchema* const old_schema = (*client)->schema();
  Json schema = J(kSchema);
  schema["version"] = "2.0.0";
  schema["tables"]["T"]["columns"]["added"] = {{"type", "boolean"}};
  server_.OnResult("get_schema", schema);
  const int before = client->changes;
  server_.Notify("monitor_canceled", Json::array({MonitorId()}));
  RunUntil([&] { return client->changes > before; });
  EXPECT_EQ((*client)->schema()->version, "2.0.0");
  EXPECT_EQ(old_schema->version, "1.0.0") << "the old one stays valid";
  EXPECT_EQ(Column(*client, kA, "added"), Datum::Scalar(false));
  EXPECT_EQ(server_.requests("monitor_cond_since").back()[3], kZero);
}

TEST_F(ScriptedTest, LeavesAServerThatLostItsCluster) {
  const auto database = [](const std::string& columns) {
    return J(fmt::format(R"({{"Database":{{"{}":{}}}}})", kA, columns));
  };
  ScriptedServer other(loop_, scratch_.File("two"));
  other.OnResult("get_schema", J(kSchema));
  other.OnResult("monitor_cond_since", {false, kTxn1, UpdateOf(kB, R"({"initial":{"name":"b","set":1}})")});
  other.OnResult("_Server", database(R"({"initial":{"name":"db","model":"clustered","connected":true,"index":10}})"));
  server_.OnResult("_Server", database(R"({"initial":{"name":"db","model":"clustered","index":20}})"));
  OvsdbClientOptions options = Options();
  options.remotes.push_back(other.remote());
  auto client = MakeClient(options);
  RunUntilReady(*client);
  EXPECT_EQ(Name(*client, kB), "b");
  EXPECT_TRUE(server_.requests("monitor_cond_since").empty());
  EXPECT_THAT(Message((*client)->last_error()), HasSubstr("disconnected from its cluster"));

  // Now the first is back, and the second goes.
  server_.OnResult("_Server", database(R"({"initial":{"name":"db","model":"clustered","connected":true,"index":20}})"));
  other.Notify("update2", {"_Server", database(R"({"modify":{"connected":false}})")});
  RunUntil([&] { return Name(*client, kA) == "a"; });
  EXPECT_EQ(Name(*client, kB), "(no row)");

  // The second would take us back in time.
  other.OnResult("_Server", database(R"({"initial":{"name":"db","model":"clustered","connected":true,"index":15}})"));
  server_.Notify("update2", {"_Server", database(R"({"modify":{"connected":false}})")});
  RunUntil([&] { return Message((*client)->last_error()).find("older data") != std::string::npos; });
  EXPECT_EQ(Name(*client, kA), "a");
}

TEST_F(ScriptedTest, BacksOffTwiceAsLongEachTime) {
  server_.OnError("get_schema", "go away");
  std::vector<steady_clock::time_point> attempts;
  auto client = MakeClient(Options());
  RunUntil([&] {
    if (static_cast<size_t>(server_.accepted()) > attempts.size()) attempts.push_back(steady_clock::now());
    return attempts.size() == 3;
  });
  EXPECT_NEAR(std::chrono::duration<double>(attempts[1] - attempts[0]).count(), 1, 0.5);
  EXPECT_NEAR(std::chrono::duration<double>(attempts[2] - attempts[1]).count(), 2, 0.5);
}

TEST_F(ScriptedTest, TriesAllRemotesBeforeItWaits) {
  OvsdbClientOptions options = Options();
  options.remotes = {"unix:" + scratch_.File("nobody"), "nonsense", server_.remote()};
  options.reconnect = false;
  auto client = MakeClient(options);
  const auto start = steady_clock::now();
  RunUntilReady(*client);
  EXPECT_LT(steady_clock::now() - start, milliseconds(800));
  server_.Disconnect();
  RunUntil([&] { return (*client)->state() == State::kEnded; });
  EXPECT_FALSE((*client)->last_error().ok());
}

TEST_F(ScriptedTest, EndsWhenNoRemoteIsThereAndItIsNotToRetry) {
  for (const std::vector<std::string>& remotes :
       {std::vector<std::string>{}, std::vector<std::string>{"unix:" + scratch_.File("nobody"), "tcp:127.0.0.1:1"}}) {
    OvsdbClientOptions options = Options();
    options.remotes = remotes;
    options.reconnect = false;
    auto client = MakeClient(options);
    RunUntil([&] { return !client->states.empty() && (*client)->state() == State::kEnded; });
    EXPECT_FALSE((*client)->last_error().ok());
    EXPECT_FALSE((*client)->ever_ready());
  }
}

TEST_F(ScriptedTest, GivesUpAServerThatIsSilent) {
  for (const char* method : {"get_schema", "monitor_cond_since", "_Server"}) {
    server_.OnSilence(method);
  }
  OvsdbClientOptions options = Options();
  options.probe_interval = milliseconds(50);
  options.reconnect = false;
  auto client = MakeClient(options);
  RunFor(milliseconds(200));  // it answers probes, and nothing else
  EXPECT_EQ((*client)->state(), State::kSynchronizing);
  server_.StopReading();
  RunUntil([&] { return (*client)->state() == State::kEnded; });
  EXPECT_THAT(Message((*client)->last_error()), HasSubstr("no response to inactivity probe"));
}

TEST_F(ScriptedTest, SurvivesNonsense) {
  const Json nonsense[] = {nullptr,
                           7,
                           "text",
                           Json::array(),
                           Json::object(),
                           J(R"({"name":7})"),
                           J(R"({"name":"db","version":"1.0.0","tables":7})"),
                           J(R"([true,"x",{}])"),
                           J(R"([false,7,{}])"),
                           J(R"([false,"x",7])"),
                           J(R"([false,"x",{"T":7}])"),
                           J(R"([false,"x",{"U":{}}])"),
                           J(R"([false,"x",{"T":{"not a uuid":{"initial":{}}}}])")};
  for (const char* method : {"_Server", "get_schema", "monitor_cond_since"}) {
    for (const Json& result : nonsense) {
      ScriptedServer server(loop_, scratch_.File("three"));
      server.OnResult("get_schema", J(kSchema));
      server.OnResult("monitor_cond_since", Json::array({false, kTxn1, Initial()}));
      server.OnResult(method, result);
      OvsdbClientOptions options = Options();
      options.remotes = {server.remote()};
      options.reconnect = false;
      auto client = MakeClient(options);
      RunUntil([&] { return (*client)->state() == State::kEnded; });
      EXPECT_FALSE((*client)->last_error().ok());
      EXPECT_FALSE((*client)->ever_ready()) << method << " " << result;
    }
  }
  for (const char* method : {"update", "update2", "update3", "locked", "stolen", "monitor_canceled", "other"}) {
    for (const Json& params : {Json::array(), J("[1,2,3]"), J(R"([["monid","db"]])"), J(R"([["monid","db"],1])"),
                               J(R"([["monid","db"],1,2])"), J(R"(["_Server",1])")}) {
      auto client = MakeClient(Options());
      RunUntilReady(*client);
      server_.Notify(method, params);
      RunFor(milliseconds(5));
      EXPECT_EQ(Name(*client, kA), "a");
    }
  }
}

TEST(ApplyDiffTest, FollowsTheManual) {
  ColumnType set;
  set.key.type = AtomType::kInteger;
  set.min = 0;
  set.max = ColumnType::kUnlimited;
  const auto integers = [](std::vector<int64_t> keys) {
    Datum datum;
    for (int64_t key : keys) datum.keys.emplace_back(key);
    return datum;
  };
  EXPECT_EQ(ApplyDiff(integers({1, 2, 3}), integers({2, 4}), set), integers({1, 3, 4}));
  EXPECT_EQ(ApplyDiff(integers({}), integers({2, 4}), set), integers({2, 4}));
  EXPECT_EQ(ApplyDiff(integers({2, 4}), integers({2, 4}), set), integers({}));
  EXPECT_EQ(ApplyDiff(integers({2, 4}), integers({}), set), integers({2, 4}));
  ColumnType optional = set;
  optional.max = 1;
  EXPECT_EQ(ApplyDiff(integers({2}), integers({2}), optional), integers({2}));
  EXPECT_EQ(ApplyDiff(integers({2}), integers({}), optional), integers({}));
  ColumnType map = set;
  map.value = set.key;
  const auto pairs = [&](std::vector<int64_t> keys, std::vector<int64_t> values) {
    return Datum{integers(keys).keys, integers(values).keys};
  };
  EXPECT_EQ(ApplyDiff(pairs({1, 2, 3}, {10, 20, 30}), pairs({0, 2, 3, 4}, {5, 20, 31, 40}), map),
            pairs({0, 1, 3, 4}, {5, 10, 31, 40}));
}

}  // namespace
}  // namespace sluice
