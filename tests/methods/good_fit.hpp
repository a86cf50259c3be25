// Options of a fit that nothing is wrong with.
#pragma once

#include "common/base/error.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

inline const BudgetOptions kWithoutNoise{{}, Accountant::kGdp, true};

/// By this method, with public rows where it needs them.
inline FitOptions good_fit(const std::string& method = "auto") {
  FitOptions fit;
  fit.data.train = {.x = {"x.npy"}, .y = {"y.npy"}};
  fit.data.classes = 10;
  fit.method.name = method;
  const MethodEntry* entry = find_method(method);
  if (entry != nullptr && entry->chooses_public_rows) fit.data.public_x = {"p.npy"};
  fit.privacy.budget = {{.epsilon = 1.0, .delta = 1e-5}};
  return fit;
}

/// What is said against them; empty: nothing.
inline std::string refusal(const FitOptions& fit) {
  return refusal<UsageError>([&] { validated(fit); });
}

/// The same where one part of them is another one; what is about methods' own options is by a method that takes them.
template <typename Part>
std::string refusal_of(const Part& part, const std::string& method = "mean") {
  FitOptions fit = good_fit(method);
  const auto take = [&](auto& own) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(own)>, Part>) own = part;
  };
  auto& [data, rows, training, privacy, output, machine, silos, evaluation, statistics] = fit;
  take(data), take(rows), take(privacy), take(output), take(machine), take(silos);
  if constexpr (std::is_same_v<Part, MethodOptions>) {
    training = part;
    training.name = method;
  }
  if (!silos.rows_are_own) silos.rows_are_own = silos.secure_aggregation;
  if (!fit.privacy.budget.mu && !fit.privacy.budget.epsilon) fit.privacy.budget.mu = 1.0;
  return refusal(fit);
}

}  // namespace dpreduce
