#include "lib/base/cpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CpuSetTest, ParsesMasks) {
  const struct {
    const char* text;
    CpuSet expected;
  } kCases[] = {
      {"0x6", {1, 2}},
      {"6", {1, 2}},
      {"0X6", {1, 2}},
      {"1", {0}},
      {"aA", {1, 3, 5, 7}},
      {"0000000000000000000000001", {0}},
      {"0x10000000000000000", {64}},
      {"8000000000000000000000000000000000000000000000000000000000000000", {255}},
  };
  for (const auto& c : kCases) {
    const auto set = CpuSet::FromMask(c.text);
    ASSERT_TRUE(set.ok()) << c.text << ": " << set.status();
    EXPECT_EQ(*set, c.expected) << c.text;
  }
}

TEST(CpuSetTest, RefusesMasksAndNamesTheReason) {
  const struct {
    std::string text;
    const char* reason;
  } kCases[] = {
      {"", "expected hexadecimal digits"},
      {"0x", "expected hexadecimal digits"},
      {"0x0", "no CPU is set"},
      {"0", "no CPU is set"},
      {"0x6g", "'g' is not a hexadecimal digit"},
      {"-1", "'-' is not a hexadecimal digit"},
      {"6 ", "' ' is not a hexadecimal digit"},
      {"1,2", "',' is not a hexadecimal digit"},
      {"1" + std::string(CpuSet::kMaxCpus / 4, '0'), "above 4095"},
  };
  for (const auto& c : kCases) {
    const auto set = CpuSet::FromMask(c.text);
    ASSERT_FALSE(set.ok()) << c.text;
    EXPECT_THAT(Message(set.status()), HasSubstr(c.reason));
    EXPECT_THAT(Message(set.status()), HasSubstr("\"" + c.text + "\""));
  }
}

TEST(CpuSetTest, ParsesLists) {
  const struct {
    const char* text;
    CpuSet expected;
  } kCases[] = {
      {"0", {0}}, {"0,2-5,8", {0, 2, 3, 4, 5, 8}}, {"3,1,3", {1, 3}}, {"4095", {4095}}, {"7-7", {7}},
  };
  for (const auto& c : kCases) {
    const auto set = CpuSet::FromList(c.text);
    ASSERT_TRUE(set.ok()) << c.text << ": " << set.status();
    EXPECT_EQ(*set, c.expected) << c.text;
  }
  for (const char* text : {"", ",", "1,", "a", "5-2", "-1", "1-", "4096", "1 2", "99999999999"}) {
    EXPECT_FALSE(CpuSet::FromList(text).ok()) << text;
  }
}

TEST(CpuSetTest, FormatsWhatItParses) {
  const struct {
    CpuSet set;
    const char* mask;
    const char* list;
  } kCases[] = {
      {{}, "0x0", ""},
      {{0}, "0x1", "0"},
      {{1, 2}, "0x6", "1-2"},
      {{0, 2, 3, 4, 8}, "0x11d", "0,2-4,8"},
      {{64}, "0x10000000000000000", "64"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(c.set.ToMask(), c.mask);
    EXPECT_EQ(c.set.ToList(), c.list);
    if (!c.set.empty()) {
      EXPECT_EQ(*CpuSet::FromMask(c.mask), c.set);
      EXPECT_EQ(*CpuSet::FromList(c.list), c.set);
    }
  }
}

TEST(CpuSetTest, AddsAndRemoves) {
  CpuSet set;
  set.Add(5);
  set.Add(1);
  set.Add(5);
  set.Add(-1);
  set.Add(CpuSet::kMaxCpus);
  EXPECT_THAT(set, ElementsAre(1, 5));
  EXPECT_TRUE(set.Contains(5));
  set.Remove(5);
  set.Remove(7);
  EXPECT_THAT(set, ElementsAre(1));
}

TEST(CpuSetTest, BindsAThread) {
  const CpuSet allowed = CpuSet::Allowed();
  ASSERT_FALSE(allowed.empty());
  const CpuSet last{*std::prev(allowed.end())};
  std::thread([&] {
    ASSERT_TRUE(last.BindThisThread().ok());
    EXPECT_EQ(CpuSet::Allowed(), last);
  }).join();
  EXPECT_EQ(CpuSet::Allowed(), allowed);
}

TEST(CpuSetTest, BindingToAnAbsentCpuNamesTheAllowedOnes) {
  const absl::Status status = CpuSet{CpuSet::kMaxCpus - 1}.BindThisThread();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(Message(status), HasSubstr("\"4095\""));
  EXPECT_THAT(Message(status), HasSubstr(CpuSet::Allowed().ToList()));
}

}  // namespace
}  // namespace sluice
