// Command lines run on a database in memory, without a server: parse, run, commit.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "lib/ovsdb/database.h"
#include "utilities/vsctl/runner.h"

namespace sluice::vsctl {

class CommandFixture : public testing::Test {
 protected:
  CommandFixture();

  // What vsctl prints for these words (split at blanks; '_' in single quotes is not special). The database changes.
  // An error is what vsctl says. Only the columns that the commands have asked for can be seen by them.
  absl::StatusOr<std::string> TryRun(std::string_view line);
  // The same; fails the test where there is an error.
  std::string Run(std::string_view line);
  // The error that there must be.
  std::string Error(std::string_view line);

  // Something that another client does between the moment a line has run and its commit.
  void set_before_commit(std::string line) { before_commit_ = std::move(line); }

  size_t RowCount(std::string_view table) const { return database_.rows(table).size(); }
  const Outcome& outcome() const { return outcome_; }

 private:
  absl::Status Commit(const Transaction& transaction);

  Database database_;
  Outcome outcome_;
  std::string before_commit_;
};

}  // namespace sluice::vsctl
