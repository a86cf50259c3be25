// Tries to refute what a run of `fit` would claim.
//
// Legend: the claim is (epsilon, delta) and mu; `proven` are lower bounds on epsilon and mu that hold with the stated
// confidence. A bound above the claim refutes it.
#include <atomic>
#include <chrono>

#include "audit/audited_method.hpp"
#include "audit/confidence_bounds.hpp"
#include "audit/neighbor_rows.hpp"
#include "audit/one_run_audit.hpp"
#include "audit/release_audit.hpp"
#include "commands/commands.hpp"
#include "common/base/text.hpp"
#include "common/data/synthetic.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"
#include "report/private_evaluation.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

struct AuditOptions {
  AuditOptions() {
    fit.data.classes = 200;
    fit.rows.normalize = Normalize::kNone;  // so that the clip is tested
  }
  bool one_run = false;  // with many canaries in one training set; else on two small data sets, again and again
  FitOptions fit;        // whose claim; for one run also rows (none: synthetic ones) and classes
  double confidence = 0.999;
  std::optional<std::size_t> trials;  // runs in all, many runs; empty: as many as take some seconds
  std::size_t canaries = 50000;       // of one run
};

constexpr double kSilosOfCanary = 3;        // over so many its rows are cut (audit/neighbor_rows.hpp)
constexpr double kMostRowsOfCanary = 1000;  // B: canaries are persons of several times so many rows

// With few coordinates few runs are enough to see how each is distributed. With four, a clip that held entries instead
// of the norm would let rows of twice the norm through, which an audit notices.
constexpr std::size_t kSmallDim = 4;
constexpr std::size_t kSmallClasses = 3;

// Evaluation that --method evaluate is audited with: of a model that is sure of the canary, most figures.
EvaluationOptions audited_evaluation() {
  ClassifierParts parts;
  parts.method = "mean";
  parts.preprocessing.input_dim = kSmallDim;
  parts.classes = kSmallClasses;
  constexpr std::array kWeights{4.0, -4.0, 0.0};
  for (const double weight : kWeights) parts.weights.insert(parts.weights.end(), kSmallDim, weight);
  parts.bias.assign(kSmallClasses, 0.0);
  parts.link = Link::kSoftmax;
  EvaluationOptions asked;
  asked.terms.metrics = {EvaluationMetric::kAccuracy, EvaluationMetric::kRecall, EvaluationMetric::kAuc};
  asked.terms.classes = kSmallClasses;
  asked.terms.has_probabilities = true;
  asked.terms.positive = 0;  // the canary's
  asked.models = {text_of(Classifier(std::move(parts)))};
  asked.models_are_public = true;
  asked.input_dim = kSmallDim;
  return asked;
}

AuditOptions validated(AuditOptions options) {
  const MethodEntry& method = method_entry(options.fit.method);
  if (!method.trains) options.fit.evaluation = audited_evaluation();
  if (method.chooses_public_rows) options.fit.data.public_x = {"public rows of the audit"};
  // L2 is what rows are compared by; whitened rows are short where they are only clipped, and hide a canary.
  if (method.chooses_public_rows || method.whitens_rows) options.fit.rows.normalize = Normalize::kL2;
  if (options.fit.data.rows_per_person) options.fit.data.train.person = {"persons of the audit"};
  if (options.fit.silos.silos_per_person) options.fit.silos.under_engine = true;  // the audit's own
  if (options.fit.data.has_targets()) options.fit.data.classes = 0;
  options.fit = validated(std::move(options.fit));
  return options;
}

constexpr std::size_t kOtherRows = 8;
constexpr std::size_t kOtherRowsOfChoice = 3;  // against more a canary would hardly ever be heard
constexpr std::size_t kPublicRows = 3;         // opposed_public_rows
constexpr std::size_t kBalancingRows = 200;    // against the noise of a released center
constexpr std::size_t kRowsTakenFor = 60;      // against the noise of rounds

constexpr std::size_t kMostTrialsOfRelease = 80000;
constexpr std::size_t kReleasesATrial = 5;  // one release is far cheaper than a run

constexpr std::size_t kSyntheticRows = 2000;
constexpr std::size_t kSyntheticDim = 256;
constexpr std::size_t kFewestDefaultTrials = 4000;
constexpr std::size_t kMostDefaultTrials = 60000;
constexpr double kLargestEpsilonToCheck = 100.0;
constexpr int kBoundDigits = 5;  // of bounds in text

struct Verdict {
  std::string method;
  Guarantee claimed{};
  double epsilon_lower = 0.0;
  double mu_lower = 0.0;
  nlohmann::json details{};
  std::vector<ReleaseLoss> releases{};  // each by itself
  void take(const ProvenLoss& proven) {
    epsilon_lower = std::max(epsilon_lower, proven.epsilon);
    mu_lower = std::max(mu_lower, proven.mu);
  }
  // The first of mu, epsilon (in the place of a mu) and the releases whose proven loss is above the claim; none where
  // none is.
  std::optional<ReleaseLoss> refuted() const {
    if (claimed.mu && mu_lower > *claimed.mu) return ReleaseLoss{"mu", *claimed.mu, mu_lower};
    if (epsilon_lower > claimed.epsilon) return ReleaseLoss{"epsilon", claimed.epsilon, epsilon_lower};
    for (const ReleaseLoss& release : releases) {
      if (release.mu_lower > release.mu_claimed)
        return ReleaseLoss{"mu of " + release.name, release.mu_claimed, release.mu_lower};
    }
    return std::nullopt;
  }
};

// Claim that a report of such a run states. Its mu is the plan's, but never above what (epsilon, delta) allow by a
// conversion of the audit's own, or above a declared mu: an error in the accounting must not move the claim.
Guarantee claim_of(const AuditedMethod& method) {
  const BudgetOptions& budget = method.options().privacy.budget;
  Guarantee claim = *method.plan().guarantee;
  if (!claim.mu) return claim;
  constexpr double kConversionError = 1e-6;
  if (budget.epsilon && claim.delta > 0.0 && *budget.epsilon <= kLargestEpsilonToCheck) {
    claim.mu = std::min(*claim.mu, mu_of_claim(claim.epsilon, claim.delta) * (1.0 + kConversionError));
  }
  if (budget.mu) claim.mu = std::min(*claim.mu, *budget.mu);
  return claim;
}

// Number of runs that proves most of mu at mu = 1: half a minute's on two cores with one release, some three minutes'
// with twenty rounds (0.6 ms a run and 0.5 ms a release).
std::size_t default_trials(const NoisePlan& plan) {
  constexpr std::size_t kTrials = 600000;
  std::size_t releases = 0;
  for (const PlannedRelease& planned : plan.releases) releases += planned.rounds;
  return std::clamp(kTrials / (1 + releases), kFewestDefaultTrials, kMostDefaultTrials);
}

std::size_t rows_taken_for(const AuditedMethod& method) {
  if (method.plan().public_selection) return kOtherRowsOfChoice;
  const auto& releases = method.plan().noise->releases;
  return std::any_of(releases.begin(), releases.end(), [](const auto& r) { return r.rounds > 1; }) ? kRowsTakenFor
                                                                                                   : kOtherRows;
}

// The allowed probability of a false alarm is divided: equal parts for each pair of neighbors, one for the audit of
// single releases. The part of a pair is halved between the bounds on mu and epsilon.
Verdict audit_many_runs(const AuditOptions& options) {
  FitOptions fit = options.fit;
  fit.data.classes = fit.data.has_targets() ? 1 : kSmallClasses;  // classes are numbers then
  const bool has_public_rows = !fit.data.public_x.empty();
  const AuditedMethod method(fit, kSmallDim, has_public_rows ? kPublicRows : 0);
  const bool is_centered = method.options().rows.center == Centering::kDp;
  const auto pairs = worst_case_pairs({.classes = kSmallClasses,
                                       .dim = kSmallDim,
                                       .clip_norm = fit.rows.clip_norm,
                                       .other_rows = method.plan().public_selection ? kOtherRowsOfChoice : kOtherRows,
                                       .rows_taken_for = rows_taken_for(method),
                                       .balancing_rows = is_centered ? kBalancingRows : 0,
                                       .adjacency = fit.privacy.adjacency,
                                       .person_rows = rows_of_canary(method.options().data),
                                       .has_counts = counts_rows(method.plan())});
  Verdict verdict{.method = method.options().method.name, .claimed = claim_of(method)};
  const std::size_t trials = options.trials.value_or(default_trials(*method.plan().noise));
  const TwoWorldTerms terms{.runs_per_world = trials / (2 * pairs.size()),
                            .delta = verdict.claimed.delta,
                            .error = (1.0 - options.confidence) / static_cast<double>(pairs.size() + 1),
                            .threads = fit.machine.threads != 0 ? fit.machine.threads : default_threads()};
  verdict.details["trials"] = 2 * pairs.size() * terms.runs_per_world;
  verdict.details["pairs"] = nlohmann::json::array();
  for (const NeighborPair& pair : pairs) {
    const PrivateFolder folder;
    const WorldFiles files = write_worlds(pair, has_public_rows, fit.rows.clip_norm, folder.path());
    std::atomic<int> ledgers = 0;
    const auto on_this_pair = [&] {
      return std::make_unique<MethodRun>(method, files, folder / fmt::format("ledger.{}.jsonl", ledgers++));
    };
    if (&pair == &pairs.front()) {
      const std::size_t most_trials =
          std::min(kReleasesATrial * 2 * pairs.size() * terms.runs_per_world, kMostTrialsOfRelease);
      verdict.releases = audit_each_release(method, files, most_trials, terms.error, folder / "releases.jsonl");
    }
    const ProvenLoss proven = audit_two_worlds(on_this_pair, terms);
    verdict.take(proven);
    const std::unique_ptr<MethodRun> one_more = on_this_pair();
    one_more->observe(World::kWithCanary);
    verdict.details["pairs"].push_back({{"name", pair.name},
                                        {"epsilon_lower", proven.epsilon},
                                        {"mu_lower", proven.mu},
                                        {"mu_if_as_planned", one_more->planned_distance()}});
  }
  return verdict;
}

Verdict audit_one_run(const AuditOptions& options) {
  const PrivateFolder folder;
  const FitOptions& fit = options.fit;
  SyntheticFiles rows{.train_x = fit.data.train.x, .train_y = fit.data.train.y, .test_x = {}, .test_y = {}};
  if (rows.train_x.empty()) {
    const SyntheticSpec spec{.train_rows = kSyntheticRows,
                             .test_rows = 0,
                             .dim = std::max(kSyntheticDim, fit.data.classes),
                             .classes = fit.data.classes};
    rows = write_synthetic(SyntheticRows(spec), folder.path().string(), 1);
  }
  const AuditedMethod method(fit, WorkerRows::open(rows.train_x, rows.train_y, 0, 1).dim());
  Verdict verdict{.method = method.options().method.name, .claimed = claim_of(method)};
  const OneRunTerms terms{options.canaries, verdict.claimed.delta, 1.0 - options.confidence};
  const OneRunResult result = audit_in_one_run(method, rows.train_x, rows.train_y, terms, folder);
  verdict.take({result.epsilon, result.mu});
  verdict.details = {{"trials", 1},
                     {"canaries", terms.canaries},
                     {"guesses", result.guesses.guesses},
                     {"correct", result.guesses.correct}};
  return verdict;
}

nlohmann::json to_json(const AuditOptions& options, const Verdict& verdict, double seconds) {
  nlohmann::json json{
      {"method", verdict.method},
      {"adjacency", to_string(options.fit.privacy.adjacency)},
      {"unit", to_string(options.fit.data.unit())},
      {"claimed",
       {{"epsilon", verdict.claimed.epsilon}, {"delta", verdict.claimed.delta}, {"mu", or_null(verdict.claimed.mu)}}},
      {"epsilon_lower", verdict.epsilon_lower},
      {"mu_lower", verdict.mu_lower},
      {"epsilon_lower_if_gaussian", nullptr},
      {"confidence", options.confidence},
      {"refuted", verdict.refuted().has_value()},
      {"seconds", seconds}};
  const double delta = verdict.claimed.delta;
  if (delta > 0.0) json["epsilon_lower_if_gaussian"] = epsilon_of_mu(verdict.mu_lower, delta);
  json.update(verdict.details);
  if (!verdict.releases.empty()) json["releases"] = nlohmann::json::array();
  for (const ReleaseLoss& release : verdict.releases) {
    json["releases"].push_back(
        {{"name", release.name}, {"mu_claimed", release.mu_claimed}, {"mu_lower", release.mu_lower}});
  }
  return json;
}

std::string verdict_text(const nlohmann::json& json) {
  const JsonFields verdict(json, "verdict");
  Facts facts{
      {"observed", line_of(facts_of(verdict, {{"method", "", Written::kText},
                                              {"trials", "runs"},
                                              {"canaries"},
                                              {"guesses"},
                                              {"correct", "guesses right"}}))},
      {"claimed", line_of(promise_facts(verdict.object("claimed")), kBoundDigits)},
      {"", line_of(facts_of(verdict, {{"adjacency", "neighbors", Written::kText}, {"unit", "", Written::kText}}))},
      {"proven", line_of(facts_of(verdict, {{"epsilon_lower", "epsilon at least", Written::kAtLeast},
                                            {"mu_lower", "mu of a mechanism that is mu-GDP", Written::kAtLeast},
                                            {"epsilon_lower_if_gaussian", "which is epsilon", Written::kAtLeast}}),
                         kBoundDigits)},
      {"verdict", verdict.flag("refuted") ? "the claim is REFUTED" : "the claim stands"},
      {"", line_of(facts_of(verdict, {{"confidence"}, {"seconds"}}))}};
  if (!verdict.object("claimed").has("mu")) facts[1].value.text += ", mu none: rounds on samples";
  return text_of(facts) +
         text_of(table_of("pairs of adjacent data sets", verdict.objects("pairs"),
                          {{"name", "pair", Written::kText},
                           {"epsilon_lower", "epsilon proven", Written::kAtLeast},
                           {"mu_lower", "mu proven", Written::kAtLeast},
                           {"mu_if_as_planned", "mu if as planned", Written::kAtMost}})) +
         text_of(table_of("releases by themselves", verdict.objects("releases"),
                          {{"name", "release", Written::kText},
                           {"mu_lower", "mu proven", Written::kAtLeast},
                           {"mu_claimed", "mu charged", Written::kAtMost}}));
}

// Verdict as JSON, which is printed, if it is to be, before a claim that is refuted is thrown.
nlohmann::json audited(const AuditOptions& options, bool prints) {
  if (launched_by_mpi()) throw UsageError("audit: runs on its own, with threads; start it without mpirun");
  const auto start = std::chrono::steady_clock::now();
  const Verdict verdict = options.one_run ? audit_one_run(options) : audit_many_runs(options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  nlohmann::json json = to_json(options, verdict, elapsed.count());
  if (prints) {
    print_result(options.fit.output.format, json, [&] { return verdict_text(json); });
    std::fflush(stdout);
  }
  if (const std::optional<ReleaseLoss> refuted = verdict.refuted()) {
    throw ClaimRefuted("the claim is refuted: {} is at least {}, not {}; do not trust releases of this build",
                       refuted->name, lower_figure(refuted->mu_lower, kBoundDigits),
                       upper_figure(refuted->mu_claimed, kBoundDigits));
  }
  return json;
}

void run(const AuditOptions& options, Communicator& ranks) {
  ranks.together([&] { audited(options, true); });
}

void add_audit_rules(OptionTable& table, FitOptions& fit) {
  choose_accountant(table, fit.privacy.budget, fit.method.batch);
  table.excludes("--targets", "--one-run", "numbers have no class sums; leave --one-run out");
  const std::string without_sums =
      fmt::format("--method {}|{}", evaluate_method.name,
                  fmt::join(names_where([](const MethodEntry& method) { return method.chooses_public_rows; }), "|"));
  table.excludes("--one-run", without_sums, "it releases no class sums; leave --one-run out");
  table.together("--train-x", "--train-y");
  table.needs("--train-x", "--one-run", "only an audit by one run reads rows");
  table.needs("--silos-per-person", "--rows-per-person");
  for (const char* own : {"--one-run", "--batch"}) {
    table.excludes("--silos-per-person", own, "it needs complete runs on all rows; leave one out");
  }
}

void declare(OptionTable& table, AuditOptions& options) {
  declare_method(table, options.fit.method);
  table.flag("--targets", options.fit.data.train.has_targets,
             "audit the releases for numeric targets, instead of classes");
  declare_rows(table, options.fit.rows);
  declare_budget(table, options.fit.privacy.budget);
  table.choice("--adjacency", options.fit.privacy.adjacency, "relation of neighboring data sets").in_group("Privacy");
  table
      .count("--rows-per-person", options.fit.data.rows_per_person,
             "audits a claim about persons, whose rows are clipped to B rows together: each canary is a person with "
             "more rows, on several ranks")
      .from(1, kMostRowsOfCanary)
      .typed("B");
  table
      .count(
          "--silos-per-person", options.fit.silos.silos_per_person,
          "audits a claim about silos, each of which clips a person to B / S rows: each canary has rows in three silos")
      .from(kSilosOfCanary, 1000)
      .typed("S");
  table.number("--confidence", options.confidence, "a true claim is refuted with probability at most 1 minus this")
      .from(0.5, 1.0 - 1e-12);
  table
      .count("--trials", options.trials,
             "complete runs of the method, on small data sets; default: enough to prove most of mu 1 (some minutes if "
             "rows are whitened)")
      .from(100, 1e9);
  table.count("--threads", options.fit.machine.threads, "default: all cores").defaults_to("");
  constexpr const char* kOneRun = "One run";
  table.flag("--one-run", options.one_run, "one run, with many canaries in one training set").in_group(kOneRun);
  table
      .count("--canaries", options.canaries,
             "canaries, each in or out by a fair coin; more than K times d of them hide each other")
      .from(100, 1e6)
      .in_group(kOneRun);
  table.files("--train-x", options.fit.data.train.x, "rows to which the canaries are added; default: synthetic rows")
      .in_group(kOneRun);
  table.files("--train-y", options.fit.data.train.y, "their labels").in_group(kOneRun);
  table.count("--classes", options.fit.data.classes, "K").in_group(kOneRun);
  declare_format(table, options.fit.output.format);
  add_audit_rules(table, options.fit);
  table.put_first("--method", "method to audit: mean, ls, fc, gd, ...; or evaluate");
  table.put_first("--epsilon", "claimed epsilon, with --delta");
  table.put_first("--delta", "claimed delta, with --epsilon");
  table.put_first("--mu", "or the claimed mu of Gaussian DP");
  table.put_first("--adjacency", "neighbors: a record is added or removed, or replaced");
  table.put_first("--confidence", "1 minus the probability of refuting a true claim");
  table.put_first("--trials", "number of runs; default: enough for some minutes");
  table.put_first("--one-run", "one run with many canaries, instead of many runs");
  table.put_first("--train-x", "with --one-run: rows to which canaries are added");
  table.put_first("--train-y", "their labels");
  table.put_first("--classes", "their number of classes");
  table.put_first("--format", "text, or json");
}

}  // namespace

CommandEntry audit_command() {
  CommandEntry command = command_reading<AuditOptions>(
      "audit", "try to refute a privacy claim on adjacent data sets (exit 8)", declare,
      [](const auto& options, auto&) { return by_all_ranks(run, validated(options)); },
      "  dpreduce audit --epsilon 1 --delta 1e-5\n"
      "  dpreduce audit --method mean --metric euclidean --mu 2 --adjacency replace-one --trials 1000000\n"
      "  dpreduce audit --method mean --one-run --train-x x.npy --train-y y.npy --classes 10 --epsilon 4 --delta 1e-6 "
      "--format json",
      {}, [](const auto& options, auto&) { return json_text(audited(validated(options), false)); });
  command.first_footer =
      "Examples:\n"
      "  dpreduce audit --epsilon 1 --delta 1e-5\n"
      "  dpreduce audit --method mean --one-run --train-x x.npy --train-y y.npy --classes 10 \\\n"
      "    --epsilon 4 --delta 1e-6";
  return command;
}

}  // namespace dpreduce
