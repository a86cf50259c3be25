// Identifiers of rows' persons in a file, and those that mean a missing person.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/data/array_file.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kPersonsAtOnce = std::uint64_t{1} << 16;

// NumPy's NaT (not a time) as an integer.
constexpr std::int64_t kNoPerson = std::numeric_limits<std::int64_t>::min();

// In lower case.
constexpr std::array<std::string_view, 9> kNobody = {
    "nan", "nat", "none", "na", "<na>", "n/a", "#n/a", "null", "-9223372036854775808"};

char in_lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Unicode's White_Space.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// The bytes of `text` between the first character that is no white space and the last one.
std::string_view trimmed(std::string_view text) {
  std::size_t first = text.size();
  std::size_t end = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t place = text.size() - rest.size();
    if (is_white_space(take_code_point(rest))) continue;
    first = std::min(first, place);
    end = text.size() - rest.size();
  }
  return end == 0 ? std::string_view() : text.substr(first, end - first);
}

// The first byte decides for nearly all identifiers.
bool may_name_nobody(unsigned char first) {
  return first <= ' ' || first >= 0x80 || first == 'n' || first == 'N' || first == '<' || first == '#' || first == '-';
}

// Returns whether the text is what tables write for a missing identifier: nothing or white space alone, and nan, NaT,
// None, NA, <NA>, N/A, #N/A and null, in upper or lower case and with white space around them; also the digits of
// kNoPerson. All rows that have one would otherwise be one person's.
bool names_no_person(std::string_view identifier) {
  if (identifier.empty()) return true;
  if (!may_name_nobody(static_cast<unsigned char>(identifier.front()))) return false;
  const std::string_view word = trimmed(identifier);
  return word.empty() || std::ranges::any_of(kNobody, [&](std::string_view nobody) {
           return std::ranges::equal(word, nobody, {}, in_lower_case);
         });
}

}  // namespace

void ArrayFile::require_holds_persons() {
  const bool is_one_a_row = shape_.size() <= 2 && columns_ == 1;
  if (is_float(dtype_) && is_one_a_row) refuse_float_persons();
  if (is_float(dtype_) || dtype_ == DType::kBool) {
    throw BadInput("{}: identifiers of persons are {}; convert them to integers or strings, one a row", name_,
                   to_string(dtype_));
  }
  if (is_one_a_row) return;
  throw BadInput("{}: identifiers of persons have shape {}; give one a row, shape (n,) or (n, 1){}", name_,
                 to_string(shape_), kForOwnerOnly);
}

// Floats are what tables make of integers where some are missing: the first row that is no integer is what to look at.
void ArrayFile::refuse_float_persons() {
  std::vector<float> values;
  for (std::uint64_t done = 0; done < rows(); done += values.size()) {
    values.resize(std::min(kPersonsAtOnce, rows() - done));
    convert_features(stored_rows(done, values.size(), scratch_), dtype_, byte_order_, values);
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (std::isfinite(values[row]) && values[row] == std::trunc(values[row])) continue;
      throw BadInput(
          "{}: row {} has the identifier {}, a {}; give each row a person, as an integer or a "
          "string{}",
          name_, done + row, values[row], to_string(dtype_), kForOwnerOnly);
    }
  }
  if (values.empty()) return;
  throw BadInput(
      "{}: row 0 and the rows after it have identifiers of persons that are {}; convert them to "
      "integers or strings",
      name_, to_string(dtype_));
}

void ArrayFile::refuse_missing_person(std::uint64_t row, std::string_view identifier) const {
  if (identifier.empty()) {
    throw BadInput("{}: row {} has no identifier of a person; give each row one{}", name_, row, kForOwnerOnly);
  }
  throw BadInput(
      "{}: row {} has the identifier {}, which means a missing one; give the row its person, or rename a "
      "person with that name{}",
      name_, row, in_quotes(identifier), kForOwnerOnly);
}

void ArrayFile::visit_persons(std::uint64_t first_row, std::uint64_t count, const VisitPersons& visit) {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (is_string(dtype_)) {
    visit_names(first_row, count, [&](std::uint64_t row, std::string_view name) {
      if (names_no_person(name)) refuse_missing_person(row, name);
      visit.name(name);
    });
    return;
  }
  const bool has_sign = number_type(dtype_).code.front() == 'i';
  std::vector<std::int64_t> integers;
  for (std::uint64_t done = 0; done < count; done += integers.size()) {
    integers.resize(std::min(kPersonsAtOnce, count - done));
    convert_integers(stored_rows(first_row + done, integers.size(), scratch_), dtype_, byte_order_, integers);
    if (const auto missing = std::ranges::find(integers, kNoPerson); has_sign && missing != integers.end()) {
      refuse_missing_person(first_row + done + static_cast<std::uint64_t>(missing - integers.begin()),
                            std::to_string(kNoPerson));
    }
    const bool fits = has_sign || std::ranges::all_of(integers, [](std::int64_t integer) { return integer >= 0; });
    if (fits) {
      visit.integers(integers);
    } else {
      for (const std::int64_t integer : integers) visit.name(std::to_string(static_cast<std::uint64_t>(integer)));
    }
  }
}

}  // namespace dpreduce
