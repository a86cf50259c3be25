// Noised numbers, denoised by the law that they themselves show.
//
// Legend: y_a = m_a + N(0, s^2), a = 1..d; the m_a are taken as draws of one unknown law w, on a grid of step s / 8
// over the range of y, to which y is rounded; K(t) = exp(-t^2 / 2). w is found by maximum likelihood, in a fixed number
// of steps of expectation and maximization from the even law, and each y is replaced by the mean of m given y:
//
//     f_y = sum_g K((y - g) / s) w_g,     w_g <- w_g / d sum_a K((y_a - g) / s) / f_{y_a}
//     E[m | y] = sum_g g K((y - g) / s) w_g / f_y
//
// Nothing is found where that law is less than e^4 times as likely as zeros with noise: noise alone fits some law that
// is not 0, too. Of a normal law it shrinks as James and Stein do; of few values that many coordinates share, or of
// coordinates of which most are nearly 0, it finds these, and its error is a small part of theirs. Post-processing, at
// no charge. Source: [jiang2009].
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace dpreduce {

/// E[m | y] of each number, where the numbers are told from noise. Preconditions (asserted): noise s > 0; a number.
std::optional<std::vector<double>> denoised(std::span<const double> noised, double noise);

}  // namespace dpreduce
