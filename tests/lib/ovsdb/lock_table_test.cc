#include "lib/ovsdb/lock_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = LockTable::State;

struct Client : LockTable::Client {
  void OnLocked(const std::string& lock) override { heard.push_back("locked " + lock); }
  void OnStolen(const std::string& lock) override { heard.push_back("stolen " + lock); }
  std::vector<std::string> Heard() { return std::exchange(heard, {}); }
  std::vector<std::string> heard;
};

class LockTableTest : public testing::Test {
 protected:
  bool Lock(Client& client) { return *locks_.Lock(client, "L", false); }
  bool Steal(Client& client) { return *locks_.Lock(client, "L", true); }
  void Unlock(Client& client) { ASSERT_TRUE(locks_.Unlock(client, "L").ok()); }

  LockTable locks_;
  Client a_, b_, c_, d_;
};

TEST_F(LockTableTest, GoesToTheFirstThenToThoseThatWaitInTheirOrder) {
  EXPECT_TRUE(Lock(a_));
  EXPECT_FALSE(Lock(b_));
  EXPECT_FALSE(Lock(c_));
  Unlock(a_);
  EXPECT_THAT(b_.Heard(), ElementsAre("locked L"));
  EXPECT_TRUE(locks_.Holds(b_, "L"));
  Unlock(b_);
  EXPECT_THAT(c_.Heard(), ElementsAre("locked L"));
  EXPECT_THAT(a_.Heard(), IsEmpty());
}

TEST_F(LockTableTest, OneThatStopsWaitingTellsNobody) {
  Lock(a_);
  Lock(b_);
  Lock(c_);
  Unlock(b_);
  EXPECT_THAT(a_.Heard(), IsEmpty());
  Unlock(a_);
  EXPECT_THAT(c_.Heard(), ElementsAre("locked L"));
  EXPECT_THAT(b_.Heard(), IsEmpty());
}

TEST_F(LockTableTest, TheRobbedGetsItBackFromTheThief) {
  Lock(a_);
  Lock(b_);
  EXPECT_TRUE(Steal(c_));
  EXPECT_THAT(a_.Heard(), ElementsAre("stolen L"));
  EXPECT_FALSE(locks_.Holds(a_, "L"));
  EXPECT_THAT(locks_.Names(a_, State::kLost), ElementsAre("L"));
  Unlock(c_);
  EXPECT_THAT(a_.Heard(), ElementsAre("locked L"));
  EXPECT_THAT(locks_.Names(a_, State::kLost), IsEmpty());
  EXPECT_THAT(locks_.Names(a_, State::kHeld), ElementsAre("L"));
}

TEST_F(LockTableTest, ARobbedThiefDoesNotGetItBack) {
  Lock(a_);
  Steal(b_);
  Steal(c_);
  EXPECT_THAT(b_.Heard(), ElementsAre("stolen L"));
  Unlock(c_);
  EXPECT_THAT(a_.Heard(), ElementsAre("stolen L", "locked L"));
  EXPECT_THAT(b_.Heard(), IsEmpty());
  // It still has to give back what it asked for.
  EXPECT_FALSE(locks_.Lock(b_, "L", false).ok());
  Unlock(b_);
  EXPECT_FALSE(Lock(b_));
}

TEST_F(LockTableTest, RefusesToBeAskedTwiceOrUnlockedWithoutBeingAsked) {
  Lock(a_);
  Lock(b_);
  for (Client* client : {&a_, &b_}) {
    EXPECT_EQ(Message(locks_.Lock(*client, "L", false).status()), "must issue \"unlock\" before new \"lock\"");
    EXPECT_EQ(Message(locks_.Lock(*client, "L", true).status()), "must issue \"unlock\" before new \"steal\"");
  }
  EXPECT_EQ(Message(locks_.Unlock(c_, "L")), "\"unlock\" without \"lock\" or \"steal\"");
  EXPECT_EQ(Message(locks_.Unlock(a_, "M")), "\"unlock\" without \"lock\" or \"steal\"");
}

TEST_F(LockTableTest, OneThatGoesLeavesAllItsLocks) {
  Lock(a_);
  ASSERT_TRUE(locks_.Lock(a_, "M", false).ok());
  Lock(b_);
  ASSERT_TRUE(locks_.Lock(c_, "M", false).ok());
  Lock(c_);
  EXPECT_THAT(locks_.Names(c_, State::kWaiting), ElementsAre("L", "M"));
  locks_.RemoveClient(a_);
  EXPECT_THAT(b_.Heard(), ElementsAre("locked L"));
  EXPECT_THAT(c_.Heard(), ElementsAre("locked M"));
  locks_.RemoveClient(b_);
  EXPECT_THAT(c_.Heard(), ElementsAre("locked L"));
  EXPECT_THAT(a_.Heard(), IsEmpty());
  EXPECT_FALSE(locks_.Holds(a_, "L"));
}

}  // namespace
}  // namespace sluice
