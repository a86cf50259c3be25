#include "common/data/row_persons.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"

namespace dpreduce {
namespace {

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

// Nearly all identifiers are told at their first byte.
bool may_name_nobody(unsigned char first) {
  return first <= ' ' || first >= 0x80 || first == 'n' || first == 'N' || first == '<' || first == '#' || first == '-';
}

}  // namespace

bool names_no_person(std::string_view identifier) {
  if (identifier.empty()) return true;
  if (!may_name_nobody(static_cast<unsigned char>(identifier.front()))) return false;
  const std::string_view word = trimmed(identifier);
  return word.empty() || std::ranges::any_of(kNobody, [&](std::string_view nobody) {
           return std::ranges::equal(word, nobody, {}, in_lower_case);
         });
}

PersonPart part_of_person(std::uint64_t here, std::uint64_t counted) {
  DPREDUCE_ASSERT(here <= counted);
  if (here == counted) return {};
  const std::uint64_t common = std::gcd(here, counted);
  std::uint64_t count = here / common;
  std::uint64_t of = counted / common;
  while (count > kMostCountOfPart || of > std::numeric_limits<std::uint32_t>::max()) {
    count /= 2;
    of = of / 2 + of % 2;
  }
  return {static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(of)};
}

std::uint64_t most_rows_clipped_together(std::size_t dim) {
  constexpr std::uint64_t kFewest = 256;
  constexpr std::uint64_t kMost = 4096;
  constexpr std::uint64_t kEntries = std::uint64_t{1} << 22;
  return std::clamp<std::uint64_t>(kEntries / std::max<std::uint64_t>(dim, 1), kFewest, kMost);
}

}  // namespace dpreduce
