// add-br, del-br, list-br, br-exists, br-to-vlan, br-to-parent, br-set-external-id, br-get-external-id.
#include <absl/strings/numbers.h>

#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {
namespace {

constexpr int kNoSuchBridge = 2;  // br-exists's exit code
constexpr std::string_view kFakeBridgePrefix = "fake-bridge-";

absl::StatusOr<int64_t> ParseVlan(const std::string& command, const std::string& text) {
  int64_t vlan = 0;
  if (!absl::SimpleAtoi(text, &vlan) || vlan < 0 || vlan > 4095) {
    return InvalidArgument("{}: vlan must be between 0 and 4095", command);
  }
  return vlan;
}

// --may-exist: whether the bridge that is there is the one asked for.
absl::Status CheckExisting(const Context& context, const Bridge& bridge, int64_t vlan) {
  const std::string said = context.invocation.ToString();
  if (context.argc() == 2) {
    if (!bridge.is_fake()) return absl::OkStatus();
    return InvalidArgument("\"{}\" but {} is a VLAN bridge for VLAN {}", said, bridge.name, bridge.vlan);
  }
  if (!bridge.is_fake()) return InvalidArgument("\"{}\" but {} is not a VLAN bridge", said, bridge.name);
  if (bridge.parent->name != context.arg(2)) {
    return InvalidArgument("\"{}\" but {} has the wrong parent {}", said, bridge.name, bridge.parent->name);
  }
  if (bridge.vlan != vlan) {
    return InvalidArgument("\"{}\" but {} is a VLAN bridge for the wrong VLAN {}", said, bridge.name, bridge.vlan);
  }
  return absl::OkStatus();
}

absl::Status AddFakeBridge(Context& context, int64_t vlan) {
  Bridge* parent = context.topology.FindBridge(context.arg(2));
  if (parent == nullptr) return NotFound("parent bridge {} does not exist", context.arg(2));
  if (parent->is_fake()) return InvalidArgument("cannot create bridge with fake bridge as parent");
  if (const auto child = parent->children.find(vlan); child != parent->children.end()) {
    return AlreadyExists("bridge {} already has a child VLAN bridge {} on VLAN {}", parent->name, child->second->name,
                         vlan);
  }
  context.topology.AddFakeBridge(context.arg(1), *parent, vlan, context.new_interfaces);
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareTopology(const Invocation&, const Schema&, Needs& needs) {
  needs.Add("Open_vSwitch", "bridges");
  needs.Add("Bridge", {"name", "ports"});
  needs.Add("Port", {"name", "interfaces", "tag", "fake_bridge"});
  needs.Add("Interface", "name");
  return absl::OkStatus();
}

absl::Status RunAddBr(Context& context) {
  const std::string& name = context.arg(1);
  if (name.empty()) return InvalidArgument("bridge name must not be empty string");
  if (context.argc() == 3) return InvalidArgument("'{}' command takes exactly 1 or 3 arguments", context.arg(0));
  int64_t vlan = 0;
  if (context.argc() == 4) {
    const absl::StatusOr<int64_t> parsed = ParseVlan(context.arg(0), context.arg(3));
    if (!parsed.ok()) return parsed.status();
    vlan = *parsed;
  }
  const Bridge* existing = context.topology.FindBridge(name);
  if (existing != nullptr && context.invocation.Has("--may-exist")) return CheckExisting(context, *existing, vlan);
  SLUICE_RETURN_IF_ERROR(context.topology.CheckFree(name, fmt::format("cannot create a bridge named {}", name)));
  if (context.argc() == 4) return AddFakeBridge(context, vlan);
  context.topology.AddBridge(name, context.new_interfaces);
  return absl::OkStatus();
}

absl::Status RunDelBr(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (bridge.ok()) {
    context.topology.DeleteBridge(**bridge);
    return absl::OkStatus();
  }
  return context.invocation.Has("--if-exists") ? absl::OkStatus() : bridge.status();
}

absl::Status RunListBr(Context& context) {
  bool real = context.invocation.Has("--real");
  bool fake = context.invocation.Has("--fake");
  if (!real && !fake) real = fake = true;
  for (const auto& [name, bridge] : context.topology.bridges()) {
    if (bridge->is_fake() ? fake : real) context.output += name + '\n';
  }
  return absl::OkStatus();
}

absl::Status RunBrExists(Context& context) {
  if (context.topology.FindBridge(context.arg(1)) == nullptr) context.exit_code = kNoSuchBridge;
  return absl::OkStatus();
}

absl::Status RunBrToVlan(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  context.output = fmt::format("{}\n", (*bridge)->vlan);
  return absl::OkStatus();
}

absl::Status RunBrToParent(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  context.output = ((*bridge)->is_fake() ? (*bridge)->parent->name : (*bridge)->name) + '\n';
  return absl::OkStatus();
}

// Where a bridge's external IDs are: those of a fake bridge are in its Port, with a prefix.
namespace {
struct ExternalIds {
  std::string_view table;
  Uuid row;
  std::string_view prefix;
};

ExternalIds ExternalIdsOf(const Bridge& bridge) {
  if (bridge.is_fake()) return {"Port", bridge.fake_port, kFakeBridgePrefix};
  return {"Bridge", bridge.row, ""};
}
}  // namespace

absl::Status PrepareBrExternalId(const Invocation& invocation, const Schema& schema, Needs& needs) {
  needs.Add("Bridge", "external_ids");
  needs.Add("Port", "external_ids");
  return PrepareTopology(invocation, schema, needs);
}

absl::Status RunBrSetExternalId(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const ExternalIds where = ExternalIdsOf(**bridge);
  Datum ids = context.transaction.Get(where.table, where.row, "external_ids");
  const Atom key = fmt::format("{}{}", where.prefix, context.arg(2));
  if (const size_t index = ids.Find(key); index != Datum::npos) {
    ids.keys.erase(ids.keys.begin() + static_cast<std::ptrdiff_t>(index));
    ids.values.erase(ids.values.begin() + static_cast<std::ptrdiff_t>(index));
  }
  if (context.argc() > 3) {
    ids.keys.push_back(key);
    ids.values.emplace_back(context.arg(3));
    ids.Normalize(true);
  }
  context.transaction.Verify(where.table, where.row, "external_ids");
  context.transaction.Set(where.table, where.row, "external_ids", std::move(ids));
  return absl::OkStatus();
}

absl::Status RunBrGetExternalId(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const ExternalIds where = ExternalIdsOf(**bridge);
  const Datum& ids = context.transaction.Get(where.table, where.row, "external_ids");
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string whole = AtomToBareText(ids.keys[i]);
    if (!whole.starts_with(where.prefix)) continue;
    const std::string key = whole.substr(where.prefix.size());
    const std::string value = AtomToBareText(ids.values[i]);
    if (context.argc() == 2) {
      context.output += fmt::format("{}={}\n", key, value);
    } else if (key == context.arg(2)) {
      context.output = value + '\n';
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
