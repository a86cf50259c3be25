#include "worker/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/error.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "worker/exponential.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLanes = 8;

// Calls step(entries) with `together` vectors of v at a time, and writes back what it makes of them. Where v ends,
// `rest` fills up.
template <std::size_t together, typename Step>
void for_each_vectors(std::span<double> v, double rest, const Step& step) {
  EightDoubles entries[together];
  for (std::size_t c = 0; c < v.size(); c += together * kLanes) {
    const std::size_t bytes = std::min(together * kLanes, v.size() - c) * sizeof(double);
    if (bytes == sizeof(entries)) {
      std::memcpy(entries, &v[c], sizeof(entries));
      step(entries);
      std::memcpy(&v[c], entries, sizeof(entries));
    } else {
      std::fill(std::begin(entries), std::end(entries), EightDoubles{} + rest);
      std::memcpy(entries, &v[c], bytes);
      step(entries);
      std::memcpy(&v[c], entries, bytes);
    }
  }
}

double largest_of(const EightDoubles& entries) {
  double largest = entries[0];
  for (std::size_t lane = 1; lane < kLanes; ++lane) largest = std::max(largest, entries[lane]);
  return largest;
}

// v <- softmax(v)
template <std::size_t width>
inline void softmax(std::span<double> v) {
  constexpr std::size_t kTogether = kVectorsTogether<width>;
  EightDoubles most = EightDoubles{} + v[0];
  for_each_vectors<1>(v, v[0], [&](const EightDoubles* entries) { most = most < *entries ? *entries : most; });
  const double largest = largest_of(most);
  EightDoubles sums{};
  for_each_vectors<kTogether>(v, -std::numeric_limits<double>::infinity(), [&](EightDoubles* entries) {
    for (std::size_t i = 0; i < kTogether; ++i) entries[i] -= largest;
    exponentials<kTogether>(entries);
    for (std::size_t i = 0; i < kTogether; ++i) sums += entries[i];
  });
  const double inverse = 1.0 / sum_of_lanes(sums);
  for (double& entry : v) entry *= inverse;
}

// v <- 1 / (1 + exp(-v)), from the exponential of -|v|
template <std::size_t width>
inline void sigmoid(std::span<double> v) {
  constexpr std::size_t kTogether = kVectorsTogether<width>;
  for_each_vectors<kTogether>(v, 0.0, [](EightDoubles* entries) { logistics<kTogether>(entries); });
}

}  // namespace

double exp_of_nonpositive(double x) {
  EightDoubles lanes = EightDoubles{} + x;
  exponentials<1>(&lanes);
  return lanes[0];
}

void class_probabilities(std::span<const std::int64_t> products, std::span<const double> factors, Loss loss,
                         std::span<double> p) {
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t c = 0; c < p.size(); ++c) p[c] = factors[c] * static_cast<double>(products[c]);
    if (loss == Loss::kSoftmax) softmax<width>(p);
    if (loss == Loss::kSigmoid) sigmoid<width>(p);
  });
}

void prior_probabilities(std::span<const std::int64_t> products, double row_length,
                         std::span<const double> direction_lengths, std::span<double> u) {
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    for (std::size_t c = 0; c < u.size(); ++c) {
      const double lengths = row_length * direction_lengths[c];
      u[c] = lengths > 0.0 ? static_cast<double>(products[c]) / lengths : 0.0;
    }
    softmax<width>(u);
  });
}

double share_of_head(std::span<const double> p, std::span<const double> prior, std::span<const std::int32_t> classes) {
  DPREDUCE_ASSERT(classes.size() == 1);
  const auto label = static_cast<std::size_t>(classes.front());
  return p[label] / (p[label] + prior[label]);
}

double lattice_residual(std::span<const std::int64_t> products, std::span<const double> factors,
                        std::span<const std::int32_t> classes, Loss loss, std::span<double> scratch,
                        std::span<std::int16_t> rho, std::span<const double> prior, double residual_norm) {
  DPREDUCE_ASSERT(loss != Loss::kSoftmax || classes.size() <= 1);
  if (loss == Loss::kSoftmax && classes.empty()) {
    std::fill(rho.begin(), rho.end(), std::int16_t{0});
    return 0.0;
  }
  class_probabilities(products, factors, loss, scratch);
  const double share = prior.empty() ? 1.0 : share_of_head(scratch, prior, classes);
  for (const std::int32_t label : classes) scratch[static_cast<std::size_t>(label)] -= 1.0;
  if (!prior.empty()) {
    for (double& entry : scratch) entry *= share;
  }

  const double norm = std::sqrt(squared_norm(scratch));
  const double divisor = std::max(norm, residual_norm);
  if (divisor != 1.0) {
    run_at_full_width([&](auto) {
      for (double& entry : scratch) entry /= divisor;
    });
  }
  quantize_row(scratch, Lattice{1.0, scratch.size()}, rho);
  return norm;
}

}  // namespace dpreduce
