#include "evaluate/private_evaluation.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "aggregator/release/release.hpp"
#include "common/base/json_text.hpp"
#include "common/base/version.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

// Everything public that decides what is released.
std::string config_of(const EvaluationTerms& terms, Adjacency adjacency) {
  nlohmann::json metrics = nlohmann::json::array();
  for (const EvaluationMetric metric : terms.metrics) metrics.push_back(to_string(metric));
  const nlohmann::json config{{"version", version()},
                              {"evaluation", metrics},
                              {"classes", terms.classes},
                              {"top_k", terms.has(EvaluationMetric::kTopK) ? terms.top_k : 0},
                              {"adjacency", to_string(adjacency)}};
  return json_text(config);
}

RunTerms run_terms(const EvaluationTerms& terms, const EvaluationBudget& budget) {
  return {.method = "evaluate",
          .accountant = budget.budget.accountant,
          .epsilon = budget.budget.epsilon,
          .delta = budget.budget.delta,
          .config_digest = to_hex(sha256(config_of(terms, budget.adjacency))),
          .version = version()};
}

}  // namespace

void evaluate_privately(const EvaluationTerms& terms, const EvaluationBudget& budget, double level, Communicator& ranks,
                        const std::function<void(const OnScoredRow&)>& visit,
                        const std::function<void(const PrivateEvaluation&)>& keep) {
  std::optional<ReleaseRequest> request;
  std::optional<NoisePlan> plan;
  ranks.together([&] {
    require_valid(terms);
    request = evaluation_request(terms, budget.adjacency);
    const double mu = budget_from(budget.budget).mu(budget.budget.accountant);
    plan = make_noise_plan(mu, budget.adjacency, {*request});
  });
  Releaser releaser(ranks, *plan, budget.seed ? NoiseKey::from_seed(*budget.seed) : NoiseKey::from_entropy(),
                    {.ledger_path = budget.ledger, .limit = budget.limit}, run_terms(terms, budget));
  MetricCounts counts(terms, *request);
  ranks.together([&] {
    visit([&](std::int32_t label, std::span<const double> scores, std::span<const double> probabilities) {
      counts.add(label, scores, probabilities);
    });
  });
  const Release release = releaser.release(request->name, std::move(counts).take());
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    keep({.figures = private_figures(release, terms, level), .guarantee = guarantee_of(budget.budget, plan->mu)});
    releaser.finish();
  });
}

}  // namespace dpreduce
