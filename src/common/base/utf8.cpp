#include "common/base/utf8.hpp"

#include <array>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr char32_t kLargestCodePoint = 0x10ffff;
constexpr std::size_t kMostShown = 60;

bool is_scalar(char32_t code_point) {
  const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point <= kLargestCodePoint && !is_surrogate;
}

// The code point at the beginning of `text` and its length in bytes; length 0 where there is none.
struct Decoded {
  char32_t code_point = kReplacementCharacter;
  std::size_t length = 0;
};

Decoded decoded(std::string_view text) {
  const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  char32_t code_point = first & (0x7fU >> length);
  for (std::size_t place = 1; place < length; ++place) {
    if ((byte(place) & 0xc0U) != 0x80U) return {};
    code_point = code_point << 6 | (byte(place) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast.at(length) || !is_scalar(code_point)) return {};
  return {code_point, length};
}

}  // namespace

char32_t take_code_point(std::string_view& text) {
  DPREDUCE_ASSERT(!text.empty());
  const Decoded first = decoded(text);
  text.remove_prefix(first.length == 0 ? 1 : first.length);
  return first.code_point;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = decoded(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_code_point(char32_t code_point, std::string& text) {
  if (!is_scalar(code_point)) code_point = kReplacementCharacter;
  const auto append = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (code_point < 0x80) return append(code_point);
  if (code_point < 0x800) {
    append(0xc0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    append(0xe0 | code_point >> 12);
    append(0x80 | (code_point >> 6 & 0x3f));
  } else {
    append(0xf0 | code_point >> 18);
    append(0x80 | (code_point >> 12 & 0x3f));
    append(0x80 | (code_point >> 6 & 0x3f));
  }
  append(0x80 | (code_point & 0x3f));
}

bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x2028 || code_point == 0x2029;
}

std::string in_quotes(std::string_view text) {
  std::string shown = "\"";
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == kMostShown) return shown + "...\"";
    const char32_t code_point = take_code_point(text);
    append_code_point(is_control(code_point) ? kReplacementCharacter : code_point, shown);
  }
  return shown + '"';
}

}  // namespace dpreduce
