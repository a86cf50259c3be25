// Text: UTF-8, text that is safe for terminals and logs, suggestions for mistyped names, {rank} in names of files, and
// numbers.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace dpreduce {

// UTF-8: whether bytes are, and how a code point is written.

/// Replacement of bytes that are no character.
inline constexpr char32_t kReplacementCharacter = 0xfffd;

/// The code point that `text` begins with, which is taken off it: kReplacementCharacter, and one byte less, where the
/// bytes are no UTF-8 (too short, too long a form, a surrogate, above U+10FFFF). Precondition (asserted): not empty.
char32_t take_code_point(std::string_view& text);

bool is_utf8(std::string_view text);

/// Appends a code point; kReplacementCharacter where it is a surrogate or above U+10FFFF.
void append_code_point(char32_t code_point, std::string& text);

/// C0, DEL and C1, the separators of lines and paragraphs, and what turns the direction of text.
bool is_control(char32_t code_point);

/// `text` fit for a line of a terminal or a document: control characters and what is no UTF-8 as U+FFFD.
std::string without_controls(std::string_view text);

/// `text` in quotes for a message on a terminal, without_controls, cut after 60 code points.
std::string in_quotes(std::string_view text);

// Text of another party, fit to be shown on a terminal and in a line of a log.

/// The first `most` bytes of `text`; what is no printable ASCII as a question mark.
std::string shown_text(std::string_view text, std::size_t most);

/// The parts of a text between separators: one more than it has of these.
std::vector<std::string> parts_of(std::string_view text, char separator);

// Suggestions for mistyped names ("did you mean").

/// Number of characters that have to be inserted, deleted, exchanged, or swapped with their neighbor, to make `first`
/// of `second` (the restricted Damerau-Levenshtein distance); upper and lower case count as equal.
std::size_t edits_between(std::string_view first, std::string_view second);

/// The one of `names` that is fewest edits from `typed`, or, where none is near, the only one that begins with it;
/// empty where there is none: more than two edits, or more than a third of its characters.
std::string nearest_name(std::string_view typed, std::span<const std::string> names);

/// "; did you mean NAME?", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string> names);

// {rank} in a name: each rank then has a file of its own.

/// Returns whether `pattern` contains "{rank}".
bool has_rank(const std::string& pattern);
/// Returns whether any pattern does.
bool has_rank(const std::vector<std::string>& patterns);

/// `pattern` with `rank` in the place of each "{rank}".
std::string with_rank(std::string pattern, std::size_t rank);

// Numbers in text: how they are read, and figures that stay bounds when they are written.

// Numbers in text, read alike in every process: whatever its locale is.

/// The number that the whole text is, as std::from_chars reads it; nullopt if it is none, or out of the type's range.
template <typename Number>
std::optional<Number> plain_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Returns the number that the whole text is, as 1, +.5, 1e-5, nan or inf; nullopt if it is none, or beyond a double.
std::optional<double> number_of(std::string_view text);

/// Returns the integer that the whole text is, in its usual form; nullopt for other forms: 07, +7, -0.
std::optional<std::int64_t> usual_integer(std::string_view text);

// Figures in text that stay bounds: the cost of a run is never reported too small, what noise hides never too large.

/// `value` with so many significant digits, as {:.{digits}g} writes it, and the next one up where that is below it. For
/// mu, epsilon, delta, rho and sensitivities, and for noise that is yet to be added. Three digits suit a reader;
/// further computation uses JSON, or more digits. Preconditions (asserted): 1 <= digits <= 15.
std::string upper_figure(double value, int digits = 3);

/// The same, never above `value`: for noise that was added, and for what is left of a budget or proven of a loss.
std::string lower_figure(double value, int digits = 3);

/// Amount of noise, without a unit: "standard deviation 28.6 times the sensitivity".
std::string noise_text(double sigma, double sensitivity);

}  // namespace dpreduce
