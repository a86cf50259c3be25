// Identifiers of rows' persons in a file.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kPersonsAtOnce = std::uint64_t{1} << 16;

bool is_signed(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
}

// Little-endian bytes of an integer in decimal digits.
std::string_view decimal_of(std::span<const std::byte> element, bool has_sign, std::span<char> text) {
  std::uint64_t bits = 0;
  for (std::size_t byte = 0; byte < element.size(); ++byte) {
    bits |= std::to_integer<std::uint64_t>(element[byte]) << (8 * byte);
  }
  const std::size_t unused = 64 - 8 * element.size();
  char* const end = text.data() + text.size();
  const auto written = has_sign ? std::to_chars(text.data(), end, static_cast<std::int64_t>(bits << unused) >> unused)
                                : std::to_chars(text.data(), end, bits);
  DPREDUCE_ASSERT(written.ec == std::errc());
  return {text.data(), static_cast<std::size_t>(written.ptr - text.data())};
}

}  // namespace

void ArrayFile::check_holds_persons() {
  const bool is_one_a_row = shape_.size() <= 2 && columns_ == 1;
  if (is_float(dtype_) && is_one_a_row) refuse_float_persons();
  if (is_float(dtype_) || dtype_ == DType::kBool) {
    throw BadInput(fmt::format("{}: identifiers of persons are {}; convert them to integers or strings, one a row",
                               name_, to_string(dtype_)));
  }
  if (is_one_a_row) return;
  throw BadInput(fmt::format("{}: identifiers of persons have shape {}; give one a row, shape (n,) or (n, 1){}", name_,
                             to_string(shape_), kForOwnerOnly));
}

// Floats are what tables make of integers where some are missing: the first row that is no integer is what to look at.
void ArrayFile::refuse_float_persons() {
  std::vector<float> values;
  for (std::uint64_t done = 0; done < rows();) {
    values.resize(std::min(kPersonsAtOnce, rows() - done));
    convert_features(stored_rows(done, values.size(), scratch_), dtype_, byte_order_, values);
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (std::isfinite(values[row]) && values[row] == std::trunc(values[row])) continue;
      throw BadInput(
          fmt::format("{}: row {} has the identifier {}, a {}; give each row a person, as an integer or a "
                      "string{}",
                      name_, done + row, values[row], to_string(dtype_), kForOwnerOnly));
    }
    done += values.size();
  }
  if (values.empty()) return;
  throw BadInput(
      fmt::format("{}: row 0 and those after it have identifiers of persons that are {}; convert them to "
                  "integers or strings",
                  name_, to_string(dtype_)));
}

void ArrayFile::visit_persons(std::uint64_t first_row, std::uint64_t count, const VisitName& visit) {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (is_string(dtype_)) {
    visit_names(first_row, count, [&](std::uint64_t row, std::string_view name) {
      if (name.empty()) {
        throw BadInput(
            fmt::format("{}: row {} has no identifier of a person; give each row one{}", name_, row, kForOwnerOnly));
      }
      visit(row, name);
    });
    return;
  }
  DPREDUCE_ASSERT(!is_float(dtype_));
  std::vector<std::byte> stored;
  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 3> text{};
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t block = std::min(kPersonsAtOnce, count - done);
    stored.resize(block * row_bytes());
    read_stored(first_row + done, block, stored);
    for (std::uint64_t row = 0; row < block; ++row) {
      const auto element = std::span<const std::byte>(stored).subspan(row * row_bytes(), row_bytes());
      visit(first_row + done + row, decimal_of(element, is_signed(dtype_), text));
    }
    done += block;
  }
}

}  // namespace dpreduce
