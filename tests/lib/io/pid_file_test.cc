#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "lib/io/daemon.h"
#include "tests/testing/scratch.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// A child process that holds a pid file until it is told to end or is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    EXPECT_EQ(pipe(ready_), 0);
    EXPECT_EQ(pipe(end_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(end_[1]);
      char byte = 0;
      {
        const auto file = PidFile::Create(path, false);
        byte = file.ok() ? 1 : 0;
        if (write(ready_[1], &byte, 1) != 1 || read(end_[0], &byte, 1) < 0) {
          _exit(1);
        }
      }
      _exit(0);
    }
    close(end_[0]);
    char byte = 0;
    EXPECT_EQ(read(ready_[0], &byte, 1), 1);
    EXPECT_EQ(byte, 1) << "the child could not create the pid file";
  }
  ~Holder() {
    close(end_[1]);  // the child reads end of file and leaves
    Wait();
  }
  void Kill() {
    kill(pid_, SIGKILL);
    Wait();
  }
  pid_t pid() const { return pid_; }

 private:
  void Wait() {
    if (!waited_) {
      waitpid(pid_, nullptr, 0);
      close(ready_[0]);
      close(ready_[1]);
    }
    waited_ = true;
  }

  pid_t pid_;
  int ready_[2];
  int end_[2];
  bool waited_ = false;
};

class PidFileTest : public testing::Test {
 protected:
  std::string Text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Scratch scratch_;
  const std::string path_ = scratch_.File("test.pid");
};

TEST_F(PidFileTest, HoldsThePidWhileItLives) {
  {
    const auto file = PidFile::Create(path_, false);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(Text(), fmt::format("{}\n", getpid()));
    EXPECT_EQ(scratch_.Count(), 1u) << "a temporary file was left";
  }
  EXPECT_EQ(scratch_.Count(), 0u);
}

TEST_F(PidFileTest, ASecondProcessIsRefusedAndToldThePid) {
  const Holder first(path_);
  const auto second = PidFile::Create(path_, false);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(Message(second.status()), fmt::format("{}: already running as pid {}, aborting", path_, first.pid()));
  EXPECT_EQ(Text(), fmt::format("{}\n", first.pid()));
  EXPECT_EQ(scratch_.Count(), 1u);
  EXPECT_EQ(*ReadPidFile(path_), first.pid());
}

TEST_F(PidFileTest, TheFileOfAKilledProcessIsNoObstacle) {
  Holder first(path_);
  first.Kill();
  ASSERT_EQ(Text(), fmt::format("{}\n", first.pid())) << "the kill should have left the file";
  EXPECT_EQ(ReadPidFile(path_).status().code(), absl::StatusCode::kNotFound);
  const auto second = PidFile::Create(path_, false);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Text(), fmt::format("{}\n", getpid()));
}

TEST_F(PidFileTest, AFileThatNamesALiveProcessWithoutLockIsStale) {
  std::ofstream(path_) << "1\n";
  const auto file = PidFile::Create(path_, false);
  EXPECT_TRUE(file.ok()) << file.status();
}

TEST_F(PidFileTest, AnEmptyOrNonsenseFileIsStale) {
  for (const char* text : {"", "abc\n", "-5\n"}) {
    std::ofstream(path_) << text;
    const auto file = PidFile::Create(path_, false);
    EXPECT_TRUE(file.ok()) << file.status();
  }
}

TEST_F(PidFileTest, OverwriteTakesTheNameFromALiveProcess) {
  Holder first(path_);
  auto second = PidFile::Create(path_, true);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Text(), fmt::format("{}\n", getpid()));
}

TEST_F(PidFileTest, AnOverwrittenFileIsNotRemovedByItsFormerHolder) {
  auto second = absl::StatusOr<PidFile>(PidFile());
  {
    const Holder first(path_);
    second = PidFile::Create(path_, true);
    ASSERT_TRUE(second.ok());
  }
  EXPECT_EQ(Text(), fmt::format("{}\n", getpid()));
}

TEST_F(PidFileTest, OwnFileReadsAsOwnPidAndKeepsItsLock) {
  const auto file = PidFile::Create(path_, false);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*ReadPidFile(path_), getpid());
  EXPECT_THAT(Message(PidFile::Create(path_, false).status()), HasSubstr("already running"));
  // The lock must have survived both: another process sees it.
  const pid_t child = fork();
  if (child == 0) {
    _exit(ReadPidFile(path_).ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(PidFileTest, OfManyThatStartAtOnceExactlyOneWins) {
  for (int round = 0; round < 20; ++round) {
    std::ofstream(path_) << "1\n";  // stale, so that all want to remove it
    int go[2];
    int hold[2];
    int won[2];
    ASSERT_EQ(pipe(go), 0);
    ASSERT_EQ(pipe(hold), 0);
    ASSERT_EQ(pipe(won), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(fork());
      if (children.back() == 0) {
        close(go[1]);
        close(hold[1]);
        char byte;
        if (read(go[0], &byte, 1) != 0) _exit(1);
        const auto file = PidFile::Create(path_, false);
        byte = file.ok() ? '1' : '0';
        if (write(won[1], &byte, 1) != 1 || read(hold[0], &byte, 1) != 0) _exit(1);
        _exit(0);
      }
    }
    close(go[1]);
    int winners = 0;
    for (size_t i = 0; i < children.size(); ++i) {
      char byte = 0;
      ASSERT_EQ(read(won[0], &byte, 1), 1);
      winners += byte == '1';
    }
    close(hold[1]);
    for (pid_t child : children) {
      waitpid(child, nullptr, 0);
    }
    for (int fd : {go[0], hold[0], won[0], won[1]}) {
      close(fd);
    }
    ASSERT_EQ(winners, 1) << "round " << round;
  }
}

TEST_F(PidFileTest, ErrorsNameTheFile) {
  const std::string path = scratch_.File("absent/test.pid");
  EXPECT_THAT(Message(PidFile::Create(path, false).status()), HasSubstr(path));
  EXPECT_EQ(Message(ReadPidFile(path).status()),
            fmt::format("cannot read pidfile \"{}\" (No such file or directory)", path));
}

}  // namespace
}  // namespace sluice
