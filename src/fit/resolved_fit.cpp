#include "fit/resolved_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "aggregator/solvers/public_refit.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/public_names.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/spending.hpp"
#include "common/ledger/triangle.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/rank_archive.hpp"
#include "fit/row_preparation.hpp"
#include "methods/class_balance.hpp"
#include "methods/fit_options.hpp"
#include "methods/registry.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/utilities.hpp"

namespace dpreduce {
namespace {

// At epsilon 1 this is enough to distinguish candidates that differ by some tens of correct rows.
constexpr double kChooseShare = 0.02;
// A mu that is divided into shares is taken a little smaller first, so that roundings cannot add up to more than it.
constexpr double kBelowOne = 1.0 - 1e-15;

std::string config_of(const FitOptions& options, const Preprocessing& preprocessing, const TrainingMethod& method) {
  nlohmann::json config = settings_json(options, preprocessing);
  config.update({{"settings", method.settings()},
                 {"max_labels", options.data.most_labels()},
                 {"pool", preprocessing.pool},
                 {"center_share", center_share(options)},
                 {"pca", options.rows.pca},
                 {"select", options.rows.select},
                 {"choose", options.method.choose},
                 {"adjacency", to_string(options.privacy.adjacency)},
                 {"bad_rows", to_string(options.data.train.bad_rows)}});
  if (!options.rows.feature_range.empty()) config["feature_range"] = options.rows.feature_range;
  if (options.rows.finds_some()) config["feature_range"] = to_string(*options.rows.finds_ranges);
  if (options.rows.chooses_clip) config["clip_norm"] = "chosen";
  if (!options.data.target_range.empty()) config["target_range"] = options.data.target_range;
  if (options.data.has_units()) config["rows_per_person"] = options.data.bounded_rows();
  if (options.data.weight_bound) config["weight_bound"] = *options.data.weight_bound;
  if (options.silos.silos_per_person) config["silos_per_person"] = *options.silos.silos_per_person;
  if (options.evaluation.share) config["evaluate_share"] = *options.evaluation.share;
  return json_text(config);
}

// The coordinator holds the sum, its released copy and the model's weights at once. A Gram matrix is summed as a
// square; once it is released, its eigenvectors are found in three squares (gram_spectrum.hpp).
constexpr std::size_t kCopies = 4;
constexpr std::size_t kCopiesOfGram = 7;
// In a release in parts, one matrix is solved at a time, and a few are summed; what is released beside them is copied
// to every rank.
constexpr std::size_t kCopiesOfPart = 7 + 2 * kGramsAtOnce;
constexpr std::size_t kCopiesBesideParts = 5;

std::size_t bytes_of(const ReleaseRequest& request) {
  std::size_t elements = 0;
  for (const BlockRequest& block : request.blocks) {
    if (!request.in_parts) {
      const bool is_gram = block.noise == BlockNoise::kSymmetric && block.triangles == 1;
      elements += (is_gram ? kCopiesOfGram : kCopies) * block.elements;
    } else if (block.triangles > 1) {
      elements += kCopiesOfPart * (block.elements / block.triangles);
    } else {
      elements += kCopiesBesideParts * block.elements;
    }
  }
  return elements * sizeof(std::int64_t);
}

// For the case that one rank holds the utilities of all public rows. A set of prototypes is drawn from the utilities of
// a class in falling order (selection_sampler.hpp), which takes a big integer for each of them.
constexpr std::size_t kBytesOfRankedCandidate = 88;

// The digits that a class sum of fewer than 2^48 rows may have (utilities.hpp).
constexpr std::size_t kMostDigits = 4;

std::size_t bytes_of(const PlannedSelection& selection) {
  const SelectionTerms& terms = selection.terms;
  const std::size_t products = kMostRowsPerChunk * std::max<std::size_t>(kRowsOfPairs, kMostDigits * terms.groups);
  return (terms.groups * terms.candidates + products) * sizeof(std::int64_t) +
         (terms.chosen > 1 ? terms.candidates * kBytesOfRankedCandidate : 0);
}

// Plans a selection that takes the whole budget.
void plan_selection(FitPlan& plan, PlannedSelection selection, const FitOptions& options) {
  DPREDUCE_ASSERT(plan.requests.empty());
  selection.terms.sensitivity *= options.data.bounded_rows();
  if (!options.privacy.budget.non_private) {
    selection.terms.epsilon = selection_epsilon_of(options.privacy.budget);
    plan.noise = with_selections({.adjacency = options.privacy.adjacency}, {selection});
    plan.guarantee = selection_guarantee_of(options.privacy.budget, selection.terms.epsilon);
  }
  plan.public_selection = std::move(selection);
}

// The share of mu^2 that a choice by training rows takes.
double share_of_choice(const FitOptions& options) {
  const bool takes_some = options.method.choose && options.data.validation.x.empty();
  return takes_some ? options.method.choose_share.value_or(kChooseShare) : 0.0;
}

// Adds the figures of test rows to what is released, at their share of all of mu^2.
void share_with_evaluation(std::vector<ReleaseRequest>& requests, ReleaseTerms terms, const FitOptions& options) {
  const double share = *options.evaluation.share / (1.0 - share_of_choice(options));
  if (!(share < 1.0)) {
    throw UsageError("--evaluate-share {}: leaves no budget for training beside --choose; lower it",
                     *options.evaluation.share);
  }
  for (ReleaseRequest& request : requests) request.share *= 1.0 - share;
  terms.evaluation = options.evaluation.terms;
  requests.push_back(registered_statistic("evaluation").request(terms, share));
}

// Plans the noise of all releases, and sets a share of mu^2 aside where training rows choose among candidates.
void plan_releases(FitPlan& plan, const FitOptions& options, const TrainingMethod& method) {
  const BudgetOptions& budget = options.privacy.budget;
  if (options.method.batch) {
    plan.noise = make_sampled_noise_plan(budget, options.privacy.adjacency, plan.requests);
    plan.guarantee = sampled_guarantee_of(budget);
    return;
  }
  const double mu = mu_of(budget);
  double mu_of_releases = mu;
  double mu_of_choice = 0.0;
  if (const double share = share_of_choice(options); share > 0.0) {
    plan.choice = {"choice",
                   {.epsilon = selection_epsilon(mu * std::sqrt(share)),
                    .sensitivity = options.data.bounded_rows(),
                    .candidates = method.candidates()},
                   options.data.weighs_rows() ? kWeightBits : 0};
    mu_of_choice = selection_mu(plan.choice->terms.epsilon);
    mu_of_releases = mu * std::sqrt(1.0 - share) * kBelowOne;
  }
  plan.noise = make_noise_plan(mu_of_releases, options.privacy.adjacency, plan.requests);
  if (plan.choice) plan.noise = with_selections(std::move(*plan.noise), {*plan.choice});
  const std::array mus{plan.noise->mu, mu_of_choice};
  plan.guarantee = guarantee_of(budget, gdp_compose(mus));
  DPREDUCE_ASSERT(plan.guarantee->mu <= mu);
}

// The guarantee of the plan, and of these of its releases once more: adaptive composition, as of any others.
Guarantee guarantee_with(const FitPlan& plan, BudgetOptions budget, std::span<const std::string> lost) {
  NoisePlan once{.adjacency = plan.noise->adjacency};
  double epsilon = plan.public_selection ? plan.public_selection->terms.epsilon : 0.0;
  std::vector<double> mus{plan.guarantee->mu.value_or(0.0)};
  for (const std::string& label : lost) {
    const std::string name = label.substr(0, label.find('/'));
    const auto selection = std::ranges::find(plan.noise->selections, name, &PlannedSelection::name);
    if (selection != plan.noise->selections.end()) {
      epsilon += selection->terms.epsilon;
      mus.push_back(selection_mu(selection->terms.epsilon));
      continue;
    }
    once.releases.push_back(plan.noise->release(name));
    once.releases.back().rounds = 1;
    once.releases.back().mu = mu_of_rounds(plan.noise->release(name), 1);
    mus.push_back(once.releases.back().mu);
  }
  if (plan.public_selection) return selection_guarantee_of(budget, epsilon);
  if (!plan.guarantee->mu) {  // rounds on samples
    Guarantee all = *plan.guarantee;
    all.epsilon = std::max(all.epsilon, epsilon_of(composed(spending_of(*plan.noise), spending_of(once)), all.delta));
    return all;
  }
  budget.epsilon.reset();  // the stated one is of the plan alone
  return guarantee_of(budget, gdp_compose(mus));
}

// A row of one feature that is scaled to norm C, or only multiplied, is a sign. Messages spell "1 feature(s)" as
// scikit-learn asks of estimators.
void require_more_than_signs(const FitOptions& options, std::size_t dim) {
  if (options.rows.normalize == Normalize::kL2 && dim == 1) {
    throw UsageError(
        "--normalize l2 with rows of 1 feature(s): only the sign of a row would remain; keep more features, or use "
        "--normalize none with --clip at about their usual size");
  }
  const MethodEntry& method = method_entry(options.method);
  const bool has_one = dim == 1 || (method.selects_features && options.rows.select == 1);
  if (has_one && method.has_constant != nullptr && !method.has_constant(options)) {
    throw UsageError(
        "--method {} with rows of 1 feature(s): its scores have no intercept, so only a row's sign counts; "
        "keep more features, or use {}another method",
        method.name, method.takes_option("--metric") ? "--metric euclidean or " : "");
  }
}

// Plans whether the run is private, why it is not, and the budget of its data set.
void plan_promise(FitPlan& plan, const FitOptions& options) {
  const PrivacyOptions& privacy = options.privacy;
  if (privacy.seed) plan.forfeits.push_back(Forfeit::kSeed);
  if (options.data.classes_are_of_rows) plan.forfeits.push_back(Forfeit::kClassesFromRows);
  add(plan.forfeits, forfeits_of_models(options));
  plan.is_private = plan.forfeits.empty();
  if (!privacy.limit_epsilon) return;
  if (const Forfeits other = beside_seed(plan.forfeits); !other.empty()) {
    throw UsageError("--budget-epsilon: a run that is not private has no finite epsilon: {}", reason_of(other.front()));
  }
  plan.limit = data_set_budget(*privacy.limit_epsilon, *privacy.limit_delta);
}

// Plans the memory of releases and of what rows are multiplied by.
void plan_memory(FitPlan& plan, const FitOptions& options, std::uint64_t public_rows) {
  std::size_t largest_release = 0;
  for (const ReleaseRequest& request : plan.requests) largest_release = std::max(largest_release, bytes_of(request));
  if (plan.public_selection) largest_release = bytes_of(*plan.public_selection);
  const std::size_t pooled_dim = plan.preprocessing.dim();
  if (options.rows.pca > 0) {
    largest_release = std::max(largest_release, kCopiesOfGram * triangle_elements(pooled_dim) * sizeof(std::int64_t));
  }
  if (whitens_by_public_rows(options)) {  // the public rows' matrix, the difference and its eigenvectors
    largest_release += 2 * kCopiesOfGram * triangle_elements(plan.dim) * sizeof(std::int64_t);
  }
  plan.projection_elements = (method_entry(options.method).whitens_rows ? plan.dim : options.rows.pca) * pooled_dim;
  if (options.method.batch) {
    largest_release += kDrawnRowsAtOnce * (sizeof(std::int16_t) * (plan.dim + 1) + sizeof(std::int32_t));
  }
  if (refits_on_public_rows(options, plan.dim, public_rows)) {
    largest_release = std::max(largest_release, public_refit_bytes(options.data.classes, plan.dim, public_rows));
  }
  plan.memory_bytes =
      (options.machine.memory_mib.value() << 20) + largest_release +
      plan.projection_elements * (sizeof(double) + 2 * sizeof(std::int16_t));  // and on the lattice, and packed
}

// Plans the noise of a selection, or of releases, and what the run promises.
void plan_noise(FitPlan& plan, const FitOptions& options, const TrainingMethod& method,
                std::optional<PlannedSelection> selection) {
  const bool has_noise = !options.privacy.budget.non_private;
  if (selection && options.evaluation.share) {
    throw UsageError(
        "--evaluate-share with --method {}: its choice spends the whole budget; evaluate the model "
        "afterwards with dpreduce evaluate --private",
        options.method.name);
  }
  if (selection) plan_selection(plan, std::move(*selection), options);
  if (!selection && has_noise) plan_releases(plan, options, method);
  if (has_noise) plan_promise(plan, options);
}

}  // namespace

ResolvedFit::ResolvedFit(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows,
                         std::uint64_t bytes_for_rank)
    : options_(resolved(options, input_dim, public_rows, bytes_for_rank)),
      plan_(make_fit_plan(options_, input_dim, public_rows)),
      method_(make_method(options_)) {
  require_feature_names(options_.data.train.feature_names, input_dim);
}

ResolvedFit::ResolvedFit(FitOptions resolved, FitPlan plan)
    : options_(std::move(resolved)), plan_(std::move(plan)), method_(make_method(options_)) {}

ResolvedFit ResolvedFit::with_lost(std::vector<std::string> labels) const {
  FitPlan plan = plan_;
  plan.guarantee = guarantee_with(plan, options_.privacy.budget, labels);
  plan.lost = std::move(labels);
  return {options_, std::move(plan)};
}

ClassifierParts ResolvedFit::parts(Preprocessing preprocessing) const {
  ClassifierParts parts{.method = options_.method.name,
                        .privacy = std::nullopt,
                        .preprocessing = std::move(preprocessing),
                        .classes = options_.data.classes,
                        .weights = {},
                        .bias = {},
                        .cosine_head = {},
                        .class_names = options_.data.train.class_names,
                        .feature_names = options_.data.train.feature_names,
                        .forfeits = beside_seed(plan_.forfeits)};
  if (!plan_.is_private) return parts;
  const Guarantee& g = *plan_.guarantee;
  parts.privacy = {g.epsilon, g.delta, g.mu, g.rho, options_.privacy.adjacency, person_of(options_)};
  return parts;
}

RunTerms ResolvedFit::terms() const {
  const BudgetOptions& budget = options_.privacy.budget;
  const bool is_stated = budget.epsilon && !plan_.public_selection;
  return {.method = options_.method.name,
          .accountant = budget.accountant,
          .unit = options_.data.unit(),
          .epsilon = is_stated ? budget.epsilon : std::nullopt,
          .delta = is_stated ? budget.delta : std::nullopt,
          .config_digest = plan_.config_digest,
          .version = version(),
          .forfeits = beside_seed(plan_.forfeits),
          .public_by_word = public_by_word(options_),
          .asked = options_.method.asked};
}

StreamPlan ResolvedFit::stream_over(const WorkerRows& rows, unsigned threads,
                                    std::optional<std::size_t> memory_bytes) const {
  return {.classes = options_.data.classes,
          .bad_rows = options_.data.train.bad_rows,
          .memory_bytes = memory_bytes.value_or(options_.machine.memory_mib.value() << 20),
          .threads = threads,
          .labels_per_row = rows.label_slots(options_.data.most_labels())};
}

std::shared_ptr<const ResolvedFit> resolved_for_job(const FitOptions& options, std::size_t input_dim,
                                                    std::uint64_t public_rows, std::uint64_t bytes_for_rank,
                                                    Communicator& ranks) {
  const bool is_shared = ranks.size() > 1 && ranks.silos() == nullptr;
  if (is_shared) {
    constexpr std::uint64_t kExactInDouble = std::uint64_t{1} << 53;
    const auto exact = static_cast<double>(std::min(bytes_for_rank, kExactInDouble));
    bytes_for_rank = static_cast<std::uint64_t>(-ranks.max_everywhere(-exact));
  }
  std::shared_ptr<const ResolvedFit> fit;
  std::string archive;
  ranks.together([&] {
    if (is_shared && !ranks.is_coordinator()) return;
    fit = std::make_shared<const ResolvedFit>(options, input_dim, public_rows, bytes_for_rank);
    if (is_shared) archive = archived(std::pair(fit->options(), fit->plan()));
  });
  if (!is_shared) return fit;
  archive = ranks.trusted().broadcast(std::move(archive));
  ranks.together([&] {
    if (ranks.is_coordinator()) return;
    auto [decided, plan] = unarchived<std::pair<FitOptions, FitPlan>>(archive);
    fit = std::make_shared<const ResolvedFit>(std::move(decided), std::move(plan));
  });
  return fit;
}

std::optional<PersonStatement> person_of(const FitOptions& options) {
  if (!options.data.has_units()) return std::nullopt;
  return PersonStatement{.rows = options.data.bounded_rows(), .silos = options.silos.silos_per_person};
}

std::vector<PublicByWord> public_by_word(const FitOptions& options) {
  std::vector<PublicByWord> said;
  if (!options.data.public_x.empty()) said.push_back(PublicByWord::kPublicX);
  if (!options.data.validation.x.empty()) said.push_back(PublicByWord::kValidationX);
  if (options.evaluation.models_are_public && !options.evaluation.models.empty()) said.push_back(PublicByWord::kModel);
  return said;
}

DataSetBudget data_set_budget(double epsilon, double delta) {
  if (!(epsilon > 0.0)) throw UsageError("--budget-epsilon {}: must be greater than 0", epsilon);
  if (!(delta > 0.0 && delta < 1.0)) throw UsageError("--budget-delta {}: must lie between 0 and 1", delta);
  gdp_mu(epsilon, delta);  // throws where no noise meets it
  return {epsilon, delta};
}

std::optional<LongTail> long_tail_of(const DataOptions& data) {
  if (data.imbalance_ratio == 1.0) return std::nullopt;
  return LongTail{data.imbalance_ratio, data.imbalance_seed.value_or(LongTail{}.seed)};
}

nlohmann::json settings_json(const FitOptions& options, const Preprocessing& preprocessing) {
  nlohmann::json settings{{"version", version()},
                          {"method", options.method.name},
                          {options.data.has_targets() ? "targets" : "classes", options.data.classes},
                          {"input_dim", preprocessing.input_dim},
                          {"normalize", to_string(preprocessing.normalize)},
                          {"clip_norm", preprocessing.clip_norm},
                          {"center", to_string(options.rows.center.value())}};
  if (options.method.objective == Objective::kBalanced) settings["objective"] = to_string(options.method.objective);
  if (const auto tail = long_tail_of(options.data)) {
    settings["imbalance"] = {{"ratio", tail->ratio}, {"seed", tail->seed}};
  }
  return settings;
}

FitPlan make_fit_plan(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows) {
  FitPlan plan;
  plan.preprocessing = known_preprocessing(options.rows, options.data, input_dim);
  const std::unique_ptr<TrainingMethod> method = make_method(options);
  plan.loss = method->loss();
  ReleaseTerms terms{.classes = options.data.classes,
                     .most_labels = options.data.most_labels(),
                     .dim = RowTransform(plan.preprocessing).output_dim(),
                     .adjacency = options.privacy.adjacency,
                     .has_units = options.data.weighs_rows(),
                     .clips_units = options.data.has_units()};
  plan.requests = preparation_requests(options, terms);
  if (adjusts_scores(options)) plan.requests.push_back(registered_statistic("class_sizes").request(terms, kSizesShare));
  plan.dim = terms.dim;
  require_more_than_signs(options, plan.dim);
  const Centering center = options.rows.center.value();  // resolved: rules of options know the one that is given
  if (options.method.isotropy_share && center != Centering::kDp && center != Centering::kPublic) {
    throw UsageError(
        "--isotropy-share goes with --center dp or public: class means are compared about the mean of all rows");
  }
  double rest = 1.0;  // of mu^2, for the method
  for (const ReleaseRequest& request : plan.requests) rest -= request.share;
  for (ReleaseRequest& request : method->requests(terms)) {
    request.share *= rest;
    plan.requests.push_back(std::move(request));
  }
  if (options.evaluation.share) share_with_evaluation(plan.requests, terms, options);
  for (ReleaseRequest& request : plan.requests) request.rows_per_unit = options.data.bounded_rows();
  plan_noise(plan, options, *method, method->selection(terms, public_rows));
  plan.config = config_of(options, plan.preprocessing, *method);
  plan.config_digest = to_hex(sha256(plan.config));
  plan_memory(plan, options, public_rows);
  return plan;
}

}  // namespace dpreduce
