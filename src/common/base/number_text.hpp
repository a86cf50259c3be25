// Numbers in text: how they are read, and figures that stay bounds when they are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpreduce {

// Numbers in text, read alike in every process: whatever its locale is.

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
