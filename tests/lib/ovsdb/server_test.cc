#include "lib/ovsdb/server.h"

#include "tests/lib/ovsdb/server_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;

TEST_F(ServerTest, ListsItsDatabasesAndTheirSchemas) {
  auto client = Connect();
  EXPECT_EQ(client->CallText("list_dbs", "[]"), R"(["D","_Server"])");
  EXPECT_EQ(client->Call("get_schema", R"(["D"])")["name"], "D");
  EXPECT_EQ(client->Call("get_schema", R"(["_Server"])")["cksum"], "3009684573 744");
  const Json id = client->Call("get_server_id", "[]");
  EXPECT_TRUE(Uuid::Parse(id.get<std::string>()).ok());
  EXPECT_EQ(Connect()->Call("get_server_id", "[]"), id);
}

TEST_F(ServerTest, DescribesItsDatabasesInTheServerDatabase) {
  auto client = Connect();
  const Json rows =
      client->Call("monitor_cond", R"(["_Server", "s", {"Database": [{"where": [["name", "==", "D"]]}]}])");
  ASSERT_EQ(rows["Database"].size(), 1u);
  const Json row = rows["Database"].begin()->at("initial");
  EXPECT_EQ(row["model"], "standalone");
  EXPECT_EQ(row["connected"], true);
  EXPECT_EQ(row["leader"], true);
  EXPECT_EQ((*ParseJson(row["schema"].get<std::string>()))["name"], "D");
  EXPECT_THAT(client->CallText("transact", R"(["_Server", {"op": "delete", "table": "Database", "where": []}])"),
              HasSubstr("not allowed"));
}

struct BadRequest {
  const char* method;
  const char* params;
  const char* error;
};

TEST_F(ServerTest, AnswersNonsenseWithErrorsAndGoesOn) {
  const BadRequest kCases[] = {
      {"foo", "[]", R"("unknown method")"},
      {"get_schema", "[]", "get_schema request params must begin with <db-name>"},
      {"get_schema", R"(["X"])", "get_schema request specifies unknown database X"},
      {"transact", "[1]", "transact request params must begin with <db-name>"},
      {"transact", R"(["X"])", R"("unknown database")"},
      {"monitor", R"(["D"])", "invalid parameters"},
      {"monitor", R"(["D", null])", "invalid parameters"},
      {"monitor", R"(["D", null, 5])", "monitor-requests must be object"},
      {"monitor_cond_since", R"(["D", null, {}])", "invalid parameters"},
      {"monitor_cond_since", R"(["D", null, {}, "x"])", "last-txn-id must be UUID format."},
      {"monitor_cond_change", R"(["m", "m", {}])", "unknown monitor session"},
      {"monitor_cond_change", R"([])", "invalid parameters"},
      {"monitor_cancel", R"(["m"])", R"("unknown monitor")"},
      {"monitor_cancel", "[]", R"("invalid parameters")"},
      {"lock", R"(["no id"])", "lock request params must be <id>"},
      {"unlock", R"(["L"])", R"(unlock: \"unlock\" without \"lock\" or \"steal\")"},
      {"set_db_change_aware", "[1]", "true or false parameter expected"},
      {"convert", R"(["D", {}])", "convert: the schema of database D"},
      {"cancel", "[1]", R"("unknown method")"},
  };
  auto client = Connect();
  for (const BadRequest& c : kCases) {
    EXPECT_THAT(client->CallText(c.method, c.params), HasSubstr(c.error)) << c.method << c.params;
  }
  EXPECT_EQ(client->CallText("set_db_change_aware", "[true]"), "{}");
}

TEST_F(ServerTest, ClientsHearOfTransactionsBeforeTheyAreAnswered) {
  auto client = Connect();
  auto other = Connect();
  client->Call("monitor", R"(["D", "m", {"T": {"columns": ["name"]}}])");
  other->Call("monitor_cond", R"(["D", 7, {"T": [{"columns": ["name"]}]}])");
  client->Call("transact", Insert("a"));
  EXPECT_THAT(client->Heard(), HasSubstr(R"("new":{"name":"a"})"));
  EXPECT_THAT(other->Heard(), testing::StartsWith("update2 [7,"));
}

TEST_F(ServerTest, TransactionsWaitForWhatOthersDo) {
  auto client = Connect();
  auto other = Connect();
  client->Call("transact", Insert("a"));
  client->Send("transact", WaitForNumber(5), "w");
  EXPECT_THAT(client->CallText("transact", SetNumber(4)), HasSubstr(R"("count":1)"));
  EXPECT_TRUE(client->HeardNothing()) << "4 is not 5";
  other->Call("transact", SetNumber(5));
  EXPECT_EQ(DumpJson(client->Reply("w")), "[{}]");
}

TEST_F(ServerTest, TransactionsThatWaitTimeOut) {
  auto client = Connect();
  client->Call("transact", Insert("a"));
  EXPECT_THAT(client->CallText("transact", WaitForNumber(5, R"(, "timeout": 20)")), HasSubstr("timed out"));
  EXPECT_THAT(client->CallText("transact", WaitForNumber(5, R"(, "timeout": 0)")), HasSubstr("timed out"));
  EXPECT_THAT(client->CallText("transact", WaitForNumber(0, R"(, "timeout": 0)")), HasSubstr("[{}]"));
}

TEST_F(ServerTest, TransactionsThatWaitAreCancelledByTheirIds) {
  auto client = Connect();
  auto other = Connect();
  client->Call("transact", Insert("a"));
  client->Send("transact", WaitForNumber(5), "w");
  client->Send("transact", WaitForNumber(5), "v");
  client->Send("transact", WaitForNumber(5), "w");
  EXPECT_THAT(DumpJson(client->Reply("w")), HasSubstr("duplicate request ID"));
  other->Notify("cancel", R"(["w"])");
  EXPECT_TRUE(other->HeardNothing());
  EXPECT_TRUE(client->HeardNothing()) << "another client's ids are its own";
  client->Notify("cancel", R"(["w"])");
  EXPECT_EQ(client->Reply("w"), "canceled");
  other->Call("transact", SetNumber(5));
  EXPECT_EQ(DumpJson(client->Reply("v")), "[{}]");
  EXPECT_TRUE(client->HeardNothing());
}

TEST_F(ServerTest, RefusesMoreWaitingTransactionsThanItKeeps) {
  auto client = Connect();
  client->Call("transact", Insert("a"));
  for (int i = 0; i <= 1000; ++i) client->Send("transact", WaitForNumber(5), i);
  EXPECT_THAT(DumpJson(client->Reply(1000)), HasSubstr("resources exhausted"));
  client->Call("transact", SetNumber(5));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(DumpJson(client->Reply(i)), "[{}]") << i;
}

TEST_F(ServerTest, LocksGoFromClientToClient) {
  auto client = Connect();
  auto other = Connect();
  const std::string assertion = R"(["D", {"op": "assert", "lock": "L"}])";
  EXPECT_EQ(client->CallText("lock", R"(["L"])"), R"({"locked":true})");
  EXPECT_EQ(other->CallText("lock", R"(["L"])"), R"({"locked":false})");
  EXPECT_EQ(client->CallText("transact", assertion), "[{}]");
  EXPECT_THAT(other->CallText("transact", assertion), HasSubstr("not owner"));
  client->Close();
  EXPECT_EQ(other->Heard(), R"(locked ["L"])");
  auto thief = Connect();
  EXPECT_EQ(thief->CallText("steal", R"(["L"])"), R"({"locked":true})");
  EXPECT_EQ(other->Heard(), R"(stolen ["L"])");
  EXPECT_EQ(thief->CallText("unlock", R"(["L"])"), "{}");
  EXPECT_EQ(other->Heard(), R"(locked ["L"])");
}

TEST_F(ServerTest, AReturningClientGetsOnlyWhatChanged) {
  auto client = Connect();
  client->Call("transact", Insert("a"));
  client->Call("transact", Insert("b"));
  const std::string zero = Uuid().ToString();
  const auto since = [](const std::string& id) {
    return fmt::format(R"(["D", "m", {{"T": [{{"columns": ["name", "number"]}}]}}, "{}"])", id);
  };
  Json all = client->Call("monitor_cond_since", since(zero));
  EXPECT_EQ(all[0], false);
  EXPECT_EQ(all[2]["T"].size(), 2u);
  client->Call("transact", SetNumber(3));
  const Json update = *ParseJson(client->Heard().substr(strlen("update3 ")));
  EXPECT_EQ(update[0], "m");
  const std::string last = update[1];
  EXPECT_NE(last, all[1].get<std::string>());
  client->Close();

  client = Connect();
  Json nothing = client->Call("monitor_cond_since", since(last));
  EXPECT_EQ(DumpJson(nothing), R"([true,")" + last + R"(",{}])");
  client = Connect();
  client->Call("transact", Insert("c"));
  Json one = client->Call("monitor_cond_since", since(last));
  EXPECT_EQ(one[0], true);
  EXPECT_EQ(DumpJson(*one[2]["T"].begin()), R"({"insert":{"name":"c"}})");
}

TEST_F(ServerTest, ConditionChangesTellFirstWhatWasDue) {
  auto client = Connect();
  client->Call("transact", Insert("a"));
  client->Call("monitor_cond", R"(["D", "m", {"T": [{"columns": ["name"], "where": [["number", "==", 1]]}]}])");
  EXPECT_EQ(client->CallText("monitor_cond_change", R"(["m", "n", {"T": [{"where": [["number", "==", 0]]}]}])"), "{}");
  EXPECT_THAT(client->Heard(), testing::AllOf(testing::StartsWith(R"(update2 ["n",)"), HasSubstr("insert")));
  EXPECT_EQ(client->CallText("monitor_cancel", R"(["n"])"), "{}");
  client->Call("transact", SetNumber(1));
  EXPECT_TRUE(client->HeardNothing());
}

TEST_F(ServerTest, OneThatDoesNotReadIsToldTheSumLater) {
  auto client = Connect();
  auto writer = Connect();
  client->Call("monitor_cond", R"(["D", "m", {"T": [{}]}])");
  writer->Call("transact", Insert("a"));
  EXPECT_THAT(client->Heard(), HasSubstr("insert"));
  client->connection().SetReading(false);
  // What the sockets and the threshold take goes as it comes, the rest is merged.
  const std::string large(100'000, 'x');
  int changes = 0;
  for (; changes < 40; ++changes) {
    writer->Call("transact", fmt::format(R"(["D", {{"op": "update", "table": "T", "where": [],
                                             "row": {{"name": "{}{}"}}}}])",
                                         changes, large));
  }
  client->connection().SetReading(true);
  std::string heard;
  int updates = 0;
  do {
    heard = client->Heard();
    ++updates;
  } while (heard.find(fmt::format("\"{}x", changes - 1)) == std::string::npos && updates < changes);
  EXPECT_LT(updates, 20);
  EXPECT_GT(updates, 1);
  EXPECT_TRUE(client->HeardNothing());
}

TEST_F(ServerTest, EndsSessionsThatDoNotSpeakJsonRpc) {
  auto other = Connect();
  auto client = Connect();
  client->connection().Send(JsonRpcMessage::Reply(1, 1));
  EXPECT_TRUE(client->EndedByServer());
  EXPECT_EQ(other->CallText("list_dbs", "[]"), R"(["D","_Server"])");
  EXPECT_EQ(server_->session_count(), 1u);
}

TEST_F(ServerTest, RefusesRemotesThatMakeNoSense) {
  EXPECT_FALSE(server_->SetRemotes({"foo:bar"}).ok());
  EXPECT_FALSE(server_->SetRemotes({"db:X,T,name"}).ok());
  EXPECT_FALSE(server_->SetRemotes({"db:D,X,name"}).ok());
  EXPECT_FALSE(server_->SetRemotes({"db:D,T,zz"}).ok());
  EXPECT_FALSE(server_->SetRemotes({"db:D,T,number"}).ok());
  EXPECT_FALSE(server_->SetRemotes({"db:D,T"}).ok());
  EXPECT_EQ(Connect()->CallText("list_dbs", "[]"), R"(["D","_Server"])") << "the old ones are still there";
}

TEST_F(ServerTest, FollowsTheRemotesThatARowNames) {
  auto client = Connect();
  const std::string second = scratch_.File("second.sock");
  ASSERT_TRUE(server_->SetRemotes({"punix:" + path_, "db:D,T,name"}).ok());
  client->Call("transact", Insert("punix:" + second));
  std::unique_ptr<ServerClient> guest;
  const auto connects = [&] {
    guest = std::make_unique<ServerClient>(loop_, "unix:" + second);
    return !guest->ended();
  };
  for (int tries = 0; tries < 100 && !connects(); ++tries) client->Call("list_dbs", "[]");
  ASSERT_FALSE(guest->ended());
  client->Call("transact", R"(["D", {"op": "delete", "table": "T", "where": []}])");
  EXPECT_TRUE(guest->EndedByServer());
  EXPECT_FALSE(connects());
}

TEST_F(ServerTest, ConnectsToActiveRemotesAgainAndAgain) {
  const std::string target = "punix:" + scratch_.File("manager.sock");
  ASSERT_TRUE(server_->SetRemotes({"unix:" + scratch_.File("manager.sock")}).ok());
  std::vector<std::unique_ptr<JsonRpcConnection>> managers;
  std::string answer;
  auto listener = ListenStream(loop_, target, TlsConfig(), [&](std::unique_ptr<Stream> stream) {
    managers.push_back(std::make_unique<JsonRpcConnection>(std::move(stream)));
    managers.back()->SetCallbacks([&](JsonRpcMessage message) { answer = DumpJson(message.result); },
                                  [](const auto&) {});
    managers.back()->Send(JsonRpcMessage::Request("list_dbs", Json::array(), 1));
  });
  ASSERT_TRUE(listener.ok());
  for (size_t connection = 1; connection <= 2; ++connection) {
    answer.clear();
    const auto limit = loop_.RunAfter(std::chrono::seconds(10), [&] { loop_.Stop(); });
    const auto look = loop_.RunEvery(std::chrono::milliseconds(5), [&] {
      if (!answer.empty()) loop_.Stop();
    });
    loop_.Run();
    EXPECT_EQ(answer, R"(["D","_Server"])");
    EXPECT_EQ(managers.size(), connection);
    managers.back()->Close();
  }
}

}  // namespace
}  // namespace sluice
