// The tables that list and find print, in the formats of ovs-vsctl(8) "Table Formatting Options".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/ovsdb/schema.h"

namespace sluice::vsctl {

struct TableStyle {
  enum class Format : uint8_t { kTable, kList, kHtml, kCsv, kJson };
  enum class Data : uint8_t { kString, kBare, kJson };

  Format format = Format::kList;
  Data data = Data::kString;
  bool headings = true;
  bool pretty = false;          // of JSON
  size_t max_column_width = 0;  // columns of the terminal, of kTable; 0 for no limit

  absl::Status SetFormat(std::string_view name);
  absl::Status SetData(std::string_view name);
};

class Table {
 public:
  // `columns`: outlive the table; nullptr is the column _uuid.
  explicit Table(std::vector<const ColumnSchema*> columns) : columns_(std::move(columns)) {}

  const std::vector<const ColumnSchema*>& columns() const { return columns_; }
  void AddRow(std::vector<Datum> cells) { rows_.push_back(std::move(cells)); }

  // `first`: no table was printed before this one.
  std::string Format(const TableStyle& style, bool first) const;

 private:
  std::string Cell(const Datum& datum, const ColumnSchema* column, TableStyle::Data data) const;
  std::vector<std::string> Headings() const;
  std::vector<std::vector<std::string>> Cells(TableStyle::Data data) const;
  std::string FormatTable(const TableStyle& style) const;
  std::string FormatList(const TableStyle& style) const;
  std::string FormatHtml(const TableStyle& style) const;
  std::string FormatCsv(const TableStyle& style) const;
  std::string FormatJson(const TableStyle& style) const;

  std::vector<const ColumnSchema*> columns_;
  std::vector<std::vector<Datum>> rows_;
};

// A value as get and show print it.
std::string ValueText(const Datum& datum, const ColumnType& type);

}  // namespace sluice::vsctl
