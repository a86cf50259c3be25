// UTF-8: whether bytes are, and how a code point is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dpreduce {

/// Stands for what is no character.
inline constexpr char32_t kReplacementCharacter = 0xfffd;

/// The code point that `text` begins with, which is taken off it: kReplacementCharacter, and one byte less, where the
/// bytes are no UTF-8 (too short, too long a form, a surrogate, above U+10FFFF). Precondition (asserted): not empty.
char32_t take_code_point(std::string_view& text);

bool is_utf8(std::string_view text);

/// Appends a code point; kReplacementCharacter where it is a surrogate or above U+10FFFF.
void append_code_point(char32_t code_point, std::string& text);

/// C0, DEL and C1, and the separators of lines and paragraphs.
bool is_control(char32_t code_point);

/// `text` in quotes for a message on a terminal: control characters and what is no UTF-8 as U+FFFD, cut after 60 code
/// points.
std::string in_quotes(std::string_view text);

}  // namespace dpreduce
