#include "lib/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace sluice {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

LogModule test_module("log_test");
LogModule other_module("log_other");
LogModule same_module("log_test");

// A scratch log file; the console and syslog are quiet.
class LogTest : public testing::Test {
 protected:
  LogTest() {
    std::filesystem::create_directories(folder_);
    EXPECT_TRUE(LogSetLevels("any:any:off").ok());
    EXPECT_TRUE(LogSetLevels("any:file:info").ok());
    EXPECT_TRUE(LogSetFile(path_).ok());
  }
  ~LogTest() override { std::filesystem::remove_all(folder_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string Text() const { return Read(path_); }

  const std::string folder_ = testing::TempDir() + "log_test." + std::to_string(getpid());
  const std::string path_ = folder_ + "/test.log";
};

// The line of `module` in vlog/list, its words separated by single spaces.
std::string LevelsOf(const std::string& module) {
  std::istringstream lines(LogList());
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, console, syslog, file;
    if (words >> name >> console >> syslog >> file && name == module) {
      return fmt::format("{} {} {} {}", name, console, syslog, file);
    }
  }
  return "no module " + module;
}

TEST_F(LogTest, WritesLinesInOpenVSwitchsFormat) {
  SLUICE_LOG(test_module, kInfo, "port {}: {} bytes", "p0", 7);
  std::thread([] {
    LogSetThreadName("pmd-c01");
    SLUICE_LOG(test_module, kErr, "from a thread");
  }).join();
  EXPECT_THAT(Text(), ContainsRegex("\n[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"
                                    "\\|[0-9]{5}\\|log_test\\|INFO\\|port p0: 7 bytes\n"));
  EXPECT_THAT(Text(), HasSubstr("|log_test(pmd-c01)|ERR|from a thread\n"));
}

TEST_F(LogTest, LevelsAdmitWhatIsAsSevere) {
  SLUICE_LOG(test_module, kDbg, "hidden");
  EXPECT_FALSE(test_module.Enabled(LogLevel::kDbg));
  ASSERT_TRUE(LogSetLevels("log_test:file:dbg").ok());
  EXPECT_TRUE(test_module.Enabled(LogLevel::kDbg));
  EXPECT_TRUE(same_module.Enabled(LogLevel::kDbg)) << "modules of one name are one";
  EXPECT_FALSE(other_module.Enabled(LogLevel::kDbg));
  SLUICE_LOG(test_module, kDbg, "visible");
  SLUICE_LOG(other_module, kDbg, "hidden");
  ASSERT_TRUE(LogSetLevels("file:off").ok());
  SLUICE_LOG(test_module, kEmer, "hidden");
  EXPECT_THAT(Text(), HasSubstr("|DBG|visible\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("hidden")));
}

TEST_F(LogTest, ParsesLevelSpecifications) {
  const struct {
    const char* spec;
    const char* levels;  // of log_test afterwards, all at info before
  } kCases[] = {
      {"log_test:console:warn", "log_test WARN INFO INFO"},
      {"warn,log_test,console", "log_test WARN INFO INFO"},
      {"console warn", "log_test WARN INFO INFO"},
      {"any:any:off", "log_test OFF OFF OFF"},
      {"ANY:SysLog:ERR", "log_test INFO ERR INFO"},
      {"emer", "log_test EMER EMER EMER"},
      {"file", "log_test INFO INFO DBG"},
      {"any", "log_test DBG DBG DBG"},
      {"", "log_test DBG DBG DBG"},
      {"log_other:any:err", "log_test INFO INFO INFO"},
  };
  for (const auto& c : kCases) {
    ASSERT_TRUE(LogSetLevels("any:any:info").ok());
    EXPECT_TRUE(LogSetLevels(c.spec).ok()) << c.spec;
    EXPECT_EQ(LevelsOf("log_test"), c.levels) << c.spec;
  }
  ASSERT_TRUE(LogSetLevels("any:any:off").ok());
}

TEST_F(LogTest, RefusesBadSpecificationsAndChangesNothing) {
  const std::string before = LogList();
  const struct {
    const char* spec;
    const char* reason;
  } kCases[] = {
      {"nosuch:file:dbg", "no destination, level, or module \"nosuch\""},
      {"file:dbg:info", "more than one level"},
      {"file:console:dbg", "more than one destination"},
      {"log_test:log_other:dbg", "more than one module"},
      {"PATTERN:file:%m", "cannot be changed"},
  };
  for (const auto& c : kCases) {
    const absl::Status status = LogSetLevels(c.spec);
    ASSERT_FALSE(status.ok()) << c.spec;
    EXPECT_THAT(Message(status), HasSubstr(c.reason));
    EXPECT_EQ(LogList(), before) << c.spec;
  }
}

TEST_F(LogTest, ReopensAfterRotation) {
  SLUICE_LOG(test_module, kInfo, "before");
  std::filesystem::rename(path_, path_ + ".1");
  SLUICE_LOG(test_module, kInfo, "meanwhile");
  ASSERT_TRUE(LogReopen().ok());
  SLUICE_LOG(test_module, kInfo, "after");
  EXPECT_THAT(Read(path_ + ".1"), HasSubstr("meanwhile"));
  EXPECT_THAT(Text(), HasSubstr("after"));
  EXPECT_THAT(Text(), Not(HasSubstr("before")));
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsAnErrorAndTheOldOneStays) {
  const absl::Status status = LogSetFile(folder_ + "/test.log/below");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(Message(status), HasSubstr(folder_ + "/test.log/below"));
  EXPECT_EQ(LogFileName(), path_);
  SLUICE_LOG(test_module, kInfo, "still here");
  EXPECT_THAT(Text(), HasSubstr("still here"));
}

TEST_F(LogTest, RateLimitCutsAFlood) {
  for (int i = 0; i < 10; ++i) {
    SLUICE_LOG_RATE_LIMITED(test_module, kWarn, 3, "flood {}", i);
  }
  EXPECT_THAT(Text(), HasSubstr("flood 2"));
  EXPECT_THAT(Text(), Not(HasSubstr("flood 3")));
}

TEST_F(LogTest, RateLimitTellsHowManyWereDropped) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200)) {
    SLUICE_LOG_RATE_LIMITED(test_module, kWarn, 600, "flood");  // 600 at once, then one each 100 ms
  }
  EXPECT_THAT(Text(), ContainsRegex("WARN\\|dropped [1-9][0-9]* log messages like the next\n.*WARN\\|flood\n"));
}

TEST(LogRateLimiterTest, AdmitsABurstThenRefusesAndCounts) {
  LogRateLimiter limiter(1200);  // one message each 50 ms
  uint64_t suppressed = 99;
  for (int i = 0; i < 1200; ++i) {
    ASSERT_TRUE(limiter.Admit(&suppressed));
    ASSERT_EQ(suppressed, 0u);
  }
  uint64_t refused = 0;
  while (!limiter.Admit(&suppressed)) {
    ++refused;
  }
  EXPECT_EQ(suppressed, refused);
}

TEST_F(LogTest, ThreadsWriteWholeLines) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        SLUICE_LOG(test_module, kInfo, "a line of some length {:>40}", i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::istringstream lines(Text());
  const auto whole =
      MatchesRegex(".*Z\\|[0-9]+\\|(log_test\\|INFO\\|a line of some length +[0-9]+|vlog\\|INFO\\|opened log file .*)");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_THAT(line, whole);
  }
  EXPECT_EQ(count, 801);
}

TEST(LogListTest, HasTheTablesThatUsersKnow) {
  EXPECT_THAT(LogList(), HasSubstr("                 console    syslog    file\n"
                                   "                 -------    ------    ------\n"));
  EXPECT_THAT(LogListPattern(), HasSubstr("FILE     none                              %D{%Y-%m-%dT%H:%M:%S.###Z}"));
}

}  // namespace
}  // namespace sluice
