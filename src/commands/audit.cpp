// Tries to refute what a run of `fit` would claim.
//
// Legend: the claim is (epsilon, delta) and mu; `proven` are lower bounds on epsilon and mu that hold with the stated
// confidence. A bound above the claim refutes it.
#include <algorithm>
#include <atomic>
#include <chrono>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dpreduce/audit/confidence_bounds.hpp"
#include "dpreduce/audit/method_run.hpp"
#include "dpreduce/audit/neighbour_rows.hpp"
#include "dpreduce/audit/one_run_audit.hpp"
#include "dpreduce/commands/commands.hpp"
#include "dpreduce/commands/evaluation.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/data/synthetic_files.hpp"
#include "dpreduce/privacy/guarantee.hpp"
#include "dpreduce/transport/lifetime.hpp"

namespace dpreduce {
namespace {

// Few coordinates, so that few runs tell what they do; four, so that an entry-wise clip lets twice the norm through.
constexpr std::size_t kSmallDim = 4;
constexpr std::size_t kSmallClasses = 3;
constexpr std::size_t kOtherRows = 8;
constexpr std::size_t kOtherRowsOfChoice = 3;  // against more a canary would hardly ever be heard
constexpr std::size_t kPublicRows = 3;         // opposed_public_rows
constexpr std::size_t kBalancingRows = 200;    // against the noise of a released centre

constexpr std::size_t kSyntheticRows = 10000;
constexpr std::size_t kSyntheticDim = 256;
constexpr std::size_t kFewestDefaultTrials = 4000;
constexpr double kLargestEpsilonToCheck = 100.0;

struct Verdict {
  std::string method;
  Guarantee claimed{};
  double epsilon_lower = 0.0;
  double mu_lower = 0.0;
  nlohmann::json details;
  bool refutes_mu() const { return claimed.mu && mu_lower > *claimed.mu; }
  bool refutes_epsilon() const { return epsilon_lower > claimed.epsilon; }
};

// What a report of such a run states. mu is the plan's, but never above what (epsilon, delta) allow by a conversion of
// the audit's own, or above a stated mu: an error in the accounting must not move the claim.
Guarantee claim_of(const AuditedMethod& method) {
  const BudgetOptions& budget = method.options().budget;
  Guarantee claim = *method.plan().guarantee;
  if (!claim.mu) return claim;
  constexpr double kConversionError = 1e-6;
  if (budget.epsilon && claim.delta > 0.0 && *budget.epsilon <= kLargestEpsilonToCheck) {
    claim.mu = std::min(*claim.mu, mu_of_claim(claim.epsilon, claim.delta) * (1.0 + kConversionError));
  }
  if (budget.mu) claim.mu = std::min(*claim.mu, *budget.mu);
  return claim;
}

// As many runs as take 5 to 20 seconds on two cores, at 20 us a run and 40 us a release.
std::size_t default_trials(const NoisePlan& plan) {
  constexpr std::size_t kTrials = 400000;
  std::size_t releases = 0;
  for (const PlannedRelease& planned : plan.releases) releases += planned.rounds;
  return std::max(kFewestDefaultTrials, kTrials / (1 + releases));
}

// The error is shared by the pairs of neighbours, and by the two bounds on each.
Verdict audit_many_runs(const AuditOptions& options) {
  FitOptions fit = options.fit;
  fit.classes = kSmallClasses;
  const bool has_public_rows = !fit.public_x.empty();
  const AuditedMethod method(fit, kSmallDim, has_public_rows ? kPublicRows : 0);
  const bool is_centred = method.options().center == Centering::kDp;
  const auto pairs = worst_case_pairs({.classes = kSmallClasses,
                                       .dim = kSmallDim,
                                       .clip_norm = fit.clip_norm,
                                       .other_rows = method.plan().prototypes ? kOtherRowsOfChoice : kOtherRows,
                                       .balancing_rows = is_centred ? kBalancingRows : 0,
                                       .adjacency = fit.adjacency});
  Verdict verdict{.method = std::string(method.name()),
                  .claimed = claim_of(method),
                  .epsilon_lower = 0.0,
                  .mu_lower = 0.0,
                  .details = {}};
  const TwoWorldTerms terms{
      .runs_per_world = options.trials.value_or(default_trials(*method.plan().noise)) / (2 * pairs.size()),
      .delta = verdict.claimed.delta,
      .error = (1.0 - options.confidence) / static_cast<double>(pairs.size()),
      .threads = fit.threads != 0 ? fit.threads : default_threads()};
  verdict.details["trials"] = 2 * pairs.size() * terms.runs_per_world;
  verdict.details["pairs"] = nlohmann::json::array();
  for (const NeighbourPair& pair : pairs) {
    const PrivateFolder folder;
    pair.without.write(folder / "x0.npy", folder / "y0.npy");
    pair.with.write(folder / "x1.npy", folder / "y1.npy");
    const std::string public_x = has_public_rows ? folder / "p.npy" : std::string();
    if (has_public_rows) opposed_public_rows(kSmallDim, fit.clip_norm).write(public_x, folder / "none.npy");
    std::atomic<int> ledgers = 0;
    const auto on_this_pair = [&] {
      return std::make_unique<MethodRun>(method, MethodRun::Files{folder / "x0.npy", folder / "y0.npy"},
                                         MethodRun::Files{folder / "x1.npy", folder / "y1.npy"},
                                         folder / fmt::format("ledger.{}.jsonl", ledgers++), public_x);
    };
    const ProvenLoss proven = audit_two_worlds(on_this_pair, terms);
    verdict.epsilon_lower = std::max(verdict.epsilon_lower, proven.epsilon);
    verdict.mu_lower = std::max(verdict.mu_lower, proven.mu);
    verdict.details["pairs"].push_back(
        {{"name", pair.name}, {"epsilon_lower", proven.epsilon}, {"mu_lower", proven.mu}});
  }
  return verdict;
}

// What is proven of epsilon is proven of mu: were mu smaller, epsilon would be as well.
Verdict audit_one_run(const AuditOptions& options) {
  const PrivateFolder folder;
  const FitOptions& fit = options.fit;
  SyntheticFiles rows{.train_x = fit.train.x, .train_y = fit.train.y, .test_x = {}, .test_y = {}};
  if (rows.train_x.empty()) {
    SyntheticSpec spec;
    spec.train_rows = kSyntheticRows;
    spec.test_rows = 0;
    spec.dim = std::max(kSyntheticDim, fit.classes);
    spec.classes = fit.classes;
    rows = write_synthetic(SyntheticRows(spec), folder.path().string(), 1);
  }
  const AuditedMethod method(fit, WorkerRows::open(rows.train_x, rows.train_y, 0, 1).dim());
  Verdict verdict{.method = std::string(method.name()),
                  .claimed = claim_of(method),
                  .epsilon_lower = 0.0,
                  .mu_lower = 0.0,
                  .details = {}};
  const OneRunTerms terms{options.canaries, verdict.claimed.delta, 1.0 - options.confidence};
  const OneRunResult result = audit_in_one_run(method, rows.train_x, rows.train_y, terms, folder);
  verdict.epsilon_lower = result.epsilon;
  if (result.epsilon > 0.0) verdict.mu_lower = mu_of_claim(result.epsilon, terms.delta);
  verdict.details = {
      {"trials", 1}, {"canaries", terms.canaries}, {"guesses", result.guesses}, {"correct", result.correct}};
  return verdict;
}

nlohmann::json to_json(const AuditOptions& options, const Verdict& verdict, double seconds) {
  nlohmann::json json{
      {"method", verdict.method},
      {"adjacency", to_string(options.fit.adjacency)},
      {"claimed",
       {{"epsilon", verdict.claimed.epsilon}, {"delta", verdict.claimed.delta}, {"mu", or_null(verdict.claimed.mu)}}},
      {"epsilon_lower", verdict.epsilon_lower},
      {"mu_lower", verdict.mu_lower},
      {"epsilon_lower_if_gaussian", nullptr},
      {"confidence", options.confidence},
      {"refuted", verdict.refutes_mu() || verdict.refutes_epsilon()},
      {"seconds", seconds}};
  const double delta = verdict.claimed.delta;
  if (delta > 0.0) json["epsilon_lower_if_gaussian"] = epsilon_of_mu(verdict.mu_lower, delta);
  json.update(verdict.details);
  return json;
}

void print_text(const nlohmann::json& json) {
  const auto number = [](const nlohmann::json& value) { return value.get<double>(); };
  const nlohmann::json& claimed = json["claimed"];
  if (json.contains("canaries")) {
    fmt::print("observed   one run of {}, {} canaries, {} of {} guesses right\n", json["method"].get<std::string>(),
               json["canaries"].dump(), json["correct"].dump(), json["guesses"].dump());
  } else {
    fmt::print("observed   {} runs of {} on {} pairs of adjacent data sets\n", json["trials"].dump(),
               json["method"].get<std::string>(), json["pairs"].size());
  }
  const bool has_mu = claimed["mu"].is_number();
  fmt::print("claimed    epsilon {:<10.5g} at delta {:g}, mu {}\n", number(claimed["epsilon"]),
             number(claimed["delta"]),
             has_mu ? fmt::format("{:.5g}", number(claimed["mu"])) : "none: rounds on samples");
  fmt::print("proven     epsilon {:<10.5g} whatever the mechanism\n", number(json["epsilon_lower"]));
  if (has_mu && json["epsilon_lower_if_gaussian"].is_number()) {
    fmt::print("           mu      {:<10.5g} (epsilon {:.5g}) of a Gaussian one\n", number(json["mu_lower"]),
               number(json["epsilon_lower_if_gaussian"]));
  } else if (has_mu) {
    fmt::print("           mu      {:<10.5g} of one that is mu-GDP\n", number(json["mu_lower"]));
  }
  fmt::print("verdict    {} (confidence {:g}, {:.1f} s)\n",
             json["refuted"].get<bool>() ? "the claim is REFUTED" : "the claim stands", number(json["confidence"]),
             number(json["seconds"]));
}

[[noreturn]] void refute(const char* name, double proven, double claimed) {
  throw ClaimRefuted(
      fmt::format("the claim is refuted: {} is at least {:.5g}, not {:.5g}; do not trust releases of this build", name,
                  proven, claimed));
}

}  // namespace

void run_command(const AuditOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (launched_by_mpi()) throw UsageError("audit: runs on its own, with threads; start it without mpirun");
    const auto start = std::chrono::steady_clock::now();
    const Verdict verdict = options.kind == AuditKind::kOneRun ? audit_one_run(options) : audit_many_runs(options);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const nlohmann::json json = to_json(options, verdict, elapsed.count());
    if (options.fit.format == OutputFormat::kJson) {
      fmt::print("{}\n", json.dump(2));
    } else {
      print_text(json);
    }
    std::fflush(stdout);
    if (verdict.refutes_mu()) refute("mu", verdict.mu_lower, *verdict.claimed.mu);
    if (verdict.refutes_epsilon()) {
      refute("epsilon", verdict.epsilon_lower, verdict.claimed.epsilon);
    }
  });
}

}  // namespace dpreduce
