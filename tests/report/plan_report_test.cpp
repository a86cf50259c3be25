// What a dry run says of noise, against closed forms: a release of sensitivity D at mu has noise of deviation D / mu.
#include "report/plan_report.hpp"

#include <nlohmann/json.hpp>

#include "fit/resolved_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::plan_report_test {

constexpr std::size_t kDim = 12;

FitOptions options_of(const std::string& method, double mu) {
  FitOptions options;
  options.data.classes = 3;
  options.method.name = method;
  options.privacy.budget.mu = mu;
  return options;
}

// Noise in units of a row of norm C: 1 / mu in each of d coordinates, so that a mean over n rows is off by sqrt(d) /
// (mu n).
TEST(PlanReport, AMeanOverRowsIsOffByTheLengthOfTheNoiseOverTheirNumber) {
  for (const double mu : {0.25, 2.0}) {
    const nlohmann::json errors = expected_error_json(ResolvedFit(options_of("mean", mu), kDim, 0).plan());
    ASSERT_EQ(errors.size(), 4U);
    for (const nlohmann::json& error : errors) {
      const double rows = error["rows_per_class"];
      // Noise is rounded up to what keeps mu for sure.
      EXPECT_NEAR(error["error"].get<double>() * mu * rows / std::sqrt(12.0), 1.0, 1e-3) << rows;
    }
  }
}

// A triangle of a matrix, s on its diagonal and s / sqrt(2) beside it, each number once: d s^2 + d (d - 1) / 2 s^2 / 2.
TEST(PlanReport, AMatrixIsOffByTheLengthOfItsNoiseOverRows) {
  FitOptions options = options_of("ls", 1.0);
  options.method.shared_gram = true;
  const ResolvedFit fit(options, kDim, 0);
  const FitPlan& plan = fit.plan();
  const PlannedBlock& gram = plan.noise->release("least_squares").block("gram");
  std::size_t told = 0;
  for (const nlohmann::json& error : expected_error_json(plan)) {
    if (error["name"] != "gram") continue;
    ++told;
    const auto d = static_cast<double>(plan.dim);
    const double length = std::sqrt(d + d * (d - 1.0) / 4.0) / gram.mu;
    EXPECT_NEAR(error["error"].get<double>() * error["rows"].get<double>() / length, 1.0, 1e-3);
  }
  EXPECT_EQ(told, 3U);
}

}  // namespace dpreduce::plan_report_test
