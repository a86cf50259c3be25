#include "common/randomness/selection_rate.hpp"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

SelectionRate selection_rate(double epsilon, std::uint64_t sensitivity, ScoreChange change) {
  if (!(epsilon >= kSmallestSelectionEpsilon && epsilon <= kLargestSelectionEpsilon)) {
    throw UsageError(fmt::format("epsilon = {} of a private selection is not in [{}, {}]: choose another budget",
                                 epsilon, kSmallestSelectionEpsilon, kLargestSelectionEpsilon));
  }
  if (sensitivity == 0) {
    throw UsageError("sensitivity = 0 of a private selection: give the most that one record changes a utility, >= 1");
  }
  // epsilon = odd * 2^exponent with odd < 2^53 and -112 <= exponent <= 20.
  int exponent = 0;
  auto odd = static_cast<std::uint64_t>(std::ldexp(std::frexp(epsilon, &exponent), 53));
  exponent -= 53;
  const int zeros = std::countr_zero(odd);
  odd >>= zeros;
  exponent += zeros;
  if (change == ScoreChange::kGeneral) --exponent;
  if (exponent >= 0) return {odd << exponent, sensitivity, 0};  // <= 2^20
  return {odd, sensitivity, static_cast<unsigned>(-exponent)};
}

void require_valid(const SelectionRate& rate) {
  if (rate.numerator == 0) {
    throw UsageError("gamma = 0 of a private selection: the numerator of its rate must be >= 1");
  }
  if (rate.denominator == 0) {
    throw UsageError("gamma of a private selection has denominator 0: it must be >= 1");
  }
  if (rate.scale_bits > kMostRateScaleBits) {
    throw UsageError(
        fmt::format("gamma of a private selection is below 2^-{} (scale_bits = {}): at most {} are allowed",
                    rate.scale_bits - 64, rate.scale_bits, kMostRateScaleBits));
  }
}

}  // namespace dpreduce
