#include "utilities/vsctl/runner.h"

namespace sluice::vsctl {
namespace {

constexpr std::string_view kRootTable = "Open_vSwitch";

// One line, for --oneline.
std::string OneLine(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string line;
  for (char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\\') {
      line += "\\\\";
    } else {
      line += c;
    }
  }
  return line + '\n';
}

}  // namespace

absl::Status PrepareCommands(const CommandLine& line, const DatabaseSchema& schema, Needs& needs, bool* may_change) {
  needs.Add(kRootTable, "next_cfg");
  *may_change = false;
  for (const Invocation& invocation : line.invocations) {
    *may_change |= invocation.command->changes;
    SLUICE_RETURN_IF_ERROR(invocation.command->prepare(invocation, schema, needs));
  }
  if (line.options.wait) {
    needs.Add(kRootTable, "cur_cfg");
    if (*may_change) needs.Add("Interface", {"name", "ofport", "error"});
  }
  return absl::OkStatus();
}

absl::StatusOr<Outcome> RunCommands(const CommandLine& line, Transaction& transaction) {
  Outcome outcome;
  const std::vector<Uuid> roots = transaction.Rows(kRootTable);
  const Uuid root = roots.empty() ? transaction.Insert(kRootTable) : roots[0];
  outcome.inserted_root = roots.empty();
  if (line.options.wait) transaction.Increment(root, kRootTable, "next_cfg");
  Symbols symbols;
  Topology topology(transaction, root, outcome.warnings);
  for (const Invocation& invocation : line.invocations) {
    Context context{.invocation = invocation,
                    .transaction = transaction,
                    .topology = topology,
                    .symbols = symbols,
                    .root = root,
                    .output = {},
                    .table = {},
                    .exit_code = {},
                    .created = {},
                    .new_interfaces = outcome.new_interfaces,
                    .warnings = outcome.warnings};
    SLUICE_RETURN_IF_ERROR(invocation.command->run(context));
    outcome.try_again = context.try_again;
    outcome.exit_code = context.exit_code;
    if (outcome.try_again || outcome.exit_code) return outcome;
    outcome.results.push_back({std::move(context.output), std::move(context.table), context.created});
  }
  SLUICE_RETURN_IF_ERROR(symbols.Check(&outcome.warnings));
  return outcome;
}

std::string FormatOutput(const Outcome& outcome, const Options& options, const std::map<Uuid, Uuid>& inserted) {
  std::string text;
  bool first_table = true;
  for (const Outcome::Result& result : outcome.results) {
    if (result.table) {
      text += result.table->Format(options.style, first_table);
      first_table = false;
      continue;
    }
    std::string output = result.output;
    if (result.created) {
      const auto uuid = inserted.find(*result.created);
      output = (uuid == inserted.end() ? *result.created : uuid->second).ToString() + '\n';
    }
    text += options.oneline ? OneLine(output) : output;
  }
  return text;
}

}  // namespace sluice::vsctl
