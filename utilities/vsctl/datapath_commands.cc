// Auto-Attach mappings, conntrack zones' timeout policies and a datapath's capabilities.
#include <absl/strings/numbers.h>

#include "utilities/vsctl/commands.h"

namespace sluice::vsctl {
namespace {

constexpr int64_t kMaxZone = 65535;

absl::StatusOr<int64_t> ParseNumber(const std::string& text, int64_t max, std::string_view what) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) return InvalidArgument("Invalid argument {}", text);
  if (number < 0 || number > max) {
    return InvalidArgument("Invalid argument {}: {} is between 0 and {}", text, what, max);
  }
  return number;
}

struct Mapping {
  Uuid bridge;
  int64_t isid = 0;
  int64_t vlan = 0;
};

absl::StatusOr<Mapping> ParseMapping(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const absl::StatusOr<int64_t> isid = ParseNumber(context.arg(2), 0xffffff, "an I-SID");
  if (!isid.ok()) return isid.status();
  const absl::StatusOr<int64_t> vlan = ParseNumber(context.arg(3), 4095, "a VLAN");
  if (!vlan.ok()) return vlan.status();
  return Mapping{(*bridge)->row, *isid, *vlan};
}

void SetMappings(Context& context, const Uuid& row, Datum mappings) {
  context.transaction.Verify("AutoAttach", row, "mappings");
  context.transaction.Set("AutoAttach", row, "mappings", std::move(mappings));
}

void Erase(Datum& map, size_t index) {
  map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(index));
  map.values.erase(map.values.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace

absl::Status PrepareAaMapping(const Invocation& invocation, const Schema& schema, Needs& needs) {
  needs.Add("Bridge", "auto_attach");
  needs.Add("AutoAttach", "mappings");
  return PrepareTopology(invocation, schema, needs);
}

absl::Status RunAddAaMapping(Context& context) {
  const absl::StatusOr<Mapping> mapping = ParseMapping(context);
  if (!mapping.ok()) return mapping.status();
  Transaction& transaction = context.transaction;
  const Datum attached = transaction.Get("Bridge", mapping->bridge, "auto_attach");
  Uuid row;
  if (attached.empty()) {
    row = transaction.Insert("AutoAttach");
    transaction.Verify("Bridge", mapping->bridge, "auto_attach");
    transaction.Set("Bridge", mapping->bridge, "auto_attach", Datum::Scalar(row));
  } else {
    row = std::get<Uuid>(attached.keys[0]);
  }
  Datum mappings = transaction.Get("AutoAttach", row, "mappings");
  if (const size_t index = mappings.Find(mapping->isid); index != Datum::npos) {
    mappings.values[index] = mapping->vlan;
  } else {
    mappings.keys.emplace_back(mapping->isid);
    mappings.values.emplace_back(mapping->vlan);
    mappings.Normalize(true);
  }
  SetMappings(context, row, std::move(mappings));
  return absl::OkStatus();
}

absl::Status RunDelAaMapping(Context& context) {
  const absl::StatusOr<Mapping> mapping = ParseMapping(context);
  if (!mapping.ok()) return mapping.status();
  const Datum& attached = context.transaction.Get("Bridge", mapping->bridge, "auto_attach");
  if (attached.empty()) return absl::OkStatus();
  const Uuid row = std::get<Uuid>(attached.keys[0]);
  Datum mappings = context.transaction.Get("AutoAttach", row, "mappings");
  const size_t index = mappings.Find(mapping->isid);
  if (index == Datum::npos || mappings.values[index] != Atom(mapping->vlan)) return absl::OkStatus();
  Erase(mappings, index);
  SetMappings(context, row, std::move(mappings));
  return absl::OkStatus();
}

absl::Status RunGetAaMapping(Context& context) {
  const absl::StatusOr<Bridge*> bridge = context.topology.GetBridge(context.arg(1));
  if (!bridge.ok()) return bridge.status();
  const Datum& attached = context.transaction.Get("Bridge", (*bridge)->row, "auto_attach");
  if (attached.empty()) return absl::OkStatus();
  const Datum& mappings = context.transaction.Get("AutoAttach", std::get<Uuid>(attached.keys[0]), "mappings");
  for (size_t i = 0; i < mappings.size(); ++i) {
    context.output +=
        fmt::format("{} {}\n", std::get<int64_t>(mappings.keys[i]), std::get<int64_t>(mappings.values[i]));
  }
  return absl::OkStatus();
}

absl::Status PrepareDatapath(const Invocation&, const Schema&, Needs& needs) {
  needs.Add("Open_vSwitch", "datapaths");
  needs.Add("Datapath", {"ct_zones", "capabilities"});
  needs.Add("CT_Zone", "timeout_policy");
  needs.Add("CT_Timeout_Policy", "timeouts");
  return absl::OkStatus();
}

namespace {

std::optional<Uuid> FindDatapath(Context& context, const std::string& type) {
  const Datum& datapaths = context.transaction.Get("Open_vSwitch", context.root, "datapaths");
  const size_t index = datapaths.Find(type);
  if (index == Datum::npos) return std::nullopt;
  return std::get<Uuid>(datapaths.values[index]);
}

struct Zone {
  Uuid datapath;
  int64_t id = 0;
  Datum zones;
  size_t index = Datum::npos;  // in `zones`
};

absl::StatusOr<Zone> ParseZone(Context& context) {
  const std::optional<Uuid> datapath = FindDatapath(context, context.arg(1));
  if (!datapath) return NotFound("datapath {} does not exist", context.arg(1));
  const std::string_view text = context.arg(2);
  constexpr std::string_view kPrefix = "zone=";
  Zone zone{.datapath = *datapath};
  const std::string_view number = text.substr(text.starts_with(kPrefix) ? kPrefix.size() : text.size());
  if (!absl::SimpleAtoi({number.data(), number.size()}, &zone.id) || zone.id < 0 || zone.id > kMaxZone) {
    return InvalidArgument("{}: expected zone=ZONE-ID, a number from 0 to {}", text, kMaxZone);
  }
  zone.zones = context.transaction.Get("Datapath", *datapath, "ct_zones");
  zone.index = zone.zones.Find(zone.id);
  return zone;
}

absl::StatusOr<Datum> ParseTimeouts(Context& context) {
  const TableSchema& table = context.transaction.schema().tables.at("CT_Timeout_Policy");
  const ColumnType& type = table.columns[table.FindColumn("timeouts")].type;
  Datum timeouts;
  for (size_t i = 3; i < context.argc(); ++i) {
    const absl::StatusOr<Datum> one = ParseDatum(context.arg(i), type, context.symbols);
    if (!one.ok()) return one.status();
    timeouts.keys.insert(timeouts.keys.end(), one->keys.begin(), one->keys.end());
    timeouts.values.insert(timeouts.values.end(), one->values.begin(), one->values.end());
  }
  if (timeouts.Normalize(true)) return InvalidArgument("{}: a policy is given twice", context.invocation.ToString());
  return timeouts;
}

}  // namespace

absl::Status RunAddZoneTp(Context& context) {
  absl::StatusOr<Zone> zone = ParseZone(context);
  if (!zone.ok()) return zone.status();
  if (zone->index != Datum::npos) {
    if (context.invocation.Has("--may-exist")) return absl::OkStatus();
    return AlreadyExists("zone id {} already exists", zone->id);
  }
  absl::StatusOr<Datum> timeouts = ParseTimeouts(context);
  if (!timeouts.ok()) return timeouts.status();
  Transaction& transaction = context.transaction;
  const Uuid policy = transaction.Insert("CT_Timeout_Policy");
  transaction.Set("CT_Timeout_Policy", policy, "timeouts", *std::move(timeouts));
  const Uuid row = transaction.Insert("CT_Zone");
  transaction.Set("CT_Zone", row, "timeout_policy", Datum::Scalar(policy));
  zone->zones.keys.emplace_back(zone->id);
  zone->zones.values.emplace_back(row);
  zone->zones.Normalize(true);
  transaction.Verify("Datapath", zone->datapath, "ct_zones");
  transaction.Set("Datapath", zone->datapath, "ct_zones", std::move(zone->zones));
  return absl::OkStatus();
}

absl::Status RunDelZoneTp(Context& context) {
  absl::StatusOr<Zone> zone = ParseZone(context);
  if (!zone.ok()) return zone.status();
  if (zone->index == Datum::npos) {
    if (context.invocation.Has("--if-exists")) return absl::OkStatus();
    return NotFound("zone id {} does not exist", zone->id);
  }
  Erase(zone->zones, zone->index);
  context.transaction.Verify("Datapath", zone->datapath, "ct_zones");
  context.transaction.Set("Datapath", zone->datapath, "ct_zones", std::move(zone->zones));
  return absl::OkStatus();
}

absl::Status RunListZoneTp(Context& context) {
  const std::optional<Uuid> datapath = FindDatapath(context, context.arg(1));
  if (!datapath) return NotFound("datapath: {} record not found", context.arg(1));
  const Datum& zones = context.transaction.Get("Datapath", *datapath, "ct_zones");
  for (size_t i = 0; i < zones.size(); ++i) {
    context.output += fmt::format("Zone:{}, Timeout Policies:", std::get<int64_t>(zones.keys[i]));
    const Datum& policy = context.transaction.Get("CT_Zone", std::get<Uuid>(zones.values[i]), "timeout_policy");
    if (policy.empty()) {
      context.output += " system default\n";
      continue;
    }
    const Datum& timeouts = context.transaction.Get("CT_Timeout_Policy", std::get<Uuid>(policy.keys[0]), "timeouts");
    for (size_t j = 0; j < timeouts.size(); ++j) {
      context.output += fmt::format(" {}={}", AtomToBareText(timeouts.keys[j]), AtomToBareText(timeouts.values[j]));
    }
    context.output += '\n';
  }
  return absl::OkStatus();
}

absl::Status RunListDpCap(Context& context) {
  const std::optional<Uuid> datapath = FindDatapath(context, context.arg(1));
  if (!datapath) return NotFound("datapath \"{}\" record not found", context.arg(1));
  const Datum& capabilities = context.transaction.Get("Datapath", *datapath, "capabilities");
  for (size_t i = 0; i < capabilities.size(); ++i) {
    context.output += fmt::format("{}{}={}", i > 0 ? " " : "", AtomToBareText(capabilities.keys[i]),
                                  AtomToBareText(capabilities.values[i]));
  }
  context.output += '\n';
  return absl::OkStatus();
}

}  // namespace sluice::vsctl
