#include "lib/ovsdb/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "lib/ovsdb/log_record.h"
#include "tests/lib/ovsdb/ovsdb_tool.h"
#include "tests/lib/ovsdb/test_database.h"
#include "tests/testing/scratch.h"

namespace sluice {
namespace {

using testing::HasSubstr;

#define KID(number, row) \
  R"({"op":"insert","table":"kid","uuid":"00000000-0000-0000-0000-00000000000)" number R"(","row":)" row "}"
#define ID(number) R"(["uuid","00000000-0000-0000-0000-00000000000)" number R"("])"

// Transactions that change values of every kind, one record each.
// In none does a difference have more elements than its column may: ovsdb-tool 3.1 could not read its own record.
constexpr const char* kTransactions[] = {
    R"({"op":"insert","table":"root","row":{"name":"r","kids":["set",[)" ID("1") "," ID("2") R"(]],"eph":5}},)" KID(
        "1", R"({"name":"a"})") "," KID("2", R"({"name":"b","s":"2"})"),
    R"({"op":"update","table":"kid","where":[["name","==","a"]],"row":{"m":["map",[["a","b"],["c","d"]]],"b":true,
        "is":["set",[1,2]],"r":1.5,"rs":["set",[1.25,1e100,3]],"s2":"abc",
        "u":["uuid","550e8400-e29b-41d4-a716-446655440000"]}},{"op":"comment","comment":"two\nlines \u00e9"})",
    R"({"op":"update","table":"kid","where":[["name","==","a"]],"row":{"m":["map",[["a","x"],["e","f"]]],"b":false,
        "is":["set",[2,3,4]],"r":0,"rs":["set",[]],"s2":["set",[]]}})",
    R"({"op":"update","table":"kid","where":[["name","==","b"]],"row":{"peers":)" ID("1") R"(,"is":9}})",
    R"({"op":"update","table":"kid","where":[["name","==","b"]],"row":{"is":["set",[9,10]],
        "mi":["map",[[1,2],[3,4]]]}})",
    R"({"op":"update","table":"kid","where":[["name","==","b"]],"row":{"mi":["map",[[1,5],[3,4]]]}})",
    R"({"op":"mutate","table":"root","where":[],"mutations":[["kids","delete",)" ID("1") R"(],["eph","+=",1]]})",
};

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() : path_(directory_.File("conf.db")) {}

  absl::Status TryOpen() {
    opened_ = {};
    absl::StatusOr<LogFile::Opened> opened = LogFile::Open(path_, TestSchema());
    if (!opened.ok()) return opened.status();
    opened_ = *std::move(opened);
    opened_.database->set_commit_hook([this](const ChangeSet& changes, const std::string& comments, bool durable) {
      return opened_.file->Append(changes, comments, durable);
    });
    return absl::OkStatus();
  }
  void Open() {
    absl::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << Message(status);
  }
  void Close() { opened_ = {}; }

  Json Run(std::string_view operations) { return Execute(*opened_.database, operations); }
  void Do(std::string_view operations) {
    for (const Json& result : Run(operations)) ASSERT_FALSE(result.contains("error")) << result;
  }
  Json Kept() { return Dump(*opened_.database, /*ephemeral=*/false); }

  // What ovsdb-tool finds in the file, without ephemeral columns.
  Json ToolKept() {
    Json dump = ToolDump(path_, TestSchemaText());
    for (auto& row : dump["root"]) row.erase("eph");
    return dump;
  }

  Scratch directory_;
  std::string path_;
  LogFile::Opened opened_;
};

TEST_F(LogFileTest, IsCreatedAsOvsdbToolExpectsIt) {
  Open();
  EXPECT_EQ(opened_.repaired, "");
  EXPECT_EQ(OvsdbTool({"db-name", path_}), "T\n");
  EXPECT_EQ(OvsdbTool({"db-version", path_}), "1.0.0\n");
  WriteFile(directory_.File("t.ovsschema"), TestSchemaText());
  EXPECT_EQ(OvsdbTool({"needs-conversion", path_, directory_.File("t.ovsschema")}), "no\n");
  EXPECT_EQ(ReadFile(path_ + ".tmp"), "");
}

TEST_F(LogFileTest, ComesBackWithoutEphemeralColumns) {
  Open();
  for (const char* operations : kTransactions) {
    Do(operations);
    Json kept = Kept();
    Open();
    EXPECT_EQ(opened_.repaired, "");
    EXPECT_EQ(Kept(), kept);
  }
  EXPECT_EQ(opened_.database->rows("kid").size(), 1u);
  EXPECT_EQ(Dump(*opened_.database)["root"].begin().value()["eph"], 0);
}

TEST_F(LogFileTest, OvsdbToolReadsOurs) {
  Open();
  for (const char* operations : kTransactions) {
    Do(operations);
    Json kept = Kept();
    EXPECT_EQ(ToolKept(), kept) << operations;
  }
  std::string log = OvsdbTool({"show-log", "-m", path_});
  EXPECT_THAT(log, HasSubstr("record 2: "));
  EXPECT_THAT(log, HasSubstr("\"two\nlines \u00e9\""));
}

TEST_F(LogFileTest, OvsdbToolReadsWhereDifferencesAreLargerThanTheirColumns) {
  Open();
  Do(kTransactions[0]);
  for (const char* row :
       {R"({"is":["set",[1,2,3]],"set2":["set",[1,2]],"mi":["map",[[1,2],[3,4]]]})",
        R"({"is":["set",[4,5,6]],"m":["map",[["a","b"]]]})", R"({"set2":["set",[3,4]],"m":["map",[["c","d"]]]})",
        R"({"mi":["map",[[5,6],[7,8]]],"peers":["set",[]]})", R"({"set2":0})", R"({"set2":5})",
        R"({"set2":["set",[0,6]]})"}) {
    Do(fmt::format(R"({{"op":"update","table":"kid","where":[["name","==","a"]],"row":{}}})", row));
    Json kept = Kept();
    EXPECT_EQ(ToolKept(), kept) << row;
    Open();
    EXPECT_EQ(Kept(), kept) << row;
  }
}

TEST_F(LogFileTest, OursReadsWhatOvsdbToolWrote) {
  WriteFile(directory_.File("t.ovsschema"), TestSchemaText());
  ASSERT_EQ(OvsdbTool({"create", path_, directory_.File("t.ovsschema")}), "");
  for (const char* operations : kTransactions) {
    ASSERT_THAT(OvsdbTool({"transact", path_, fmt::format("[\"T\",{}]", operations)}),
                testing::Not(HasSubstr("error")));
    Open();
    Json kept = Kept();
    EXPECT_EQ(kept, ToolKept()) << operations;
    Close();
  }
  ASSERT_EQ(OvsdbTool({"compact", path_}), "");
  Open();
  EXPECT_EQ(Kept(), ToolKept());
  // And they take turns.
  Do(R"({"op":"update","table":"kid","where":[],"row":{"m":["map",[["ours","1"]]]}})");
  Close();
  OvsdbTool(
      {"transact", path_,
       R"(["T",{"op":"mutate","table":"kid","where":[],"mutations":[["m","insert",["map",[["theirs","2"]]]]]}])"});
  Open();
  EXPECT_EQ(Kept()["kid"].begin().value()["m"], J(R"(["map",[["ours","1"],["theirs","2"]]])"));
}

TEST_F(LogFileTest, RecordsOfWholeValuesAreReadToo) {
  Open();
  Do(kTransactions[0]);
  Close();
  // As written before differences were.
  Json record =
      J(R"({"_date":1,"kid":{"00000000-0000-0000-0000-000000000001":{"is":["set",[4,5]],"m":["map",[["a","b"]]]}}})");
  Json second =
      J(R"({"_date":2,"kid":{"00000000-0000-0000-0000-000000000001":{"is":["set",[5,6]],"m":["map",[["a","c"]]]}}})");
  WriteFile(path_, ReadFile(path_) + EncodeLogRecord(record) + EncodeLogRecord(second));
  Open();
  Json row = Kept()["kid"]["00000000-0000-0000-0000-000000000001"];
  EXPECT_EQ(row["is"], J(R"(["set",[5,6]])"));
  EXPECT_EQ(row["m"], J(R"(["map",[["a","c"]]])"));
}

TEST_F(LogFileTest, ATornLastRecordIsCutAtEveryByte) {
  Open();
  Do(kTransactions[0]);
  Json before = Kept();
  std::string whole = ReadFile(path_);
  Do(R"({"op":"update","table":"kid","where":[["name","==","a"]],"row":{"is":["set",[1,2,3]],"b":true}})");
  std::string torn = ReadFile(path_);
  ASSERT_GT(torn.size(), whole.size() + 60);
  for (size_t size = whole.size(); size < torn.size(); ++size) {
    Close();
    WriteFile(path_, torn.substr(0, size));
    Open();
    ASSERT_EQ(Kept(), before) << size;
    ASSERT_EQ(opened_.repaired.empty(), size == whole.size()) << size;
    ASSERT_EQ(ReadFile(path_), whole) << size;
  }
  EXPECT_THAT(opened_.repaired, HasSubstr("record 2 at offset"));
  Do(R"({"op":"update","table":"kid","where":[["name","==","a"]],"row":{"is":["set",[7,8]]}})");
  Json after = Kept();
  EXPECT_EQ(ToolKept(), after);
  Open();
  EXPECT_EQ(Kept(), after);
  EXPECT_EQ(opened_.repaired, "");
}

TEST_F(LogFileTest, ADamagedRecordIsCutWithWhatIsBehindIt) {
  Open();
  Do(kTransactions[0]);
  Json before = Kept();
  size_t end = ReadFile(path_).size();
  Do(kTransactions[1]);
  Do(kTransactions[2]);
  std::string whole = ReadFile(path_);
  for (size_t offset : {end, end + 12, end + 20, end + 70, end + 100}) {
    Close();
    std::string damaged = whole;
    damaged[offset] ^= 1;
    WriteFile(path_, damaged);
    Open();
    EXPECT_EQ(Kept(), before) << offset;
    EXPECT_THAT(opened_.repaired, HasSubstr(fmt::format("cut off the last {} bytes", whole.size() - end))) << offset;
  }
}

TEST_F(LogFileTest, WhatIsNoneOfItsIsLeftAsItIs) {
  std::string other = EncodeLogRecord(J(R"({"name":"Other","tables":{}})"));
  Open();
  Close();
  std::string unknown_column =
      ReadFile(path_) + EncodeLogRecord(J(R"({"root":{"00000000-0000-0000-0000-000000000001":{"x":1}}})"));
  std::string unknown_row =
      ReadFile(path_) + EncodeLogRecord(J(R"({"root":{"00000000-0000-0000-0000-000000000001":null}})"));
  struct {
    std::string data;
    const char* message;
  } const cases[] = {
      {"", "is not an OVSDB database"},
      {"hello\n", "is not an OVSDB database"},
      {"OVSDB CLUSTER 1 x\n", "is a clustered database"},
      {"OVSDB JSON 5 da39a3ee5e6b4b0d3255bfef95601890afd80709\n{}\n", "it ends after 3 of 5 bytes"},
      {EncodeLogRecord(J("{}")), "Required 'name' member is missing"},
      {other, "is database Other, not T"},
      {unknown_column, "cannot apply record 1 at offset"},
      {unknown_row, "is not there"},
  };
  for (const auto& c : cases) {
    WriteFile(path_, c.data);
    absl::Status status = TryOpen();
    ASSERT_FALSE(status.ok()) << c.data;
    EXPECT_THAT(Message(status), HasSubstr(c.message));
    EXPECT_THAT(Message(status), HasSubstr(path_));
    EXPECT_EQ(ReadFile(path_), c.data);
  }
  path_ = directory_.File("missing/conf.db");
  EXPECT_THAT(Message(TryOpen()), HasSubstr("No such file or directory"));
  path_ = directory_.File("");
  EXPECT_FALSE(TryOpen().ok());
}

TEST_F(LogFileTest, IsLockedAgainstOthers) {
  Open();
  absl::StatusOr<LogFile::Opened> second = LogFile::Open(path_, TestSchema());
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr(".conf.db.~lock~: cannot lock file because it is already locked"));
  EXPECT_THAT(OvsdbTool({"transact", path_, R"(["T",{"op":"delete","table":"root","where":[]}])"}), HasSubstr("lock"));
  // The lock is not lost by a compaction, and ends with the object.
  ASSERT_TRUE(opened_.file->Compact(*opened_.database).ok());
  EXPECT_FALSE(LogFile::Open(path_, TestSchema()).ok());
  Close();
  EXPECT_TRUE(LogFile::Open(path_, TestSchema()).ok());
}

TEST_F(LogFileTest, IsFoundThroughASymbolicLink) {
  std::string link = directory_.File("link.db");
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  std::string real = path_;
  path_ = link;
  Open();
  Do(kTransactions[0]);
  ASSERT_TRUE(opened_.file->Compact(*opened_.database).ok());
  struct stat status;
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  EXPECT_EQ(opened_.file->path(), real);
  EXPECT_FALSE(LogFile::Open(real, TestSchema()).ok());
}

// Makes writes beyond `bytes` fail (EFBIG) while it lives, as a full disk does in the middle of a record.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(size_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_;
  void (*old_handler_)(int);
};

TEST_F(LogFileTest, AWriteThatFailsLeavesFileAndRowsAsTheyWere) {
  Open();
  Do(kTransactions[0]);
  Json before = Dump(*opened_.database);
  std::string whole = ReadFile(path_);
  for (size_t room : {size_t{0}, size_t{1}, size_t{70}}) {
    Json results;
    {
      FileSizeLimit limit(whole.size() + room);
      results = Run(kTransactions[1]);
    }
    EXPECT_EQ(results.back()["error"], "I/O error");
    EXPECT_EQ(results.back()["details"], path_ + ": cannot append to the database file: File too large");
    EXPECT_EQ(Dump(*opened_.database), before);
    EXPECT_EQ(ReadFile(path_), whole);
  }
  Do(kTransactions[1]);
  Json after = Kept();
  EXPECT_EQ(ToolKept(), after);
  Open();
  EXPECT_EQ(Kept(), after);
  EXPECT_EQ(opened_.repaired, "");
}

TEST_F(LogFileTest, CompactionKeepsRowsModeAndUse) {
  Open();
  ASSERT_EQ(chmod(path_.c_str(), 0604), 0);
  for (const char* operations : kTransactions) Do(operations);
  for (int i = 0; i < 50; ++i) {
    Do(fmt::format(R"({{"op":"update","table":"kid","where":[],"row":{{"i":{}}}}})", i + 1));
  }
  size_t grown = ReadFile(path_).size();
  Json kept = Kept();
  ASSERT_TRUE(opened_.file->Compact(*opened_.database).ok());
  EXPECT_LT(ReadFile(path_).size(), grown / 2);
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0604u);
  EXPECT_EQ(ToolKept(), kept);
  Do(R"({"op":"update","table":"kid","where":[],"row":{"i":100,"is":["set",[]]}})");
  kept = Kept();
  EXPECT_EQ(ToolKept(), kept);
  Open();
  EXPECT_EQ(Kept(), kept);
}

TEST_F(LogFileTest, ACompactionThatFailsLeavesTheOldFileInUse) {
  Open();
  Do(kTransactions[0]);
  std::string whole = ReadFile(path_);
  {
    FileSizeLimit limit(100);
    absl::Status status = opened_.file->Compact(*opened_.database);
    EXPECT_THAT(Message(status), HasSubstr("conf.db.tmp: cannot write: File too large"));
  }
  EXPECT_EQ(ReadFile(path_), whole);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".tmp"));
  Do(kTransactions[1]);
  EXPECT_EQ(ToolKept(), Kept());
}

TEST_F(LogFileTest, WhatACrashLeftOfACompactionIsNoObstacle) {
  Open();
  Do(kTransactions[0]);
  WriteFile(path_ + ".tmp", "half a file");
  Json kept = Kept();
  Open();
  ASSERT_TRUE(opened_.file->Compact(*opened_.database).ok());
  EXPECT_EQ(ToolKept(), kept);
}

TEST_F(LogFileTest, IsWorthCompactingWhenItHasGrownLargeAndFourfold) {
  Open();
  Do(R"({"op":"insert","table":"root","row":{"name":"r","kids":)" ID("1") "}}," KID("1", R"({"name":"a"})"));
  std::string text(400 << 10, 'x');
  int records = 0;
  for (; records < 40 && !opened_.file->ShouldCompact(); ++records) {
    Do(fmt::format(R"({{"op":"update","table":"kid","where":[],"row":{{"m":["map",[["k","{}{}"]]]}}}})", text,
                   records));
  }
  EXPECT_EQ(records, 26);  // the first that ends beyond 10 MiB
  ASSERT_TRUE(opened_.file->Compact(*opened_.database).ok());
  EXPECT_FALSE(opened_.file->ShouldCompact());
}

TEST_F(LogFileTest, ChangesOfEphemeralColumnsAloneWriteNothing) {
  Open();
  Do(kTransactions[0]);
  std::string before = ReadFile(path_);
  Do(R"({"op":"update","table":"root","where":[],"row":{"eph":99}})");
  EXPECT_EQ(ReadFile(path_), before);
}

TEST_F(LogFileTest, AnOlderSchemaIsConverted) {
  WriteFile(directory_.File("old.ovsschema"), R"({"name":"T","version":"0.9.10","tables":{
    "gone":{"isRoot":true,"columns":{"kid":{"type":{"key":{"type":"uuid","refTable":"kid"}}}}},
    "root":{"isRoot":true,"columns":{"name":{"type":"string"},"dropped":{"type":"integer"},
      "kids":{"type":{"key":{"type":"uuid","refTable":"kid"},"min":0,"max":"unlimited"}}}},
    "kid":{"columns":{"name":{"type":"string"},"r":{"type":"integer"}}}}})");
  ASSERT_EQ(OvsdbTool({"create", path_, directory_.File("old.ovsschema")}), "");
  OvsdbTool({"transact", path_,
             R"(["T",{"op":"insert","table":"kid","uuid-name":"a","row":{"name":"a","r":3}},
                 {"op":"insert","table":"kid","uuid-name":"b","row":{"name":"b"}},
                 {"op":"insert","table":"gone","row":{"kid":["named-uuid","b"]}},
                 {"op":"insert","table":"root","row":{"name":"r","dropped":1,"kids":["named-uuid","a"]}}])"});
  Open();
  EXPECT_THAT(opened_.converted, HasSubstr("converted from schema version \"0.9.10\" to 1.0.0"));
  EXPECT_EQ(OvsdbTool({"db-version", path_}), "1.0.0\n");
  // The kid of the table that is gone has lost its only reference.
  Json kids = Kept()["kid"];
  ASSERT_EQ(kids.size(), 1u);
  EXPECT_EQ(kids.begin().value()["name"], "a");
  EXPECT_EQ(kids.begin().value()["r"], 3);
  EXPECT_EQ(kids.begin().value()["is"], J(R"(["set",[]])"));
  EXPECT_EQ(ToolKept(), Kept());
  Open();
  EXPECT_EQ(opened_.converted, "");
}

TEST_F(LogFileTest, ANewerSchemaIsKept) {
  WriteFile(directory_.File("new.ovsschema"),
            R"({"name":"T","version":"1.0.10","tables":{"other":{"columns":{"name":{"type":"string"}}}}})");
  ASSERT_EQ(OvsdbTool({"create", path_, directory_.File("new.ovsschema")}), "");
  Open();
  EXPECT_EQ(opened_.converted, "");
  EXPECT_EQ(opened_.database->schema().version, "1.0.10");
}

TEST(VswitchFileTest, IsThatOfDebiansSwitch) {
  Scratch directory;
  std::string path = directory.File("conf.db");
  ASSERT_TRUE(LogFile::Open(path, VswitchSchema()).ok());
  EXPECT_EQ(OvsdbTool({"db-cksum", path}), "3012963480 26720\n");
  ASSERT_TRUE(std::filesystem::exists("/usr/share/openvswitch/vswitch.ovsschema"));
  EXPECT_EQ(OvsdbTool({"needs-conversion", path, "/usr/share/openvswitch/vswitch.ovsschema"}), "no\n");
}

}  // namespace
}  // namespace sluice
