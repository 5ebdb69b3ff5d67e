#include "utilities/vsctl/options.h"

#include <gtest/gtest.h>

namespace sluice::vsctl {
namespace {

using Words = std::vector<std::string>;

std::string Error(const Words& words) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(words);
  return line.ok() ? "" : Message(line.status());
}

TEST(OptionsTest, GlobalOptionsAndCommands) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine({"--db=unix:/a,tcp:[::1]:6640",
                                                             "-t",
                                                             "5",
                                                             "--no-wait",
                                                             "--retry",
                                                             "-f",
                                                             "csv",
                                                             "-d",
                                                             "bare",
                                                             "-p",
                                                             "k",
                                                             "-c",
                                                             "c",
                                                             "-C",
                                                             "none",
                                                             "--",
                                                             "--may-exist",
                                                             "add-br",
                                                             "br0",
                                                             "--",
                                                             "list-br"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.remotes, (Words{"unix:/a", "tcp:[::1]:6640"}));
  EXPECT_EQ(line->options.timeout_seconds, 5u);
  EXPECT_FALSE(line->options.wait);
  EXPECT_TRUE(line->options.retry);
  EXPECT_EQ(line->options.style.format, TableStyle::Format::kCsv);
  EXPECT_EQ(line->options.style.data, TableStyle::Data::kBare);
  EXPECT_EQ(line->options.tls.private_key, "k");
  EXPECT_EQ(line->options.tls.ca_cert, "none");
  ASSERT_EQ(line->invocations.size(), 2u);
  EXPECT_EQ(line->invocations[0].ToString(), "--may-exist add-br br0");
  EXPECT_STREQ(line->invocations[1].command->name, "list-br");
}

TEST(OptionsTest, TheFirstCommandsOptionsMayStandAmongTheGlobalOnes) {
  const absl::StatusOr<CommandLine> line =
      ParseCommandLine({"--columns=name", "--bare", "list", "port", "--", "--id=@x", "get", "port", "p0"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->invocations[0].options.at("--columns"), "name");
  EXPECT_FALSE(line->options.style.headings);
  EXPECT_EQ(line->invocations[1].options.at("--id"), "@x");
}

TEST(OptionsTest, EmptyPartsBetweenDashesDoNotCount) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine({"--", "--", "list-br", "--", "--", "init", "--"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->invocations.size(), 2u);
}

TEST(OptionsTest, SaysWhatIsWrong) {
  const std::pair<Words, const char*> kCases[] = {
      {{}, "missing command name (use --help for help)"},
      {{"--", "--may-exist"}, "missing command name (use --help for help)"},
      {{"add-brr", "x"}, "unknown command 'add-brr'; use --help for help; did you mean \"add-br\"?"},
      {{"--may-exits", "add-br", "x"}, "unrecognized option '--may-exits'; did you mean \"--may-exist\"?"},
      {{"--if-exists", "add-br", "x"}, "'add-br' command has no '--if-exists' option"},
      {{"--", "--may-exist=1", "add-br", "x"}, "'--may-exist' option on 'add-br' does not accept an argument"},
      {{"--", "--columns", "list", "port"}, "missing argument to '--columns' option on 'list' command"},
      {{"--", "--may-exist", "--may-exist", "add-br", "x"}, "'--may-exist' option specified multiple times"},
      {{"add-br"}, "'add-br' command requires at least 1 arguments"},
      {{"list-br", "x"}, "'list-br' command takes at most 0 arguments"},
      {{"list-br", "--real"},
       "'list-br' command takes at most 0 arguments (note that options must precede command names and follow a \"--\" "
       "argument)"},
      {{"-t", "x", "init"}, "value x on -t or --timeout is invalid"},
      {{"-z", "init"}, "invalid option -- 'z'"},
      {{"--retry=1", "init"}, "option '--retry' doesn't allow an argument"},
      {{"--db"}, "option '--db' requires an argument"},
      {{"--db=", "init"}, "--db needs a server, as in --db=unix:/run/db.sock"},
  };
  for (const auto& [words, error] : kCases) EXPECT_EQ(Error(words), error);
}

TEST(OptionsTest, AnswersWithoutACommand) {
  for (const char* option : {"--help", "-h", "--version", "-V", "--commands", "--options"}) {
    const absl::StatusOr<CommandLine> line = ParseCommandLine({option});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_TRUE(line->answer.has_value()) << option;
  }
  EXPECT_NE(CommandsText().find("\n[--may-exist] ,add-br,!NEW-BRIDGE ?PARENT ?NEW-VLAN\n"), std::string::npos);
  EXPECT_NE(HelpText().find("via \"qos\" of Port with matching \"name\""), std::string::npos);
}

}  // namespace
}  // namespace sluice::vsctl
