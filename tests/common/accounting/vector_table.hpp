// Reads an oracle table from tests/data/vectors: one header line, commas, quotes around fields that hold commas.
#pragma once

#include <cstdlib>

#include "tests/testing.hpp"

namespace dpreduce {

class VectorRow {
 public:
  VectorRow(std::string line, std::map<std::string, std::string> fields)
      : line_(std::move(line)), fields_(std::move(fields)) {}
  /// As it stands in the table.
  const std::string& line() const { return line_; }
  bool has(const std::string& column) const { return fields_.contains(column); }
  const std::string& text(const std::string& column) const { return fields_.at(column); }
  double number(const std::string& column) const { return std::strtod(text(column).c_str(), nullptr); }

 private:
  std::string line_;
  std::map<std::string, std::string> fields_;
};

inline std::vector<std::string> split_csv_line(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

inline std::vector<VectorRow> read_vectors(const std::string& name) {
  std::ifstream file(std::string(DPREDUCE_TEST_DATA) + "/vectors/" + name);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("no table " + name);
  const std::vector<std::string> columns = split_csv_line(line);
  std::vector<VectorRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split_csv_line(line);
    if (fields.size() != columns.size()) throw std::runtime_error(name + ": a row of another length: " + line);
    std::map<std::string, std::string> row;
    for (std::size_t column = 0; column < columns.size(); ++column) row[columns[column]] = fields[column];
    rows.emplace_back(line, std::move(row));
  }
  if (rows.empty()) throw std::runtime_error("an empty table: " + name);
  return rows;
}

/// Every row in turn; a failure names it.
template <typename Check>
void for_each_row(const std::string& table, const Check& check) {
  for (const VectorRow& row : read_vectors(table)) {
    SCOPED_TRACE(table + ": " + row.line());
    check(row);
  }
}

/// The first, the last, and one between: where what all of them hold to is tested already.
inline std::vector<VectorRow> read_few_vectors(const std::string& name) {
  const std::vector<VectorRow> rows = read_vectors(name);
  return {rows.front(), rows[rows.size() / 2], rows.back()};
}

/// |actual - expected| <= tolerance * |expected|
inline void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected));
}

}  // namespace dpreduce
