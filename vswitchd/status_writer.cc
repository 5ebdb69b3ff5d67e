#include "vswitchd/status_writer.h"

#include <fmt/format.h>

#include "lib/flow/mac_text.h"
#include "lib/io/version.h"
#include "vswitchd/config_reader.h"
#include "vswitchd/system_statistics.h"

namespace sluice {
namespace {

Datum Text(std::string text) { return Datum::Scalar(std::move(text)); }
Datum TextOrNone(std::string text) { return text.empty() ? Datum{} : Text(std::move(text)); }

template <typename Map>
Datum MapOf(const Map& pairs) {
  Datum datum;
  for (const auto& [key, value] : pairs) {
    datum.keys.emplace_back(key);
    datum.values.emplace_back(value);
  }
  datum.Normalize(true);
  return datum;
}

Datum SetOf(std::vector<std::string> texts) {
  Datum datum;
  for (std::string& text : texts) datum.keys.emplace_back(std::move(text));
  datum.Normalize(false);
  return datum;
}

// Sets columns of one row that have another value now.
class RowUpdate {
 public:
  RowUpdate(std::string_view table, const RowReader& row, TransactionBuilder& transaction)
      : table_(table), row_(row), transaction_(transaction) {}

  void Set(std::string_view column, Datum value) {
    if (row_.Column(column) != value) transaction_.Set(table_, row_.uuid(), column, std::move(value));
  }

 private:
  std::string_view table_;
  const RowReader& row_;
  TransactionBuilder& transaction_;
};

// Values of /etc/os-release, as ovs-ctl writes them into system_type and system_version.
std::pair<std::string, std::string> SystemName() {
  std::map<std::string, std::string> values = ReadKeyValueFile("/etc/os-release");
  return {values["ID"].empty() ? "unknown" : values["ID"],
          values["VERSION_ID"].empty() ? "unknown" : values["VERSION_ID"]};
}

}  // namespace

void ForEachInterface(const RowReader& root, const std::function<void(const RowReader& interface)>& visit) {
  for (const RowReader& bridge : root.References("bridges", "Bridge")) {
    for (const RowReader& port : bridge.References("ports", "Port")) {
      for (const RowReader& interface : port.References("interfaces", "Interface")) visit(interface);
    }
  }
}

void StatusWriter::WriteStatus(const RowReader& root, TransactionBuilder& transaction) {
  for (const RowReader& bridge : root.References("bridges", "Bridge")) WriteBridge(bridge, transaction);
  ForEachInterface(root, [&](const RowReader& row) { WriteInterface(row, transaction); });
}

void StatusWriter::WriteBridge(const RowReader& row, TransactionBuilder& transaction) {
  const BridgeStatus* status = switch_.bridge_status(row.String("name"));
  if (status == nullptr) return;
  RowUpdate update("Bridge", row, transaction);
  update.Set("datapath_id", Text(fmt::format("{:016x}", status->datapath_id)));
  update.Set("datapath_version", Text(fmt::format("sluice {}", kVersion)));
}

void StatusWriter::WriteInterface(const RowReader& row, TransactionBuilder& transaction) {
  const InterfaceStatus* status = switch_.interface_status(row.String("name"));
  if (status == nullptr) return;
  RowUpdate update("Interface", row, transaction);
  update.Set("ofport", Datum::Scalar(static_cast<int64_t>(status->ofport)));
  update.Set("error", TextOrNone(status->error));
  if (status->is_patch) {
    update.Set("admin_state", Text("up"));
    update.Set("link_state", Text("up"));
  } else if (status->ofport != -1 && status->device.present) {
    WriteDevice(row, *status, transaction);
  } else {
    for (std::string_view column : {"admin_state", "link_state", "link_speed", "duplex", "mac_in_use", "mtu", "ifindex",
                                    "link_resets", "status"}) {
      update.Set(column, {});
    }
  }
}

void StatusWriter::WriteDevice(const RowReader& row, const InterfaceStatus& status, TransactionBuilder& transaction) {
  RowUpdate update("Interface", row, transaction);
  const NetdevState& device = status.device;
  update.Set("admin_state", Text(device.admin_up ? "up" : "down"));
  update.Set("link_state", Text(device.carrier ? "up" : "down"));
  update.Set("mac_in_use", Text(FormatMac(device.mac)));
  update.Set("mtu", Datum::Scalar(static_cast<int64_t>(device.mtu)));
  update.Set("ifindex", Datum::Scalar(static_cast<int64_t>(device.ifindex)));
  update.Set("link_resets", Datum::Scalar(static_cast<int64_t>(device.link_resets)));
  update.Set("status", MapOf(status.status));
  LinkSpeed speed = device.ifindex != 0 ? query_.ReadSpeed(row.String("name")) : LinkSpeed{};
  update.Set("link_speed",
             speed.bits_per_second != 0 ? Datum::Scalar(static_cast<int64_t>(speed.bits_per_second)) : Datum{});
  update.Set("duplex", speed.bits_per_second != 0 ? Text(speed.full_duplex ? "full" : "half") : Datum{});
}

void StatusWriter::WriteStatistics(const RowReader& root, bool system, TransactionBuilder& transaction) {
  ForEachInterface(root, [&](const RowReader& row) {
    std::string name = row.String("name");
    const InterfaceStatus* status = switch_.interface_status(name);
    if (status == nullptr || status->ofport == -1) return;
    RowUpdate("Interface", row, transaction).Set("statistics", MapOf(switch_.interface_statistics(name).values));
  });
  for (const RowReader& bridge : root.References("bridges", "Bridge")) {
    for (const RowReader& mirror : bridge.References("mirrors", "Mirror")) {
      RowUpdate("Mirror", mirror, transaction)
          .Set("statistics", MapOf(switch_.mirror_statistics(bridge.String("name"), mirror.String("name"))));
    }
  }
  RowUpdate update("Open_vSwitch", root, transaction);
  update.Set("statistics", system ? MapOf(ReadSystemStatistics()) : Datum{});
}

void StatusWriter::WriteConstants(const RowReader& root, TransactionBuilder& transaction) {
  RowUpdate update("Open_vSwitch", root, transaction);
  update.Set("ovs_version", Text(std::string(kVersion)));
  update.Set("db_version", Text(client_.schema()->version));
  if (root.Column("system_type").empty() || root.Column("system_version").empty()) {
    auto [type, version] = SystemName();
    if (root.Column("system_type").empty()) update.Set("system_type", Text(type));
    if (root.Column("system_version").empty()) update.Set("system_version", Text(version));
  }
  update.Set("iface_types", SetOf(Switch::InterfaceTypes()));
  update.Set("datapath_types", SetOf({"netdev", "system"}));
  update.Set("dpdk_initialized", Datum::Scalar(false));
}

}  // namespace sluice
