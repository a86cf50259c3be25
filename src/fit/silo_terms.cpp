#include "fit/silo_terms.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/payload_archive.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

// All that decides on the noise of a run. With shares also what a silo adds, and the guarantee by those of the silos
// that must stay.
struct DecidedNoise {
  std::string config;
  std::vector<std::string> models;  // also of those that the configuration does not name
  Accountant accountant = Accountant::kGdp;
  PrivacyUnit unit = PrivacyUnit::kRecord;
  std::optional<double> epsilon;
  std::optional<double> delta;
  bool is_private = false;
  std::optional<NoisePlan> whole;
  std::optional<NoisePlan> of_silo{};
  std::optional<NoisePlan> guaranteed{};
};

DPREDUCE_ARCHIVE(DecidedNoise, config, models, accountant, unit, epsilon, delta, is_private, whole, of_silo, guaranteed)

}  // namespace

std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const SiloTerms& silos) {
  if (!options.silos.is_distributed()) return std::nullopt;
  return NoiseShares{silos.honest_shares()};
}

std::optional<NoiseShares> shares_of_silos(const FitOptions& options, const Communicator& ranks) {
  if (ranks.silos() == nullptr) return std::nullopt;
  return shares_of_silos(options, ranks.silos()->entry().terms);
}

PublicKey noise_plan_digest(const ResolvedFit& fit, const std::optional<NoiseShares>& shares) {
  const RunTerms terms = fit.terms();
  DecidedNoise decided{.config = fit.plan().config,
                       .models = digests_of_models(fit.options().evaluation),
                       .accountant = terms.accountant,
                       .unit = terms.unit,
                       .epsilon = terms.epsilon,
                       .delta = terms.delta,
                       .is_private = fit.plan().is_private,
                       .whole = fit.plan().noise};
  if (decided.whole && shares) {
    decided.of_silo = *decided.whole;
    for (PlannedRelease& release : decided.of_silo->releases) {
      for (PlannedBlock& block : release.blocks) block = shares->share_of(std::move(block));
    }
    decided.guaranteed = shares->guaranteed(*decided.whole);
  }
  return sha256(message_of("noise plan", decided));
}

void agree_on_noise(const ResolvedFit& fit, Communicator& ranks) {
  if (ranks.silos() == nullptr) return;
  ranks.silos()->agree_on_plan(noise_plan_digest(fit, shares_of_silos(fit.options(), ranks)));
}

namespace {

constexpr int kDigits = 6;  // a mu that is refused should not look like the one that is allowed

// Compares a run with a consent, term by term. Terms that the consent does not have are left out.
struct Comparison {
  template <typename Value>
  void least(const char* name, const Value& asked, const std::optional<Value>& limit) {
    if (limit) add(name, fmt::format("{}", asked), fmt::format("at least {}", *limit), asked >= *limit);
  }
  template <typename Value>
  void most(const char* name, const Value& asked, const std::optional<Value>& limit) {
    if (limit) add(name, fmt::format("{}", asked), fmt::format("at most {}", *limit), asked <= *limit);
  }
  template <typename Choice>
  void same(const char* name, Choice asked, const std::optional<Choice>& allowed) {
    if (allowed) add(name, std::string(to_string(asked)), std::string(to_string(*allowed)), asked == *allowed);
  }
  void one_of(const char* name, const std::string& asked, const std::vector<std::string>& allowed) {
    if (allowed.empty()) return;
    add(name, asked, fmt::format("{}", fmt::join(allowed, ", ")), std::ranges::find(allowed, asked) != allowed.end());
  }
  void most_mu(const char* name, const std::optional<double>& asked, const std::optional<double>& limit) {
    if (!limit) return;
    add(name, asked ? upper_figure(*asked, kDigits) : "no noise", "at most " + lower_figure(*limit, kDigits),
        asked && *asked <= *limit, true);
  }
  void add(const char* name, std::string asked, std::string allowed, bool is_met, bool is_budget = false) {
    terms.push_back({name, std::move(asked), std::move(allowed), is_met, is_budget});
  }

  std::vector<ConsentTerm> terms{};
};

// B and s are promises about persons: where the unit is a row, none is made.
void compare_persons(Comparison& run, const SiloConsent& consent, const FitOptions& options, const SiloTerms& silos) {
  const bool has_persons = options.data.has_units();
  if (consent.rows_per_person) {
    const std::uint64_t rows = options.data.bounded_rows();
    run.add("rows-per-person", has_persons ? fmt::format("{}", rows) : "the unit is a row",
            fmt::format("{}", *consent.rows_per_person), has_persons && rows == *consent.rows_per_person);
  }
  if (consent.least_silos_per_person) {
    const std::uint32_t most = options.silos.silos_per_person.value_or(silos.silos);
    run.add("least-silos-per-person", has_persons ? fmt::format("{}", most) : "the unit is a row",
            fmt::format("at least {}", *consent.least_silos_per_person),
            has_persons && most >= *consent.least_silos_per_person);
  }
}

void compare_training(Comparison& run, const SiloConsent& consent, const FitPlan& plan) {
  const double chosen = std::numeric_limits<double>::infinity();  // by the rows: whatever they have
  run.most("most-clip-norm", plan.has_request("row_sizes") ? chosen : plan.preprocessing.clip_norm,
           consent.most_clip_norm);
  if (plan.loss) {
    std::vector<std::string> losses;
    for (const Loss loss : consent.losses) losses.emplace_back(to_string(loss));
    run.one_of("losses", std::string(to_string(*plan.loss)), losses);
  }
  std::uint64_t rounds = 0;
  for (const ReleaseRequest& release : plan.requests) rounds = std::max(rounds, release.rounds);
  run.most("most-rounds", rounds, consent.most_rounds);
}

void compare_cost(Comparison& run, const SiloConsent& consent, const ResolvedFit& fit, const SiloTerms& silos,
                  const LedgerState& ledger) {
  const FitPlan& plan = fit.plan();
  run.add("private", plan.is_private ? "yes" : "a run that is not private", "yes", plan.is_private, true);
  std::optional<double> mu;
  std::optional<double> mu_in_all;
  if (plan.noise && plan.is_private) {
    const Adjacency adjacency = fit.options().privacy.adjacency;
    const Adjacency strictest = strictest_adjacency(ledger, adjacency);
    const Reservation reservation = reservation_at_silo(fit, silos);
    mu = mu_of(spending_of(reservation, adjacency));
    mu_in_all = mu_of(composed(spending_of_all(ledger, strictest), spending_of(reservation, strictest)));
  }
  run.most_mu("most-mu", mu, consent.most_mu);
  run.most_mu("most-mu-in-all", mu_in_all, consent.most_mu_in_all);
}

}  // namespace

Reservation reservation_at_silo(const ResolvedFit& fit, const SiloTerms& silos) {
  const NoisePlan& noise = fit.plan().noise.value();
  const std::optional<NoiseShares> shares = shares_of_silos(fit.options(), silos);
  RunTerms terms = fit.terms();
  terms.adjacency = noise.adjacency;
  terms.is_private = fit.plan().is_private;
  return reservation_of(shares ? shares->guaranteed(noise) : noise, {}, std::move(terms));
}

std::vector<ConsentTerm> compared_terms(const SiloConsent& consent, const ResolvedFit& fit, const SiloTerms& silos,
                                        const LedgerState& ledger) {
  const FitOptions& options = fit.options();
  Comparison run;
  run.one_of("methods", options.method.name, consent.methods);
  for (const std::string& model : digests_of_models(options.evaluation)) run.one_of("models", model, consent.models);
  run.least("least-silos", silos.silos, consent.least_silos);
  run.least("least-threshold", silos.threshold, consent.least_threshold);
  run.least("least-colluding", silos.colluding, consent.least_colluding);
  run.most("most-colluding", silos.colluding, consent.most_colluding);
  run.same("adjacency", options.privacy.adjacency, consent.adjacency);
  run.same("unit", options.data.unit(), consent.unit);
  compare_persons(run, consent, options, silos);
  compare_training(run, consent, fit.plan());
  if (consent.noise == NoiseSource::kDistributed) run.same("noise", options.silos.noise, consent.noise);
  compare_cost(run, consent, fit, silos, ledger);
  if (!consent.least_version.empty()) {  // every party's, or the silo had not said hello (handshake.hpp)
    run.add("least-version", version(), "at least " + consent.least_version,
            version_numbers(version()) >= version_numbers(consent.least_version));
  }
  return std::move(run.terms);
}

void require_met(std::span<const ConsentTerm> terms) {
  std::vector<std::string> refused;
  bool is_of_cost = true;
  for (const ConsentTerm& term : terms) {
    if (term.is_met) continue;
    refused.push_back(fmt::format("{}: {} requested, {} allowed", term.name, term.asked, term.allowed));
    is_of_cost = is_of_cost && term.is_budget;
  }
  if (refused.empty()) return;
  const std::string message = fmt::format(
      "[consent] refuses the run: {}; no row was read. Agree with the others on another run, or change the terms in "
      "--silo-config",
      fmt::join(refused, "; "));
  if (is_of_cost) throw BudgetRefused(message);
  throw UsageError(message);
}

}  // namespace dpreduce
