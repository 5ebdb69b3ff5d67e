#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "lib/base/rcu.h"
#include "ofproto/flows/groups.h"

namespace sluice {
namespace {

using testing::ElementsAre;

class GroupTableTest : public testing::Test {
 protected:
  static GroupBucket To(OfPort port, uint32_t id = kBucketAll) {
    GroupBucket bucket;
    bucket.id = id;
    bucket.actions = {{OfOutput{port, 0}}};
    return bucket;
  }
  static GroupBucket ToGroup(uint32_t group) {
    GroupBucket bucket;
    bucket.actions = {{OfGroup{group}}};
    return bucket;
  }
  static GroupMod Mod(GroupCommand command, uint32_t group, std::vector<GroupBucket> buckets,
                      GroupType type = GroupType::kAll) {
    GroupMod mod;
    mod.command = command;
    mod.group = group;
    mod.type = type;
    mod.raw_type = static_cast<uint8_t>(type);
    mod.buckets = std::move(buckets);
    return mod;
  }
  static GroupMod At(GroupMod mod, uint32_t bucket) {
    mod.command_bucket = bucket;
    return mod;
  }
  OfError Error(const GroupMod& mod) {
    OfStatus failure = groups_.Apply(mod, [this](uint32_t group) { removed_.push_back(group); });
    return failure.has_value() ? failure->error : OfError{};
  }
  void Apply(const GroupMod& mod) {
    OfStatus failure = groups_.Apply(mod, [this](uint32_t group) { removed_.push_back(group); });
    ASSERT_FALSE(failure.has_value()) << failure->message;
  }
  std::vector<uint32_t> Ids(uint32_t group) {
    std::vector<uint32_t> ids;
    for (const GroupBucket& bucket : groups_.Find(group)->buckets) ids.push_back(bucket.id);
    return ids;
  }

  RcuThread reader_;
  GroupTable groups_;
  std::vector<uint32_t> removed_;
};

TEST_F(GroupTableTest, AddsModifiesAndDeletes) {
  Apply(Mod(GroupCommand::kAdd, 1, {To(1), To(2)}));
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {To(1)})), OfError::kGmfcGroupExists);
  EXPECT_EQ(Error(Mod(GroupCommand::kModify, 2, {To(1)})), OfError::kGmfcUnknownGroup);
  const uint64_t version = groups_.version();
  Apply(Mod(GroupCommand::kModify, 1, {To(3)}, GroupType::kIndirect));
  EXPECT_GT(groups_.version(), version);
  EXPECT_EQ(groups_.Find(1)->type, GroupType::kIndirect);
  Apply(Mod(GroupCommand::kAddOrModify, 1025, {To(3)}));
  Apply(Mod(GroupCommand::kAddOrModify, 1025, {To(4)}));
  EXPECT_EQ(groups_.Describe(kGroupAll).size(), 2u);
  EXPECT_EQ(groups_.Describe(1025).size(), 1u);
  Apply(Mod(GroupCommand::kDelete, 77, {}));
  EXPECT_TRUE(removed_.empty());
  Apply(Mod(GroupCommand::kDelete, 1, {}));
  EXPECT_THAT(removed_, ElementsAre(1));
  EXPECT_EQ(groups_.Find(1), nullptr);
  EXPECT_NE(groups_.Find(1025), nullptr);
  Apply(Mod(GroupCommand::kDelete, kGroupAll, {}));
  EXPECT_THAT(removed_, ElementsAre(1, 1025));
}

TEST_F(GroupTableTest, RefusesWhatTheSpecificationRefuses) {
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, kGroupMax + 1, {To(1)})), OfError::kGmfcInvalidGroup);
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {To(1), To(2)}, GroupType::kIndirect)), OfError::kGmfcInvalidGroup);
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {To(1)}, GroupType::kFastFailover)), OfError::kGmfcInvalidGroup);
  GroupMod bad_type = Mod(GroupCommand::kAdd, 1, {To(1)});
  bad_type.raw_type = 9;
  EXPECT_EQ(Error(bad_type), OfError::kGmfcBadType);
  GroupBucket watching = To(1);
  watching.watch_port = 1;
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {watching})), OfError::kGmfcWatchUnsupported);
  Apply(Mod(GroupCommand::kAdd, 5, {watching}, GroupType::kFastFailover));
  GroupBucket heavy = To(1);
  heavy.weight = 2;
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {heavy})), OfError::kGmfcInvalidGroup);
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {To(1, 4), To(2, 4)})), OfError::kGmfcBucketExists);
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {To(1, kBucketIdMax + 1)})), OfError::kGmfcBadBucket);
  GroupMod selecting = Mod(GroupCommand::kAdd, 1, {To(1)});
  selecting.selection.method = "hash";
  EXPECT_EQ(Error(selecting), OfError::kBpcBadValue);
  selecting.type = GroupType::kSelect;
  selecting.selection.method = "dice";
  EXPECT_EQ(Error(selecting), OfError::kBpcBadValue);
  EXPECT_EQ(groups_.Find(1), nullptr);
}

TEST_F(GroupTableTest, BucketsAreNumberedInsertedAndRemoved) {
  Apply(Mod(GroupCommand::kAdd, 1, {To(1), To(2, 0), To(3)}));
  EXPECT_THAT(Ids(1), ElementsAre(1, 0, 2));
  Apply(At(Mod(GroupCommand::kInsertBucket, 1, {To(4, 10)}), kBucketFirst));
  Apply(At(Mod(GroupCommand::kInsertBucket, 1, {To(5, 11)}), kBucketLast));
  Apply(At(Mod(GroupCommand::kInsertBucket, 1, {To(6, 12), To(7)}), 0));
  EXPECT_THAT(Ids(1), ElementsAre(10, 1, 0, 12, 3, 2, 11));
  EXPECT_EQ(Error(At(Mod(GroupCommand::kInsertBucket, 1, {To(6, 12)}), kBucketLast)), OfError::kGmfcBucketExists);
  EXPECT_EQ(Error(At(Mod(GroupCommand::kInsertBucket, 1, {To(6)}), 99)), OfError::kGmfcUnknownBucket);
  EXPECT_EQ(Error(At(Mod(GroupCommand::kInsertBucket, 2, {To(6)}), kBucketLast)), OfError::kGmfcUnknownGroup);
  EXPECT_EQ(Error(At(Mod(GroupCommand::kRemoveBucket, 1, {}), 99)), OfError::kGmfcUnknownBucket);
  Apply(At(Mod(GroupCommand::kRemoveBucket, 1, {}), 0));
  Apply(At(Mod(GroupCommand::kRemoveBucket, 1, {}), kBucketFirst));
  Apply(At(Mod(GroupCommand::kRemoveBucket, 1, {}), kBucketLast));
  EXPECT_THAT(Ids(1), ElementsAre(1, 12, 3, 2));
  Apply(At(Mod(GroupCommand::kRemoveBucket, 1, {}), kBucketAll));
  EXPECT_TRUE(Ids(1).empty());
}

TEST_F(GroupTableTest, LoopsAreRefusedAndUsedGroupsStay) {
  EXPECT_EQ(Error(Mod(GroupCommand::kAdd, 1, {ToGroup(1)})), OfError::kGmfcLoop);
  Apply(Mod(GroupCommand::kAdd, 1, {To(1)}));
  Apply(Mod(GroupCommand::kAdd, 2, {ToGroup(1)}));
  Apply(Mod(GroupCommand::kAdd, 3, {ToGroup(2)}));
  EXPECT_EQ(Error(Mod(GroupCommand::kModify, 1, {ToGroup(3)})), OfError::kGmfcLoop);
  EXPECT_EQ(Error(At(Mod(GroupCommand::kInsertBucket, 1, {ToGroup(2)}), kBucketLast)), OfError::kGmfcLoop);
  EXPECT_EQ(Error(Mod(GroupCommand::kDelete, 1, {})), OfError::kGmfcChainedGroup);
  Apply(Mod(GroupCommand::kDelete, 3, {}));
  Apply(Mod(GroupCommand::kModify, 2, {To(1)}));
  Apply(Mod(GroupCommand::kDelete, 1, {}));
}

TEST_F(GroupTableTest, CountersLiveOnWithTheirBuckets) {
  Apply(Mod(GroupCommand::kAdd, 1, {To(1, 5), To(2, 6)}));
  groups_.Find(1)->counters->packets = 10;
  groups_.Find(1)->bucket_counters[1]->bytes = 600;
  const auto created = groups_.Find(1)->created;
  Apply(Mod(GroupCommand::kModify, 1, {To(9, 6), To(8, 7)}));
  EXPECT_EQ(groups_.Find(1)->created, created);
  const auto stats = groups_.Statistics(1, created + std::chrono::seconds(4), [](uint32_t group) { return group + 1; });
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].packets, 10u);
  EXPECT_EQ(stats[0].ref_count, 2u);
  EXPECT_EQ(stats[0].duration, std::chrono::seconds(4));
  ASSERT_EQ(stats[0].buckets.size(), 2u);
  EXPECT_EQ(stats[0].buckets[0].bytes, 600u);
  EXPECT_EQ(stats[0].buckets[1].bytes, 0u);
}

TEST_F(GroupTableTest, ASnapshotBringsAllBack) {
  Apply(Mod(GroupCommand::kAdd, 1, {To(1)}));
  Apply(Mod(GroupCommand::kAdd, 2, {To(1)}));
  const auto snapshot = groups_.Snapshot();
  const GroupPtr first = groups_.Find(1);
  Apply(Mod(GroupCommand::kModify, 1, {To(2)}));
  Apply(Mod(GroupCommand::kDelete, 2, {}));
  Apply(Mod(GroupCommand::kAdd, 3, {To(1)}));
  groups_.Restore(snapshot);
  EXPECT_EQ(groups_.Find(1), first);
  EXPECT_NE(groups_.Find(2), nullptr);
  EXPECT_EQ(groups_.Find(3), nullptr);
}

// Meters
// ---------------------------------------------------------------------------------------------------------------------

class FakeMeters final : public DatapathMeters {
 public:
  absl::StatusOr<uint32_t> AddMeter(const MeterConfig& config) override {
    if (meters.size() == limit) return absl::ResourceExhaustedError("no meter is left");
    meters[next] = config;
    return next++;
  }
  void ModifyMeter(uint32_t number, const MeterConfig& config) override { meters.at(number) = config; }
  void RemoveMeter(uint32_t number) override { meters.erase(number); }
  MeterStats ReadMeter(uint32_t number) const override {
    MeterStats stats;
    stats.packets_in = number;
    stats.bands.resize(meters.at(number).bands.size());
    return stats;
  }

  std::map<uint32_t, MeterConfig> meters;
  uint32_t next = 100;
  size_t limit = 3;
};

class MeterTableTest : public testing::Test {
 protected:
  static MeterMod Mod(MeterCommand command, uint32_t meter, uint32_t rate = 1000, uint16_t flags = kMeterKbps) {
    return {command, {meter, flags, {{MeterBand::Type::kDrop, rate, 0, 0}}}};
  }
  OfError Error(const MeterMod& mod) {
    OfStatus failure = meters_.Apply(mod, [this](uint32_t meter) { removed_.push_back(meter); });
    return failure.has_value() ? failure->error : OfError{};
  }
  void Apply(const MeterMod& mod) {
    OfStatus failure = meters_.Apply(mod, [this](uint32_t meter) { removed_.push_back(meter); });
    ASSERT_FALSE(failure.has_value()) << failure->message;
  }

  RcuThread reader_;
  FakeMeters datapath_;
  MeterTable meters_{datapath_};
  std::vector<uint32_t> removed_;
};

TEST_F(MeterTableTest, MetersAreKeptInTheDatapath) {
  Apply(Mod(MeterCommand::kAdd, 7));
  EXPECT_EQ(meters_.DatapathNumber(7), 100u);
  EXPECT_EQ(meters_.DatapathNumber(8), std::nullopt);
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, 7)), OfError::kMmfcMeterExists);
  EXPECT_EQ(Error(Mod(MeterCommand::kModify, 8)), OfError::kMmfcUnknownMeter);
  Apply(Mod(MeterCommand::kModify, 7, 2000));
  EXPECT_EQ(datapath_.meters[100].bands[0].rate, 2000u);
  Apply(Mod(MeterCommand::kAdd, kMeterController));
  Apply(Mod(MeterCommand::kAdd, 9));
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, 10)), OfError::kMmfcOutOfMeters);
  const auto stats = meters_.Statistics(7, OfClock::now(), [](uint32_t) { return 4u; });
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].meter, 7u);
  EXPECT_EQ(stats[0].packets_in, 100u);
  EXPECT_EQ(stats[0].flow_count, 4u);
  Apply(Mod(MeterCommand::kDelete, 8));
  Apply(Mod(MeterCommand::kDelete, 7));
  EXPECT_THAT(removed_, ElementsAre(7));
  Apply(Mod(MeterCommand::kDelete, kMeterAll));
  EXPECT_THAT(removed_, ElementsAre(7, 9, kMeterController));
  EXPECT_TRUE(datapath_.meters.empty());
  EXPECT_TRUE(meters_.Describe(kMeterAll).empty());
}

TEST_F(MeterTableTest, RefusesWhatTheSpecificationRefuses) {
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, 0)), OfError::kMmfcInvalidMeter);
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, kMeterMax + 1)), OfError::kMmfcInvalidMeter);
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, 1, 10, kMeterKbps | kMeterPktps)), OfError::kMmfcBadFlags);
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, 1, 10, 0x80)), OfError::kMmfcBadFlags);
  EXPECT_EQ(Error(Mod(MeterCommand::kAdd, 1, 0)), OfError::kMmfcBadRate);
  MeterMod many = Mod(MeterCommand::kAdd, 1);
  many.config.bands.resize(9, many.config.bands[0]);
  EXPECT_EQ(Error(many), OfError::kMmfcOutOfBands);
  MeterMod remark = Mod(MeterCommand::kAdd, 1);
  remark.config.bands[0].type = MeterBand::Type::kDscpRemark;
  EXPECT_EQ(Error(remark), OfError::kMmfcBadBandValue);
  EXPECT_TRUE(datapath_.meters.empty());
}

}  // namespace
}  // namespace sluice
