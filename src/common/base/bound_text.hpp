// Figures in text that stay bounds: what a run costs is never told too small, what noise hides never too large.
#pragma once

#include <string>

namespace dpreduce {

/// `value` with so many significant digits, as {:.{digits}g} writes it, and the next one up where that is below it.
/// For mu, epsilon, delta, rho and sensitivities, and for noise that is yet to be added. Three digits are what a reader
/// takes in; who computes on takes JSON, or names more.
/// Preconditions (asserted): 1 <= digits <= 15.
std::string upper_figure(double value, int digits = 3);

/// The same, never above `value`: for noise that was added, and for what is left of a budget or proven of a loss.
std::string lower_figure(double value, int digits = 3);

/// How much noise there is, without a unit: "standard deviation 28.6 times what one change moves it at most".
std::string noise_text(double sigma, double sensitivity);

}  // namespace dpreduce
