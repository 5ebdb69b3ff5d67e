#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "lib/io/daemon.h"
#include "tests/testing/scratch.h"

namespace sluice {
namespace {

// Runs `daemon` in a child process that detaches, and returns the status that its parent would see.
int RunDetached(const DaemonizeOptions& options, const std::function<void()>& daemon) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (!DaemonizeStart(options).ok()) {
      _exit(99);
    }
    daemon();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

std::string WaitForLine(const std::string& path) {
  for (int i = 0; i < 1000; ++i) {
    std::ifstream file(path);
    if (std::string line; std::getline(file, line) && !file.eof()) {
      return line;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "nothing came";
}

TEST(DaemonizeTest, TheParentReturnsWhenInitialisationIsCompleteNotBefore) {
  Scratch scratch;
  const std::string mark = scratch.File("initialised");
  const int status = RunDetached({.detach = true}, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::ofstream(mark) << "yes\n";
    DaemonizeComplete();
    std::ofstream(scratch.File("where")) << std::filesystem::current_path().string() << ' ' << isatty(0) << ' '
                                         << (getsid(0) != getsid(getppid())) << "\n";
    _exit(0);
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(mark));
  EXPECT_EQ(WaitForLine(scratch.File("where")), "/ 0 1");
}

TEST(DaemonizeTest, NoChdirStays) {
  Scratch scratch;
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(RunDetached({.detach = true, .chdir = false},
                        [&] {
                          DaemonizeComplete();
                          std::ofstream(scratch.File("where")) << std::filesystem::current_path().string() << "\n";
                        }),
            0);
  EXPECT_EQ(WaitForLine(scratch.File("where")), here);
}

TEST(DaemonizeTest, AFailureWhileStartingReachesTheParent) {
  for (bool monitor : {false, true}) {
    const int status = RunDetached({.detach = true, .monitor = monitor}, [] { _exit(7); });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
  const int status = RunDetached({.detach = true}, [] { _exit(0); });
  EXPECT_EQ(WEXITSTATUS(status), EXIT_FAILURE) << "no daemon runs, though nothing failed";
}

TEST(DaemonizeTest, WithoutDetachItIsTheSameProcess) {
  const int status = RunDetached({}, [parent = getpid()] {
    DaemonizeComplete();
    _exit(getppid() == parent ? 5 : 6);
  });
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST(DirectoriesTest, ComeFromTheEnvironment) {
  setenv("OVS_RUNDIR", "/some/run", 1);
  setenv("OVS_LOGDIR", "", 1);
  EXPECT_EQ(RunDir(), "/some/run");
  EXPECT_EQ(LogDir(), "/var/log/openvswitch");
  unsetenv("OVS_RUNDIR");
  unsetenv("OVS_LOGDIR");
  EXPECT_EQ(RunDir(), "/run/openvswitch");
}

TEST(DirectoriesTest, AreCreatedWithTheirParents) {
  Scratch scratch;
  EXPECT_TRUE(EnsureDirectory(scratch.File("a/b/c")).ok());
  EXPECT_TRUE(EnsureDirectory(scratch.File("a/b/c")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(scratch.File("a/b/c")));
  std::ofstream(scratch.File("file")) << "x";
  EXPECT_FALSE(EnsureDirectory(scratch.File("file/below")).ok());
}

}  // namespace
}  // namespace sluice
