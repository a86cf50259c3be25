// Loss of training rounds.
#pragma once

#include "common/base/described_types.hpp"

namespace dpreduce {

/// Loss that training rounds minimize; z_c are a row's scores, y its label as a one-hot vector.
enum class Loss {
  kSoftmax,  ///< residual softmax(z) - y
  kSigmoid,  ///< residual 1 / (1 + exp(-z_c)) - y_c
  kSquare    ///< residual z - y
};
template <>
inline constexpr auto spellings<Loss> = spelled<Loss>("softmax", "sigmoid", "square");

/// Z where a shorter one would cost: without noise, where a clip makes nothing smaller; with --objective balanced,
/// whose rounds begin at the shares of classes, where residuals of small classes are the longest (at .7 they lost 1.3
/// points of balanced accuracy on a tail of 64 to 1); in Newton steps, whose Hessian no clip shortens.
inline constexpr double kWholeResidual = 1.0;

/// Z, the norm to which residuals of training rounds are clipped, unless a method has its own bound. A softmax residual
/// has norm sqrt(1 - 1 / K) where all classes are as likely, and is shorter for most rows later. Clipped to .7 it loses
/// little, and the noise of a gradient is .7 of what it would be at 1. With a second head (`has_prior`) a residual is
/// scaled down by that head's share already, and Z is 1. Source: measured, docs/explanation/methods/rounds.md.
constexpr double residual_norm_of(Loss loss, bool has_prior = false) {
  return loss == Loss::kSoftmax && !has_prior ? 0.7 : kWholeResidual;
}

}  // namespace dpreduce
