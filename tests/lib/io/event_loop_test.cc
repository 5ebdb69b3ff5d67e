#include "lib/io/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class EventLoopTest : public testing::Test {
 protected:
  EventLoopTest() {
    EXPECT_EQ(pipe2(pipe_, O_NONBLOCK), 0);
    watchdog_ = loop_.RunAfter(std::chrono::seconds(20), [this] {
      ADD_FAILURE() << "the loop was not stopped";
      loop_.Stop();
    });
  }
  ~EventLoopTest() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }
  void MakeReadable() { ASSERT_EQ(write(pipe_[1], "x", 1), 1); }
  bool ReadByte() {
    char byte;
    return read(pipe_[0], &byte, 1) == 1;
  }
  // Everything that is due has been called after this.
  void RunFor(milliseconds time) {
    const auto end = loop_.RunAfter(time, [this] { loop_.Stop(); });
    loop_.Run();
  }

  EventLoop loop_;
  EventLoop::Handle watchdog_;
  int pipe_[2];
};

TEST_F(EventLoopTest, RunsPostedFunctionsInOrderAlsoFromOtherThreads) {
  std::vector<int> order;
  loop_.Post([&] { order.push_back(1); });
  loop_.Post([&] { order.push_back(2); });
  std::thread poster([&] {
    loop_.Post([&] { order.push_back(3); });
    loop_.Post([&] { loop_.Stop(); });
  });
  poster.join();
  loop_.Run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(EventLoopTest, StopBeforeRunAndRunAgain) {
  loop_.Stop();
  loop_.Run();
  bool ran = false;
  loop_.Post([&] {
    ran = true;
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_TRUE(ran);
}

TEST_F(EventLoopTest, CallsUntilTheDescriptorIsReadEmpty) {
  for (int i = 0; i < 3; ++i) {
    MakeReadable();
  }
  int calls = 0;
  const auto handle = loop_.AddFd(pipe_[0], [&] {
    ++calls;
    EXPECT_TRUE(ReadByte());
  });
  RunFor(milliseconds(50));
  EXPECT_EQ(calls, 3);
  MakeReadable();
  RunFor(milliseconds(50));
  EXPECT_EQ(calls, 4);
}

TEST_F(EventLoopTest, TellsAHangUp) {
  bool called = false;
  EventLoop::Handle handle = loop_.AddFd(pipe_[0], [&] {
    called = true;
    handle.Cancel();
  });
  close(std::exchange(pipe_[1], -1));
  RunFor(milliseconds(50));
  EXPECT_TRUE(called);
}

TEST_F(EventLoopTest, ACancelledDescriptorIsLeftAloneAndStaysOpen) {
  MakeReadable();
  EventLoop::Handle handle = loop_.AddFd(pipe_[0], [] { ADD_FAILURE() << "called after Cancel"; });
  handle.Cancel();
  RunFor(milliseconds(20));
  EXPECT_TRUE(ReadByte());
  // And it can be registered again.
  MakeReadable();
  bool called = false;
  handle = loop_.AddFd(pipe_[0], [&] { called = ReadByte(); });
  RunFor(milliseconds(20));
  EXPECT_TRUE(called);
}

TEST_F(EventLoopTest, ACallbackMayDestroyItsOwnHandle) {
  MakeReadable();
  int calls = 0;
  auto on_fd = std::make_unique<EventLoop::Handle>();
  auto on_timer = std::make_unique<EventLoop::Handle>();
  *on_fd = loop_.AddFd(pipe_[0], [&] {
    on_fd.reset();
    ++calls;
  });
  *on_timer = loop_.RunEvery(milliseconds(1), [&] {
    on_timer.reset();
    ++calls;
  });
  RunFor(milliseconds(50));
  EXPECT_EQ(calls, 2);
}

TEST_F(EventLoopTest, TimersComeOnceOrAgainAndNotEarly) {
  int once = 0;
  int often = 0;
  const auto start = steady_clock::now();
  const auto one_shot = loop_.RunAfter(milliseconds(30), [&] {
    EXPECT_GE(steady_clock::now() - start, milliseconds(30));
    ++once;
  });
  EventLoop::Handle periodic = loop_.RunEvery(milliseconds(10), [&] {
    if (++often == 5) {
      EXPECT_GE(steady_clock::now() - start, milliseconds(50));
      periodic.Cancel();
    }
  });
  RunFor(milliseconds(150));
  EXPECT_EQ(once, 1);
  EXPECT_EQ(often, 5);
}

TEST_F(EventLoopTest, APeriodThatWasMissedIsNotMadeUpFor) {
  int calls = 0;
  const auto periodic = loop_.RunEvery(milliseconds(20), [&] {
    if (++calls == 1) {
      std::this_thread::sleep_for(milliseconds(200));
    }
  });
  RunFor(milliseconds(230));
  EXPECT_LE(calls, 4);  // 11 periods passed
}

TEST_F(EventLoopTest, DestroyedHandleOfATimerIsSilent) {
  {
    const auto timer = loop_.RunAfter(milliseconds(1), [] { ADD_FAILURE() << "called after its Handle ended"; });
  }
  RunFor(milliseconds(20));
}

TEST_F(EventLoopTest, DeliversSignals) {
  std::vector<int> signals;
  const auto handle = loop_.OnSignals({SIGUSR1, SIGUSR2}, [&](int signal) {
    signals.push_back(signal);
    if (signals.size() == 2) {
      loop_.Stop();
    }
  });
  kill(getpid(), SIGUSR1);
  loop_.Post([] { kill(getpid(), SIGUSR2); });
  loop_.Run();
  EXPECT_EQ(signals, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

}  // namespace
}  // namespace sluice
