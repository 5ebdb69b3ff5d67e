#include "vswitchd/row_reader.h"

#include <charconv>

#include "lib/base/log.h"

namespace sluice {
namespace {

LogModule log_module("bridge");

}  // namespace

std::optional<int64_t> RowReader::Integer(std::string_view column) const {
  const Datum& datum = Column(column);
  if (datum.empty()) return std::nullopt;
  return datum.IntegerOr(0);
}

int64_t RowReader::FindInteger(std::string_view column, std::string_view key, int64_t fallback, int64_t min,
                               int64_t max, std::string_view owner) const {
  const std::string* text = Find(column, key);
  if (text == nullptr) return fallback;
  int64_t value = 0;
  const char* end = text->data() + text->size();
  auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error == std::errc() && stop == end && value >= min && value <= max) return value;
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: {}:{} is \"{}\": expected a number from {} to {}; using {}",
                          owner, column, key, *text, min, max, fallback);
  return fallback;
}

bool RowReader::FindBoolean(std::string_view column, std::string_view key, bool fallback,
                            std::string_view owner) const {
  const std::string* text = Find(column, key);
  if (text == nullptr) return fallback;
  if (*text == "true" || *text == "false") return *text == "true";
  SLUICE_LOG_RATE_LIMITED(log_module, kWarn, 60, "{}: {}:{} is \"{}\": expected true or false; using {}", owner, column,
                          key, *text, fallback);
  return fallback;
}

std::vector<RowReader> RowReader::References(std::string_view column, std::string_view table) const {
  std::vector<RowReader> rows;
  const Datum& references = Column(column);
  rows.reserve(references.size());
  for (const Atom& atom : references.keys) {
    const Uuid* uuid = std::get_if<Uuid>(&atom);
    if (uuid == nullptr) continue;
    if (const Row* row = client_->FindRow(table, *uuid)) rows.emplace_back(*client_, table, *row);
  }
  return rows;
}

std::optional<RowReader> FindRoot(const OvsdbClient& client) {
  const Database::Table& rows = client.rows("Open_vSwitch");
  if (rows.empty()) return std::nullopt;
  return RowReader(client, "Open_vSwitch", *rows.begin()->second);
}

}  // namespace sluice
