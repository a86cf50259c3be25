// The released mean of all rows, denoised, by the distribution of its coordinates if one is found.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

// Noised numbers, denoised by their own empirical distribution (empirical Bayes).
//
// Legend: y_a = m_a + N(0, s^2), a = 1..d; the m_a are taken as draws of one unknown law w, on a grid of step s / 8
// over the range of y, to which y is rounded; K(t) = exp(-t^2 / 2). w is found by maximum likelihood, in a fixed number
// of steps of expectation and maximization from the even law, and each y is replaced by the mean of m given y:
//
//     f_y = sum_g K((y - g) / s) w_g,     w_g <- w_g / d sum_a K((y_a - g) / s) / f_{y_a}
//     E[m | y] = sum_g g K((y - g) / s) w_g / f_y
//
// Nothing is found if that distribution is less than e^4 times as likely as zeros with noise: noise alone also fits
// some distribution other than 0. Of a normal law it shrinks as James and Stein do; of few values that many coordinates
// share, or of coordinates of which most are nearly 0, it finds these, and its error is a small part of theirs.
// Post-processing, at no charge. Source: [jiang2009].

/// E[m | y] of each number; nullopt if the numbers cannot be distinguished from noise. Preconditions (asserted): noise
/// s > 0; a number.
std::optional<std::vector<double>> denoised(std::span<const double> noised, double noise);

// The released mean of all rows, denoised before rows are centered by it.
//
// Legend: x a row, of squared length C^2 at most, d features, n rows; m their mean. Each step k releases the sum of
// rows about a public center c_k, clipped to a ball of radius r_k, with noise of variance v_k an entry once it is
// divided by n. c_1 = 0 and r_1 = C: the first step sums whole rows, and counts them. Then
//
//     y = sum_k (c_k + sum_k / n) / v_k / sum_k 1 / v_k,   e = d / sum_k 1 / v_k = E |y - m|^2
//     c = h y,                                             h = max(0, 1 - e / |y|^2)
//     r = g sqrt(C^2 - max(0, |y|^2 - e) + h e)            of the next step, about c: about g sqrt(E |x - c|^2)
//
// If r > .6 C also without h e, the next step is about 0 with r = C, as the first: a smaller ball would save little
// noise, and what it clips are the rows that are far from the mean, which are those of small classes. On a tail of 64
// to 1 in five classes that took 1.7 points of balanced accuracy.
//
// From 64 coordinates on, where e > .02 |y|^2, c is y denoised by the law of its coordinates, if
// one is found; r is by h all the same.
//
// h is the positive part of James and Stein's estimator: where e >= |y|^2, y is noise and nothing else, and centering
// by it would move all rows by a vector longer than they are. h e is its risk. A ball has the noise of the whole rows'
// ball, scaled by r / C, so that a second step knows more of m the longer m is. All of this is post-processing and
// costs no budget. Sources: [james1961]; [biswas2020] for steps in balls that shrink.

class ReleasedCenter {
 public:
  /// Takes release "center": n is row_count, but at least its own noise and 1.
  ReleasedCenter(const Release& release, const Lattice& lattice);
  /// Adds "center_rest", which was taken about the lattice point next to ball_center(), in a ball of radius().
  void add_rest(const Release& release);

  /// c, pulled into the ball of radius C; length d.
  const std::vector<double>& mean() const { return mean_; }
  /// Center and radius of the next step's ball, which is above 0; without noise 2 C, which holds every row.
  const std::vector<double>& ball_center() const { return ball_center_; }
  double radius() const { return radius_; }

 private:
  void add(const ReleasedBlock& sum, double unit);

  Lattice lattice_;
  double count_;
  std::vector<double> weighted_;  // sum_k (c_k + sum_k / n) / v_k
  double precision_ = 0.0;        // sum_k 1 / v_k
  std::vector<double> mean_;
  std::vector<double> ball_center_;
  double radius_ = 0.0;
};

}  // namespace dpreduce
