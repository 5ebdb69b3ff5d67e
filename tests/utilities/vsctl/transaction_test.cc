#include "utilities/vsctl/transaction.h"

#include <gtest/gtest.h>

#include "lib/ovsdb/json.h"

namespace sluice::vsctl {
namespace {

class TransactionTest : public testing::Test {
 protected:
  TransactionTest() {
    const TableSchema& schema = VswitchSchema().tables.at("Bridge");
    auto row = std::make_shared<Row>();
    row->uuid = bridge_;
    for (const ColumnSchema& column : schema.columns) row->columns.push_back(column.type.Default());
    row->columns[schema.FindColumn("ports")] = Datum::Scalar(old_port_);
    bridges_[bridge_] = row;
  }

  const Database::Table& Rows(std::string_view table) const { return table == "Bridge" ? bridges_ : empty_; }

  const Uuid bridge_ = Uuid::Random();
  const Uuid old_port_ = Uuid::Random();
  Database::Table bridges_;
  Database::Table empty_;
  Transaction transaction_{VswitchSchema(),
                           [this](std::string_view table) -> const Database::Table& { return Rows(table); }};
};

TEST_F(TransactionTest, ReadingChangesNothing) {
  EXPECT_EQ(transaction_.Get("Bridge", bridge_, "ports"), Datum::Scalar(old_port_));
  EXPECT_EQ(transaction_.Get("Bridge", bridge_, "no_such"), Datum{});
  transaction_.Verify("Bridge", bridge_, "ports");
  transaction_.Set("Bridge", bridge_, "ports", Datum::Scalar(old_port_));
  EXPECT_FALSE(transaction_.changed());
}

TEST_F(TransactionTest, WhatIsAddedAndTakenBackIsNoChange) {
  const Uuid port = transaction_.Insert("Port");
  transaction_.AddTo("Bridge", bridge_, "ports", port);
  EXPECT_EQ(transaction_.Get("Bridge", bridge_, "ports").size(), 2u);
  transaction_.RemoveFrom("Bridge", bridge_, "ports", port);
  transaction_.Delete("Port", port);
  EXPECT_FALSE(transaction_.changed());
  EXPECT_FALSE(transaction_.Exists("Port", port));
  transaction_.RemoveFrom("Bridge", bridge_, "ports", old_port_);
  EXPECT_TRUE(transaction_.changed());
  transaction_.AddTo("Bridge", bridge_, "ports", old_port_);
  EXPECT_FALSE(transaction_.changed());
}

TEST_F(TransactionTest, NewRowsReadAsDefaultsAndAreListed) {
  const Uuid port = transaction_.Insert("Port");
  EXPECT_EQ(transaction_.Get("Port", port, "name"), Datum::Scalar(std::string()));
  EXPECT_EQ(transaction_.Rows("Port"), std::vector<Uuid>{port});
  EXPECT_TRUE(transaction_.IsInserted(port));
  EXPECT_FALSE(transaction_.IsInserted(bridge_));
}

TEST_F(TransactionTest, DeletingRowsOfTablesThatAreNotRootIsLeftToTheirReferences) {
  transaction_.Delete("Bridge", bridge_);
  EXPECT_TRUE(transaction_.Rows("Bridge").empty());
  EXPECT_FALSE(transaction_.changed());
}

TEST_F(TransactionTest, OperationsVerifyFirstAndMutateWhatIsShared) {
  const Uuid port = transaction_.Insert("Port", *Uuid::Parse("7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21"), true);
  transaction_.Verify("Bridge", bridge_, "ports");
  transaction_.AddTo("Bridge", bridge_, "ports", port);
  transaction_.Increment(bridge_, "Bridge", "no_such");
  const Transaction::Operations operations = transaction_.Build("why");
  std::vector<std::string> ops;
  for (const Json& operation : *operations.json) ops.push_back(operation["op"]);
  EXPECT_EQ(ops, (std::vector<std::string>{"wait", "insert", "mutate", "comment", "select"}));
  const Json& insert = (*operations.json)[operations.inserted.at(port)];
  EXPECT_EQ(insert["uuid"], "7d5a0b7e-5b4a-4c6f-9c3f-0b6a5a4c3e21");
  EXPECT_NE(operations.json->at(2).dump().find(insert["uuid-name"]), std::string::npos);
}

}  // namespace
}  // namespace sluice::vsctl
