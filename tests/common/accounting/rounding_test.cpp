// Every number that leaves an accountant is on the side that promises less, and the next double but one on the other
// side would not be: of uneven arguments, with twice the library's digits.

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "common/accounting/composition.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "tests/testing.hpp"

namespace dpreduce::rounding_test {

using Exact =
    boost::multiprecision::number<boost::multiprecision::backends::cpp_bin_float<100>, boost::multiprecision::et_off>;

Exact tail_of(const Exact& x) {  // Phi(-x)
  return boost::math::erfc(x / sqrt(Exact(2))) / 2;
}

// What a selection of range epsilon is, in mu: the largest epsilon of a mu.
Exact range_of_mu(const Exact& mu) {
  const Exact tail = tail_of(mu / 2);
  return 2 * log((1 - tail) / tail);
}

enum class Side { kAtLeast, kAtMost };

struct Rounded {
  std::string name;
  Side side;
  std::function<double(double)> made;
  std::function<Exact(double)> exact;  ///< of the same argument
};

std::vector<Rounded> all_rounded() {
  const auto run_of = [](double x) {
    return std::vector<RepeatedMechanism>{{GaussianMechanism{1 / x}, 3}, {GaussianMechanism{0.3 + x}, 1}};
  };
  const auto squared_mu_of = [](double x) {
    const Exact z(1 / x);
    const Exact other(0.3 + x);
    return Exact(3) / (z * z) + 1 / (other * other);
  };
  const auto scaled = [](const Mechanism& mechanism, std::uint64_t records) {
    return run_for(std::vector<RepeatedMechanism>{{mechanism, 1}}, Neighbors{.records = records}).front().mechanism;
  };
  const double delta = 1.3e-7;
  return {
      {"rho of a selection", Side::kAtLeast, [=](double x) { return selection_charge(x, delta).rho; },
       [](double x) { return Exact(x) * x / 8; }},
      {"epsilon of a selection", Side::kAtLeast, [=](double x) { return selection_charge(x, 1e-20).epsilon; },
       [](double x) { return x + 2 * log(1 - sqrt(Exact(1e-20) * -expm1(-Exact(x)))); }},
      {"epsilon of a selection of that mu", Side::kAtMost, [](double x) { return selection_epsilon(x); },
       [](double x) { return range_of_mu(x); }},
      {"mu of rho", Side::kAtMost, [](double x) { return mu_from_zcdp(x); },
       [](double x) { return sqrt(2 * Exact(x)); }},
      {"rho of mu", Side::kAtLeast, [](double x) { return zcdp_from_mu(x); },
       [](double x) { return Exact(x) * x / 2; }},
      {"epsilon of rho", Side::kAtLeast, [=](double x) { return epsilon_from_zcdp_simple(x, delta); },
       [=](double x) { return x + 2 * sqrt(Exact(x) * -log(Exact(delta))); }},
      {"noise of mu", Side::kAtLeast, [](double x) { return sigma_for_mu(x, 1.7); },
       [](double x) { return Exact(1.7) / x; }},
      {"noise of a step of mu", Side::kAtLeast, [](double x) { return sigma_for_mu(x, 1.7, 7); },
       [](double x) { return Exact(1.7) / x * sqrt(Exact(7)); }},
      {"mu of two", Side::kAtLeast,
       [](double x) {
         return gdp_compose(std::vector<double>{x, 0.3});
       },
       [](double x) { return sqrt(Exact(x) * x + Exact(0.3) * 0.3); }},
      {"mu of a run", Side::kAtLeast, [=](double x) { return *gdp_of_run(run_of(x)); },
       [=](double x) { return sqrt(squared_mu_of(x)); }},
      {"rho of a run", Side::kAtLeast, [=](double x) { return *zcdp_of_run(run_of(x)); },
       [=](double x) { return squared_mu_of(x) / 2; }},
      {"noise for a group", Side::kAtMost,
       [=](double x) { return std::get<GaussianMechanism>(scaled(GaussianMechanism{1 + x}, 3)).noise_multiplier; },
       [](double x) { return Exact(1 + x) / 3; }},
      {"epsilon of a group", Side::kAtLeast,
       [=](double x) { return std::get<PureMechanism>(scaled(PureMechanism{x}, 3)).epsilon; },
       [](double x) { return Exact(x) * 3; }},
      {"range of a group", Side::kAtLeast,
       [=](double x) { return std::get<ExponentialMechanism>(scaled(ExponentialMechanism{x}, 7)).epsilon; },
       [](double x) { return Exact(x) * 7; }},
  };
}

TEST(Rounding, IsToTheSideThatPromisesLess) {
  for (const Rounded& each : all_rounded()) {
    SCOPED_TRACE(each.name);
    for (int k = 0; k < 20; ++k) {
      const double argument = 0.0113 + 0.2371 * k;
      const double made = each.made(argument);
      const Exact exact = each.exact(argument);
      const bool is_up = each.side == Side::kAtLeast;
      const double toward_exact = is_up ? 0.0 : std::numeric_limits<double>::infinity();
      const double nearer = std::nextafter(std::nextafter(made, toward_exact), toward_exact);
      EXPECT_TRUE(is_up ? Exact(made) >= exact : Exact(made) <= exact) << argument;
      EXPECT_TRUE(is_up ? Exact(nearer) < exact : Exact(nearer) > exact) << argument;
    }
  }
}

// That of a selection's mu is known by its inverse.
TEST(Rounding, OfTheMuOfASelectionIsUp) {
  for (int k = 0; k < 20; ++k) {
    const double range = 0.0113 + 0.2371 * k;
    const double mu = selection_mu(range);
    EXPECT_GE(range_of_mu(mu), Exact(range));
    EXPECT_LT(range_of_mu(std::nextafter(std::nextafter(mu, 0.0), 0.0)), Exact(range));
  }
}

}  // namespace dpreduce::rounding_test
