#include "vswitchd/openflow_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/log.h"
#include "lib/io/stream.h"
#include "lib/openflow/field.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

// `column` in milliseconds; what is less than `min` but not zero is `min`.
std::chrono::milliseconds ReadMilliseconds(const RowReader& row, std::string_view column, int64_t fallback,
                                           int64_t min) {
  const int64_t value = row.Integer(column).value_or(fallback);
  return std::chrono::milliseconds(value <= 0 ? 0 : std::clamp<int64_t>(value, min, INT32_MAX));
}

ControllerConfig ReadController(const RowReader& row) {
  constexpr int64_t kMinBackoff = 1000, kMinProbe = 1;
  ControllerConfig config{.target = row.String("target"), .in_band = row.String("connection_mode") != "out-of-band"};
  config.max_backoff = ReadMilliseconds(row, "max_backoff", 8000, kMinBackoff);
  config.inactivity_probe = ReadMilliseconds(row, "inactivity_probe", 5000, kMinProbe);
  const Datum& async = row.Column("enable_async_messages");
  config.enable_async_messages = async.empty() || async.BooleanOr(true);
  config.rate_limit = static_cast<uint32_t>(std::clamp<int64_t>(row.Integer("controller_rate_limit").value_or(0), 0, INT32_MAX));
  config.burst_limit =
      static_cast<uint32_t>(std::clamp<int64_t>(row.Integer("controller_burst_limit").value_or(0), 0, INT32_MAX));
  return config;
}

std::vector<std::string> ReadTexts(const Datum& datum) {
  std::vector<std::string> texts;
  for (const Atom& atom : datum.keys) {
    if (const auto* text = std::get_if<std::string>(&atom)) texts.push_back(*text);
  }
  return texts;
}

FlowTableRow ReadFlowTable(const RowReader& row, std::string_view owner) {
  FlowTableRow table{.name = row.String("name"), .evict = row.String("overflow_policy") == "evict"};
  if (auto limit = row.Integer("flow_limit")) table.flow_limit = static_cast<uint32_t>(std::min<int64_t>(*limit, UINT32_MAX));
  for (const std::string& group : ReadTexts(row.Column("groups"))) {
    if (absl::StatusOr<Subfield> field = ParseSubfield(group); field.ok()) {
      table.groups.push_back(group);
    } else {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: groups: {}; left out", owner, Message(field.status()));
    }
  }
  table.has_prefixes = !row.Column("prefixes").empty();
  for (const std::string& prefix : ReadTexts(row.Column("prefixes"))) {
    if (FindField(prefix) != nullptr) {
      table.prefixes.push_back(prefix);
    } else if (prefix != "none") {
      SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: prefixes: \"{}\" is no field; left out", owner, prefix);
    }
  }
  return table;
}

}  // namespace

std::vector<RowReader> ControllerRows(const RowReader& bridge) {
  std::vector<RowReader> rows = bridge.References("controller", "Controller");
  std::erase_if(rows, [&bridge](const RowReader& row) {
    absl::Status status = CheckStreamTarget(row.String("target"));
    if (status.ok()) return false;
    SLUICE_LOG_RATE_LIMITED(log_module, kErr, 60, "bridge {}: controller: {}", bridge.String("name"), Message(status));
    return true;
  });
  std::sort(rows.begin(), rows.end(),
            [](const RowReader& a, const RowReader& b) { return a.String("target") < b.String("target"); });
  return rows;
}

std::vector<ControllerConfig> ReadControllers(const RowReader& bridge) {
  std::vector<ControllerConfig> controllers;
  for (const RowReader& row : ControllerRows(bridge)) controllers.push_back(ReadController(row));
  return controllers;
}

OfVersions ReadProtocols(const RowReader& bridge) {
  OfVersions versions = 0;
  for (const std::string& name : ReadTexts(bridge.Column("protocols"))) {
    if (auto version = ParseOfVersion(name)) versions |= VersionBit(*version);
  }
  return versions != 0 ? versions : kAllOfVersions;
}

std::map<uint8_t, FlowTableRow> ReadFlowTables(const RowReader& bridge) {
  std::map<uint8_t, FlowTableRow> tables;
  for (const auto& [number, row] : bridge.NumberedReferences("flow_tables", "Flow_Table")) {
    if (number < 0 || number > kMaxTable) continue;
    const std::string owner = fmt::format("bridge {}: flow table {}", bridge.String("name"), number);
    tables.emplace(static_cast<uint8_t>(number), ReadFlowTable(row, owner));
  }
  return tables;
}

}  // namespace sluice
