#include "report/budget_warning.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "common/base/bound_text.hpp"

namespace dpreduce {

std::string weakness_of(double epsilon, double delta, PrivacyUnit unit) {
  const char* const member = unit == PrivacyUnit::kPerson ? "person" : "record";
  std::string warning;
  if (epsilon > kLargeEpsilon) {
    warning =
        fmt::format("epsilon {0} promises little: with one {1}, an outcome may be e^{0} times as likely as without",
                    upper_figure(epsilon), member);
  }
  if (delta >= kLargeDelta) {
    warning += fmt::format("{}delta {} promises little: publishing each {} with that probability keeps to it",
                           warning.empty() ? "" : "; ", upper_figure(delta), member);
  }
  return warning;
}

std::string weakness_of(const FitPlan& plan, PrivacyUnit unit) {
  if (!plan.guarantee || !plan.is_private) return {};
  return weakness_of(plan.guarantee->epsilon, plan.guarantee->delta, unit);
}

void warn_of_weakness(const std::string& weakness) {
  if (!weakness.empty()) fmt::print(stderr, "dpreduce: warning: {}\n", weakness);
}

}  // namespace dpreduce
