// What silos compare is all that decides on noise, to the last bit.
#include "fit/silo_terms.hpp"
#include "tests/methods/good_fit.hpp"

namespace dpreduce::silo_plan_test {

constexpr std::size_t kDim = 8;
constexpr NoiseShares kShares{3};

FitOptions options_of(const std::string& method) {
  FitOptions fit;
  fit.data.train = {.x = {"x{rank}.npy"}, .y = {"y{rank}.npy"}};
  fit.data.classes = 3;
  fit.method.name = method;
  fit.privacy.budget = {{.epsilon = 1.0, .delta = 1e-6}};
  fit.silos.secure_aggregation = true;
  fit.silos.noise = NoiseSource::kDistributed;
  return fit;
}

PublicKey digest_of(const FitOptions& fit, std::size_t dim = kDim, std::optional<NoiseShares> shares = kShares) {
  return noise_plan_digest(ResolvedFit(validated(fit), dim), shares);
}

TEST(SiloPlan, OfTheSameOptionsIsTheSame) {
  EXPECT_EQ(digest_of(options_of("ls")), digest_of(options_of("ls")));
  FitOptions machine = options_of("ls");
  machine.machine = {.threads = 3, .memory_mib = 100};
  machine.output.out = "elsewhere";
  machine.data.train.x = {"other{rank}.npy"};
  EXPECT_EQ(digest_of(options_of("ls")), digest_of(machine));
}

TEST(SiloPlan, EachOptionThatDecidesOnNoiseIsInIt) {
  std::set<PublicKey> digests{digest_of(options_of("mean")),
                              digest_of(options_of("ls")),
                              digest_of(options_of("gd")),
                              digest_of(options_of("mean"), kDim + 1),
                              digest_of(options_of("mean"), kDim, std::nullopt),
                              digest_of(options_of("mean"), kDim, NoiseShares{2})};
  const std::vector<std::function<void(FitOptions&)>> changes{
      [](FitOptions& fit) { fit.privacy.budget.epsilon = std::nextafter(1.0, 2.0); },
      [](FitOptions& fit) { fit.privacy.budget.delta = 2e-6; },
      [](FitOptions& fit) { fit.privacy.adjacency = Adjacency::kReplaceOne; },
      [](FitOptions& fit) { fit.privacy.budget.accountant = Accountant::kZcdp; },
      [](FitOptions& fit) { fit.privacy.seed = 1; },
      [](FitOptions& fit) { fit.privacy.budget = kWithoutNoise; },
      [](FitOptions& fit) { fit.data.classes = 4; },
      [](FitOptions& fit) { fit.data.train.person = {"p{rank}.npy"}, fit.data.rows_per_person = 1; },
      [](FitOptions& fit) { fit.data.train.person = {"p{rank}.npy"}, fit.data.rows_per_person = 2; },
      [](FitOptions& fit) { fit.rows.clip_norm = 2.0; },
      [](FitOptions& fit) { fit.rows.center = Centering::kDp; }};
  EXPECT_EQ(digests.size(), 6U);
  for (const auto& change : changes) {
    FitOptions fit = options_of("mean");
    change(fit);
    EXPECT_TRUE(digests.insert(digest_of(fit)).second) << "change " << digests.size();
  }
}

// A program with a bug in its plan: the options are the same.
TEST(SiloPlan, EachNumberOfEachBlockIsInIt) {
  const ResolvedFit fit(validated(options_of("ls")), kDim);
  const auto digest_with = [&](const std::function<void(NoisePlan&)>& change) {
    FitPlan plan = fit.plan();
    change(*plan.noise);
    return noise_plan_digest(ResolvedFit(fit.options(), std::move(plan)), kShares);
  };
  const auto less = [](double& value) { value = std::nextafter(value, 0.0); };
  std::set<PublicKey> digests;
  for (const std::function<void(NoisePlan&)>& change : std::vector<std::function<void(NoisePlan&)>>{
           [](NoisePlan&) {}, [&](NoisePlan& plan) { less(plan.mu); }, [&](NoisePlan& plan) { less(plan.budget_mu); },
           [&](NoisePlan& plan) { less(plan.releases.back().mu); },
           [&](NoisePlan& plan) { ++plan.releases.back().rounds; },
           [&](NoisePlan& plan) { ++plan.releases.back().profiles[0].squared_l2[0]; },
           [&](NoisePlan& plan) { less(plan.releases.back().blocks.back().sigma); },
           [&](NoisePlan& plan) { less(plan.releases.back().blocks.back().sensitivity); },
           [&](NoisePlan& plan) { --plan.releases.back().blocks.back().squared_sensitivity; },
           [&](NoisePlan& plan) { ++plan.releases.back().blocks.back().elements; },
           [&](NoisePlan& plan) {
             plan.selections.push_back({"choice", {.epsilon = 1.0, .candidates = 2}});
           }}) {
    EXPECT_TRUE(digests.insert(digest_with(change)).second) << "change " << digests.size();
  }
}

}  // namespace dpreduce::silo_plan_test
