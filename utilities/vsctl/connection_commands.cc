// get-, set- and del- of controllers, fail-mode, managers and SSL.
#include <absl/strings/numbers.h>

#include <algorithm>
#include <array>

#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {
namespace {

// Only the kind is looked at: a port may be left out, and an address is the daemon's to resolve.
void WarnOfTarget(Context& context, const std::string& target) {
  constexpr std::array<std::string_view, 6> kKinds = {"tcp:", "ssl:", "unix:", "ptcp:", "pssl:", "punix:"};
  const bool known =
      std::any_of(kKinds.begin(), kKinds.end(), [&target](std::string_view kind) { return target.starts_with(kind); });
  if (!known) context.warnings.push_back(fmt::format("target type \"{}\" is possibly erroneous", target));
}

// The targets of the rows that a column refers to, sorted, one per line.
std::string TargetLines(Context& context, std::string_view table, const Datum& references) {
  std::vector<std::string> targets;
  for (const Atom& atom : references.keys) {
    targets.emplace_back(context.transaction.Get(table, std::get<Uuid>(atom), "target").StringOr(""));
  }
  std::sort(targets.begin(), targets.end());
  return targets.empty() ? "" : fmt::format("{}\n", fmt::join(targets, "\n"));
}

// New Controller or Manager rows.
absl::StatusOr<Datum> InsertTargets(Context& context, std::string_view table, size_t first) {
  std::optional<int64_t> probe;
  if (context.invocation.Has("--inactivity-probe")) {
    const std::string& text = *context.invocation.options.at("--inactivity-probe");
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value < 0) {
      return InvalidArgument("--inactivity-probe={}: expected a number of milliseconds, 0 for none", text);
    }
    probe = value;
  }
  Datum rows;
  for (size_t i = first; i < context.argc(); ++i) {
    WarnOfTarget(context, context.arg(i));
    const Uuid row = context.transaction.Insert(table);
    context.transaction.Set(table, row, "target", Datum::Scalar(context.arg(i)));
    if (probe) context.transaction.Set(table, row, "inactivity_probe", Datum::Scalar(*probe));
    rows.keys.emplace_back(row);
  }
  rows.Normalize(false);
  return rows;
}

void DeleteRows(Context& context, std::string_view table, const Datum& references) {
  for (const Atom& atom : references.keys) context.transaction.Delete(table, std::get<Uuid>(atom));
}

// Sets a column that refers to rows of `table`, which go.
void ReplaceReferences(Context& context, std::string_view owner_table, const Uuid& owner, std::string_view column,
                       std::string_view table, Datum value) {
  context.transaction.Verify(owner_table, owner, column);
  const Datum old = context.transaction.Get(owner_table, owner, column);
  DeleteRows(context, table, old);
  context.transaction.Set(owner_table, owner, column, std::move(value));
}

}  // namespace

absl::Status PrepareController(const Invocation& invocation, const Schema& schema, Needs& needs) {
  needs.Add("Bridge", "controller");
  needs.Add("Controller", "target");
  return PrepareTopology(invocation, schema, needs);
}

// A fake bridge's controllers are its parent's: it may ask for them, not change them.
absl::Status RunGetController(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  context.output = TargetLines(context, "Controller", context.transaction.Get("Bridge", (*bridge)->row, "controller"));
  return absl::OkStatus();
}

absl::Status RunDelController(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetRealBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  ReplaceReferences(context, "Bridge", (*bridge)->row, "controller", "Controller", {});
  return absl::OkStatus();
}

absl::Status RunSetController(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetRealBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  absl::StatusOr<Datum> rows = InsertTargets(context, "Controller", 2);
  if (!rows.ok()) return rows.status();
  ReplaceReferences(context, "Bridge", (*bridge)->row, "controller", "Controller", *std::move(rows));
  return absl::OkStatus();
}

absl::Status PrepareFailMode(const Invocation& invocation, const Schema& schema, Needs& needs) {
  needs.Add("Bridge", "fail_mode");
  return PrepareTopology(invocation, schema, needs);
}

absl::Status RunGetFailMode(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const std::string_view mode = context.transaction.Get("Bridge", (*bridge)->row, "fail_mode").StringOr("");
  if (!mode.empty()) context.output = fmt::format("{}\n", mode);
  return absl::OkStatus();
}

absl::Status RunDelFailMode(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetRealBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  context.transaction.Set("Bridge", (*bridge)->row, "fail_mode", {});
  return absl::OkStatus();
}

absl::Status RunSetFailMode(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetRealBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const std::string& mode = context.arg(2);
  if (mode != "standalone" && mode != "secure") {
    return InvalidArgument("fail-mode must be \"standalone\" or \"secure\"");
  }
  context.transaction.Set("Bridge", (*bridge)->row, "fail_mode", Datum::Scalar(mode));
  return absl::OkStatus();
}

absl::Status PrepareManager(const Invocation&, const Schema&, Needs& needs) {
  needs.Add("Open_vSwitch", "manager_options");
  needs.Add("Manager", "target");
  return absl::OkStatus();
}

absl::Status RunGetManager(Context& context) {
  context.output =
      TargetLines(context, "Manager", context.transaction.Get("Open_vSwitch", context.root, "manager_options"));
  return absl::OkStatus();
}

absl::Status RunDelManager(Context& context) {
  ReplaceReferences(context, "Open_vSwitch", context.root, "manager_options", "Manager", {});
  return absl::OkStatus();
}

absl::Status RunSetManager(Context& context) {
  absl::StatusOr<Datum> rows = InsertTargets(context, "Manager", 1);
  if (!rows.ok()) return rows.status();
  ReplaceReferences(context, "Open_vSwitch", context.root, "manager_options", "Manager", *std::move(rows));
  return absl::OkStatus();
}

absl::Status PrepareSsl(const Invocation&, const Schema&, Needs& needs) {
  needs.Add("Open_vSwitch", "ssl");
  needs.Add("SSL", {"private_key", "certificate", "ca_cert", "bootstrap_ca_cert"});
  return absl::OkStatus();
}

absl::Status RunGetSsl(Context& context) {
  const Datum& ssl = context.transaction.Get("Open_vSwitch", context.root, "ssl");
  if (ssl.empty()) return absl::OkStatus();
  const auto column = [&](std::string_view name) -> const Datum& {
    return context.transaction.Get("SSL", std::get<Uuid>(ssl.keys[0]), name);
  };
  context.output =
      fmt::format("Private key: {}\nCertificate: {}\nCA Certificate: {}\nBootstrap: {}\n",
                  column("private_key").StringOr(""), column("certificate").StringOr(""),
                  column("ca_cert").StringOr(""), column("bootstrap_ca_cert").BooleanOr(false) ? "true" : "false");
  return absl::OkStatus();
}

absl::Status RunDelSsl(Context& context) {
  ReplaceReferences(context, "Open_vSwitch", context.root, "ssl", "SSL", {});
  return absl::OkStatus();
}

absl::Status RunSetSsl(Context& context) {
  const Uuid row = context.transaction.Insert("SSL");
  context.transaction.Set("SSL", row, "private_key", Datum::Scalar(context.arg(1)));
  context.transaction.Set("SSL", row, "certificate", Datum::Scalar(context.arg(2)));
  context.transaction.Set("SSL", row, "ca_cert", Datum::Scalar(context.arg(3)));
  context.transaction.Set("SSL", row, "bootstrap_ca_cert", Datum::Scalar(context.invocation.Has("--bootstrap")));
  ReplaceReferences(context, "Open_vSwitch", context.root, "ssl", "SSL", Datum::Scalar(row));
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
