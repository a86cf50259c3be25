// Golden-section search for the least value of a function with one valley.
#pragma once

namespace dpreduce {

/// A point near the minimum of f on [low, high], after the given number of evaluations; a flat or wavy f only makes it
/// a worse point. Callers that need a true bound use the value at whatever point comes out.
template <typename Function>
double golden_section(double low, double high, int evaluations, Function f) {
  constexpr double kGolden = 0.6180339887498949;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double f_left = f(left);
  double f_right = f(right);
  for (int step = 2; step < evaluations; ++step) {
    if (f_left <= f_right) {
      high = right;
      right = left;
      f_right = f_left;
      left = high - kGolden * (high - low);
      f_left = f(left);
    } else {
      low = left;
      left = right;
      f_left = f_right;
      right = low + kGolden * (high - low);
      f_right = f(right);
    }
  }
  return f_left <= f_right ? left : right;
}

}  // namespace dpreduce
