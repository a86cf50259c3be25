// Options of a fit that nothing is wrong with.
#pragma once

#include <string>

#include "common/base/error.hpp"
#include "fit/validated_options.hpp"
#include "methods/registry.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

/// By this method, with public rows where it needs them.
inline FitOptions good_fit(const std::string& method = "auto") {
  FitOptions fit;
  fit.data.train = {.x = {"x.npy"}, .y = {"y.npy"}};
  fit.data.classes = 10;
  fit.method.name = method;
  const MethodEntry* entry = find_method(method);
  if (entry != nullptr && entry->chooses_public_rows) fit.data.public_x = {"p.npy"};
  fit.privacy.budget.epsilon = 1.0;
  fit.privacy.budget.delta = 1e-5;
  return fit;
}

/// What is said against them; empty: nothing.
inline std::string refusal(const FitOptions& fit) {
  return refusal<UsageError>([&] { validated(fit); });
}

/// The same of one part.
template <typename Part>
std::string refusal_of(const Part& part) {
  return refusal<UsageError>([&] { check(part); });
}

}  // namespace dpreduce
