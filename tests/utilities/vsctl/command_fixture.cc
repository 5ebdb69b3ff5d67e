#include "tests/utilities/vsctl/command_fixture.h"

#include <sstream>

#include "lib/ovsdb/json.h"

namespace sluice::vsctl {
namespace {

std::vector<std::string> Words(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The rows with nothing but what is in `needs`: what a client's replica has.
Database::Table Replicated(const TableSchema& schema, const Database::Table& rows, const Needs& needs) {
  Database::Table replica;
  const auto needed = needs.tables().find(schema.name);
  if (needed == needs.tables().end()) return replica;
  for (const auto& [uuid, row] : rows) {
    auto copy = std::make_shared<Row>(*row);
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      if (!needed->second.contains(schema.columns[i].name)) copy->columns[i] = {};
    }
    replica[uuid] = std::move(copy);
  }
  return replica;
}

}  // namespace

CommandFixture::CommandFixture() : database_(VswitchSchema()) {}

absl::StatusOr<std::string> CommandFixture::TryRun(std::string_view text) {
  std::vector<std::string> words = Words(text);
  words.insert(words.begin(), "--no-wait");
  const absl::StatusOr<CommandLine> line = ParseCommandLine(words);
  if (!line.ok()) return line.status();
  Needs needs;
  bool may_change = false;
  SLUICE_RETURN_IF_ERROR(PrepareCommands(*line, VswitchSchema(), needs, &may_change));
  std::map<std::string, Database::Table, std::less<>> replica;
  for (const auto& [name, schema] : VswitchSchema().tables) {
    replica[name] = Replicated(schema, database_.rows(name), needs);
  }
  Transaction transaction(VswitchSchema(), [&replica](std::string_view table) -> const Database::Table& {
    return replica.find(table)->second;
  });
  absl::StatusOr<Outcome> outcome = RunCommands(*line, transaction);
  if (!outcome.ok()) return outcome.status();
  outcome_ = *std::move(outcome);
  if (outcome_.try_again || outcome_.exit_code) return "";
  const std::string output = FormatOutput(outcome_, line->options, {});
  if (!before_commit_.empty()) Run(std::exchange(before_commit_, ""));
  if (transaction.changed()) SLUICE_RETURN_IF_ERROR(Commit(transaction));
  return output;
}

absl::Status CommandFixture::Commit(const Transaction& transaction) {
  const Transaction::Operations operations = transaction.Build("a comment");
  const Database::Outcome outcome = database_.Execute(*operations.json, {});
  if (outcome.kind == Database::Outcome::Kind::kMustWait) return InvalidArgument("timed out");
  for (const Json& result : *outcome.results) {
    if (result.is_object() && result.contains("error")) return InvalidArgument("{}", DumpJson(result));
  }
  return absl::OkStatus();
}

std::string CommandFixture::Run(std::string_view line) {
  const absl::StatusOr<std::string> output = TryRun(line);
  EXPECT_TRUE(output.ok()) << line << ": " << output.status();
  return output.value_or("");
}

std::string CommandFixture::Error(std::string_view line) {
  const absl::StatusOr<std::string> output = TryRun(line);
  EXPECT_FALSE(output.ok()) << line << ": " << output.value_or("");
  return output.ok() ? "" : Message(output.status());
}

}  // namespace sluice::vsctl
