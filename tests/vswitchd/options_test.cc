#include "vswitchd/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<Options> Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "vswitchd");
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  return ParseOptions(static_cast<int>(words.size()), argv.data());
}

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    setenv("OVS_RUNDIR", "/r", 1);
    setenv("OVS_LOGDIR", "/l", 1);
  }
  ~OptionsTest() override {
    unsetenv("OVS_RUNDIR");
    unsetenv("OVS_LOGDIR");
  }
};

TEST_F(OptionsTest, NothingGivenRunsInTheForegroundWithoutFiles) {
  const auto options = Parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->action, Options::Action::kRun);
  EXPECT_FALSE(options->detach);
  EXPECT_TRUE(options->chdir);
  EXPECT_EQ(options->pid_file, "");
  EXPECT_EQ(options->log_file, "");
  EXPECT_EQ(options->unixctl_path, "");
}

TEST_F(OptionsTest, TakesWhatServiceScriptsGive) {
  const auto options =
      Parse({"--no-chdir", "--mlockall", "--log-file", "--pidfile", "--detach", "--monitor", "--no-self-confinement",
             "--overwrite-pidfile", "-vconsole:emer", "-vsyslog:err", "--verbose=file:info", "-v"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->detach);
  EXPECT_TRUE(options->monitor);
  EXPECT_TRUE(options->mlockall);
  EXPECT_TRUE(options->overwrite_pid_file);
  EXPECT_FALSE(options->chdir);
  EXPECT_EQ(options->pid_file, "/r/ovs-vswitchd.pid");
  EXPECT_EQ(options->log_file, "/l/ovs-vswitchd.log");
  EXPECT_THAT(options->log_levels, ElementsAre("console:emer", "syslog:err", "file:info", "any:any:dbg"));
}

TEST_F(OptionsTest, PathsAreAbsoluteAndPlainNamesGoToTheirDirectory) {
  const std::string here = std::filesystem::current_path().string();
  const struct {
    const char* given;
    std::string run;
    std::string log;
  } kCases[] = {
      {"name", "/r/name", "/l/name"},
      {"/a/name", "/a/name", "/a/name"},
      {"./a/../name", here + "/name", here + "/name"},
  };
  for (const auto& c : kCases) {
    const std::string given = c.given;
    const auto options = Parse({"--pidfile=" + given, "--log-file=" + given, "--unixctl=" + given});
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->pid_file, c.run);
    EXPECT_EQ(options->unixctl_path, c.run);
    EXPECT_EQ(options->log_file, c.log);
  }
}

TEST_F(OptionsTest, HelpAndVersion) {
  EXPECT_EQ(Parse({"-h"})->action, Options::Action::kShowHelp);
  EXPECT_EQ(Parse({"--version"})->action, Options::Action::kShowVersion);
  EXPECT_THAT(HelpText(), HasSubstr("/r/ovs-vswitchd.pid"));
}

TEST_F(OptionsTest, RefusesWhatItCannotHonour) {
  const struct {
    std::vector<std::string> words;
    const char* reason;
  } kCases[] = {
      {{"--user=ovs:ovs"}, "--user=ovs:ovs: changing the user is not supported"},
      {{"--frobnicate"}, "unrecognized option '--frobnicate'"},
      {{"-x"}, "unrecognized option '-x'"},
      {{"--unixctl"}, "option '--unixctl' requires an argument"},
      {{"--detach=yes"}, "--detach=yes"},
      {{"punix:/r/db.sock"}, "a server's address is expected"},
      {{"unix:/r/a", "unix:/r/b"}, "at most one database is expected"},
      {{"--remote=ptcp:6640", "unix:/r/a"}, "only the embedded database has remotes"},
      {{"nonsense"}, "nonsense"},
  };
  for (const auto& c : kCases) {
    const auto options = Parse(c.words);
    ASSERT_FALSE(options.ok()) << c.words.front();
    EXPECT_THAT(Message(options.status()), HasSubstr(c.reason));
  }
}

}  // namespace
}  // namespace sluice
