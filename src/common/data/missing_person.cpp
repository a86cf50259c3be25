#include "common/data/missing_person.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

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

}  // namespace dpreduce
