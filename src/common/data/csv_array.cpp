// Tables as text: CSV.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/data/array_formats.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLongestName = 1024;  // bytes: a class name is shorter

// The number of a cell; of an empty one NaN, of one beyond a double an infinity or 0.
std::optional<double> number_or_nan(std::string_view cell) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (const std::optional<double> number = number_of(cell)) return number;
  const auto beyond = plain_number<long double>(cell.substr(cell.starts_with('+') ? 1 : 0));
  return beyond ? std::optional(static_cast<double>(*beyond)) : std::nullopt;
}

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// Reads a table cell by cell.
class CsvReader {
 public:
  CsvReader(std::span<const std::byte> text, const ArrayPath& path)
      : text_(reinterpret_cast<const char*>(text.data()), text.size()), path_(path.file) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    if (!path.dataset.empty()) choose(path.dataset);
  }

  // The cells of the next line; false after the last, behind which there may be empty ones. Quotes around a cell are
  // taken off.
  bool next(std::vector<std::string_view>& cells) {
    cells.clear();
    std::string_view line;
    for (bool was_empty = false; line.empty(); was_empty = true) {
      if (text_.empty()) return false;
      const bool has_more = text_.find_first_not_of(" \t\r\n") != std::string_view::npos;
      if (was_empty && has_more) refuse("is empty; leave it out, or write what is missing");
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      line = without_space(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
    }
    if (line.find('\0') != std::string_view::npos) refuse("has a zero byte; write the table as UTF-8 text");
    split(line, cells);
    if (columns_ == 0) columns_ = cells.size();
    if (cells.size() != columns_ && line.find_first_of(";\t") != std::string_view::npos) {
      refuse("has cells between semicolons or tabs; write commas between cells, and numbers with points");
    }
    if (columns_ == 1 && cells.size() == 2) refuse_comma(cells);
    if (cells.size() != columns_) {
      refuse(fmt::format("has {} cells where the first line has {}; write it again", cells.size(), columns_));
    }
    if (chosen_.empty()) return true;
    const std::vector<std::string_view> all = cells;
    cells.clear();
    for (const std::size_t place : chosen_) cells.push_back(all[place]);
    return true;
  }

  std::size_t columns() const { return chosen_.empty() ? columns_ : chosen_.size(); }

  // Names of the columns that are read, where the first line was taken for one.
  const std::vector<std::string>& names() const { return names_; }
  // Refuses a first line of the names that pandas gives to columns without any: they are numbers, and would be a row.
  void refuse_counted_names(std::span<const std::string_view> cells) const {
    constexpr std::size_t kFewest = 3;  // 0,1 is a row of many tables
    const bool has_index = cells.size() > kFewest && cells.front().empty();
    const std::span<const std::string_view> names = cells.subspan(has_index ? 1 : 0);
    for (std::size_t column = 0; column < names.size(); ++column) {
      if (names[column] != std::to_string(column)) return;
    }
    if (names.size() < kFewest) return;
    if (has_index) refuse_index();
    refuse(
        "counts 0, 1, 2, ..., as pandas names columns without names; leave it out: to_csv(..., header=False); if it is "
        "a row, write a line of names above it");
  }
  [[noreturn]] void refuse_index() const {
    refuse("has no name for the first column, which looks like an index; leave it out: to_csv(..., index=False)");
  }
  // The first line of a table whose cells are no numbers.
  void take_names(const std::vector<std::string_view>& cells) {
    if (cells.size() > 1 && std::ranges::adjacent_find(cells, std::ranges::not_equal_to()) == cells.end()) {
      refuse("has the same in every cell, as a row without values does; begin with a line of names, or leave it out");
    }
    names_.assign(cells.begin(), cells.end());
  }
  // Throws BadInput: names are in models and in messages.
  void require_text_names() const {
    if (std::ranges::all_of(names_, [](const std::string& name) { return is_utf8(name); })) return;
    throw BadInput("{}: a name of a column is not UTF-8 text; write the table as UTF-8", path_);
  }

  // The cells of the line that was read last may be one number.
  [[noreturn]] void refuse_comma(const std::vector<std::string_view>& cells) const {
    const std::string number = fmt::format("{},{}", cells[0], cells[1]);
    refuse(
        fmt::format("has {}, two cells, or one number with a decimal comma; write {}.{}, or name both columns in a "
                    "first line",
                    in_quotes(number), cells[0], cells[1]));
  }

  // About the line that was read last.
  [[noreturn]] void refuse(const std::string& fault) const {
    throw BadInput("{}: line {} {}{}", path_, line_, fault, kForOwnerOnly);
  }

 private:
  static void split(std::string_view line, std::vector<std::string_view>& cells) {
    while (true) {
      const std::size_t comma = line.starts_with('"') ? line.find(',', line.find('"', 1)) : line.find(',');
      std::string_view cell = without_space(line.substr(0, comma));
      if (cell.size() >= 2 && cell.starts_with('"') && cell.ends_with('"')) cell = cell.substr(1, cell.size() - 2);
      cells.push_back(cell);
      if (comma == std::string_view::npos) return;
      line = without_space(line.substr(comma + 1));
    }
  }

  // Reads the line of names, and keeps the columns that are listed, or all but those behind a "-".
  void choose(std::string_view list) {
    std::vector<std::string_view> cells;
    next(cells);
    const bool is_of_others = list.starts_with('-');
    std::vector<std::string_view> listed;
    split(list.substr(is_of_others ? 1 : 0), listed);
    std::vector<std::size_t> places;
    for (const std::string_view name : listed) {
      places.push_back(place_of(name, cells));
      if (std::ranges::count(places, places.back()) == 1) continue;
      throw BadInput("{}: the path lists column {} twice; list it once", path_, in_quotes(name));
    }
    if (!is_of_others) chosen_ = places;
    for (std::size_t place = 0; is_of_others && place < cells.size(); ++place) {
      if (std::ranges::find(places, place) == places.end()) chosen_.push_back(place);
    }
    if (chosen_.empty()) refuse(fmt::format("names no column but those that {} leaves out", in_quotes(list)));
    for (const std::size_t place : chosen_) names_.emplace_back(cells[place]);
  }

  std::size_t place_of(std::string_view name, const std::vector<std::string_view>& cells) const {
    const auto found = std::ranges::find(cells, name);
    const bool is_there = found != cells.end();
    if (is_there && std::find(found + 1, cells.end(), name) == cells.end()) {
      return static_cast<std::size_t>(found - cells.begin());
    }
    refuse(fmt::format("names {} column {}, but {}", is_there ? "more than one" : "no", in_quotes(name),
                       in_quotes(fmt::format("{}", fmt::join(cells, ", ")))));
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t line_ = 0;
  std::size_t columns_ = 0;
  std::vector<std::size_t> chosen_;  // places of the columns that are read; empty: all are
  std::vector<std::string> names_;
};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Refuses lines of two whole numbers without a line of names where one number a row is usual: each may be one.
void refuse_decimal_commas(std::span<const std::byte> text, const ArrayPath& path) {
  if (!path.dataset.empty()) return;
  CsvReader reader(text, path);
  std::vector<std::string_view> last;
  for (std::vector<std::string_view> cells; reader.next(cells); last = cells) {
    if (cells.size() != 2) return;
    const std::size_t sign = cells[0].starts_with('-') || cells[0].starts_with('+') ? 1 : 0;
    if (!is_digits(cells[0].substr(sign)) || !is_digits(cells[1])) return;
  }
  if (!last.empty()) reader.refuse_comma(last);
}

// All rows of the table as numbers, row-major; nothing if a row has a cell that is not a number, and `cell` is then
// that cell.
template <typename Number, typename Read>
std::vector<Number> numbers_of(CsvReader& reader, const Read& read, std::string& bad_cell) {
  std::vector<Number> numbers;
  std::vector<std::string_view> cells;
  for (bool is_first = reader.names().empty(); reader.next(cells); is_first = false) {
    if (is_first) reader.refuse_counted_names(cells);
    const std::size_t before = numbers.size();
    for (const std::string_view cell : cells) {
      if (const auto number = read(cell)) {
        numbers.push_back(static_cast<Number>(*number));
        continue;
      }
      // A line of names has no number; one that has some, as 1.0 among integers, is a row, which must not be lost.
      const bool has_numbers =
          std::ranges::any_of(cells, [](std::string_view one) { return !one.empty() && number_or_nan(one); });
      if (!is_first || has_numbers) {
        bad_cell = cell;
        return {};
      }
      if (cells.size() > 1 && cells.front().empty()) reader.refuse_index();
      numbers.resize(before);
      reader.take_names(cells);
      break;
    }
  }
  return numbers;
}

std::unique_ptr<ArrayFile> held(std::vector<std::byte> bytes, DType dtype, std::size_t element_bytes,
                                const CsvReader& reader, const ArrayPath& path) {
  if (bytes.empty()) throw BadInput(path.file + ": has no row; write it again");
  const std::size_t columns = reader.columns();
  const std::uint64_t rows = bytes.size() / (columns * element_bytes);
  const std::string name = path.dataset.empty() ? path.file : path.file + ":" + path.dataset;
  return open_elements({.unpacked = std::move(bytes), .is_packed = true}, name, path.file,
                       {.dtype = dtype,
                        .byte_order = kNativeByteOrder,
                        .element_bytes = element_bytes,
                        .shape = {rows, columns},
                        .is_text = true},
                       reader.names());
}

template <typename Number>
std::unique_ptr<ArrayFile> held(const std::vector<Number>& numbers, const CsvReader& reader, const ArrayPath& path) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return held({bytes.begin(), bytes.end()}, dtype_of<Number>(), sizeof(Number), reader, path);
}

std::unique_ptr<ArrayFile> held_strings(std::span<const std::byte> text, const ArrayPath& path) {
  std::vector<std::string_view> cells;
  std::size_t longest = 1;
  std::size_t rows = 0;
  for (CsvReader reader(text, path); reader.next(cells); ++rows) {
    if (cells.size() > 1) {
      reader.refuse(fmt::format("has {} cells; name the column to read, as in {}:label", cells.size(), path.file));
    }
    if (cells.front().size() > kLongestName) {
      reader.refuse(fmt::format("has a name of more than {} bytes", kLongestName));
    }
    longest = std::max(longest, cells.front().size());
  }
  std::vector<std::byte> strings(rows * longest);
  CsvReader reader(text, path);
  for (std::size_t row = 0; reader.next(cells); ++row) {
    std::memcpy(strings.data() + row * longest, cells.front().data(), cells.front().size());
  }
  return held(std::move(strings), DType::kBytes, longest, reader, path);
}

// Labels in several columns are zeros and ones; a table of an identifier and a label is not.
void require_zeros_and_ones(const std::vector<std::int64_t>& labels, const CsvReader& reader, const ArrayPath& path) {
  if (reader.columns() == 1 || std::ranges::all_of(labels, [](std::int64_t one) { return one == 0 || one == 1; })) {
    return;
  }
  const bool has_names = !reader.names().empty();
  throw BadInput(
      "{}: has {} columns of labels that are not all 0 or 1; name the column to read{} in the path, as in {}:{}{}",
      path.file, reader.columns(), has_names ? "" : " in a first line and", path.file,
      has_names ? reader.names().back() : "label", kForOwnerOnly);
}

}  // namespace

std::unique_ptr<ArrayFile> open_csv(MappedFile file, const ArrayPath& path, ArrayRole role) {
  CsvReader reader(file.bytes(), path);
  std::string bad_cell;
  if (role == ArrayRole::kTargets || role == ArrayRole::kWeights) refuse_decimal_commas(file.bytes(), path);
  const auto held_numbers = [&]<typename Number>(Number, bool are_targets) {
    const std::vector<Number> numbers = numbers_of<Number>(reader, number_or_nan, bad_cell);
    const bool is_of_others = bad_cell.find_first_of(";\t") != std::string::npos;
    const char* const advice = are_targets ? "give numbers as targets"
                               : is_of_others
                                   ? "separate cells by commas"
                                   : "write the column as numbers, or leave it out by its name, as in t.csv:-name";
    if (!bad_cell.empty()) {
      reader.refuse(fmt::format("has the cell {}, which is not a number; {}", in_quotes(bad_cell), advice));
    }
    reader.require_text_names();
    return held(numbers, reader, path);
  };
  if (role == ArrayRole::kFeatures || role == ArrayRole::kWeights) return held_numbers(float{}, false);
  if (role == ArrayRole::kTargets) return held_numbers(double{}, true);
  // Another way to write one, as 07, is a name, whatever the other cells are.
  const std::vector<std::int64_t> integers = numbers_of<std::int64_t>(reader, usual_integer, bad_cell);
  if (integers.empty()) return held_strings(file.bytes(), path);
  if (role == ArrayRole::kLabels) require_zeros_and_ones(integers, reader, path);
  return held(integers, reader, path);
}

}  // namespace dpreduce
