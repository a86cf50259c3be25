#include "report/reported_run.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "common/accounting/gaussian_dp.hpp"
#include "common/accounting/mechanism.hpp"
#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/base/json_text.hpp"
#include "common/ledger/spending.hpp"
#include "common/model/released_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "methods/registry.hpp"
#include "report/ledger_report.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// Largest difference between the figures of one report: each was rounded by itself.
constexpr double kRounding = 1e-9;
constexpr int kDeepest = 32;
constexpr const char* kAdvice = "; give a report of fit or evaluate --private";

constexpr double kSmallestFigure = std::numeric_limits<double>::min();
constexpr double kLargestFigure = std::numeric_limits<double>::max();

std::vector<ReportedBlock> blocks_of(const JsonFields& privacy) {
  std::vector<ReportedBlock> blocks;
  for (const JsonFields& release : privacy.with("releases").objects("releases")) {
    blocks.push_back({{.name = release.printable_text("name"),
                       .elements = release.count("coordinates"),
                       .sensitivity = release.number_within("sensitivity", kSmallestFigure, kLargestFigure),
                       .sigma = release.number_within("sigma", kSmallestFigure, kLargestFigure)},
                      release.printable_text("release"),
                      release.has("sampling_rate") ? release.number_within("sampling_rate", kSmallestFigure, 1.0) : 1.0,
                      release.has("sigma_off_diagonal"),
                      release.optional_number("mu"),
                      release.optional_number("norm"),
                      release.optional_number("noise_norm")});
    if (blocks.back().noise_norm && !(*blocks.back().noise_norm > 0.0)) release.refuse("noise_norm", "must be above 0");
  }
  return blocks;
}

// Reports of versions without selections have no such field.
std::vector<PlannedSelection> selections_of(const JsonFields& privacy) {
  std::vector<PlannedSelection> selections;
  for (const JsonFields& selection : privacy.objects("selections")) {
    selections.push_back({.name = selection.printable_text("name"),
                          .terms = {.epsilon = selection.number_within("epsilon", kSmallestFigure, kLargestPureEpsilon),
                                    .candidates = selection.count("candidates")}});
    if (selection.has("chosen")) selections.back().terms.chosen = selection.count("chosen");
    if (selection.has("groups")) selections.back().terms.groups = selection.count("groups");
  }
  return selections;
}

std::optional<ReportedSilos> silos_of(const JsonFields& report) {
  if (!report.has("silos")) return std::nullopt;
  const JsonFields silos = report.object("silos");
  ReportedSilos reported{silos.with("noise").object("noise").choice<NoiseSource>("source"), silos.count("colluding", 0),
                         silos.text("identities") != "roster", std::nullopt};
  if (!silos.has("lost")) return reported;
  reported.lost.emplace();
  for (const JsonFields& silo : silos.objects("lost")) {
    const std::string name = silo.printable_text("name");
    const std::string phase = silo.printable_text("phase");
    reported.lost->push_back(fmt::format("{} (waiting for {}: {})", name, phase, silo.printable_text("reason")));
  }
  return reported;
}

// Earlier reports have no such field.
std::vector<std::string> models_in(const JsonFields& report) {
  std::vector<std::string> models;
  for (const JsonFields& model : report.objects("models_privacy")) {
    const Facts promise = promise_facts(model);
    models.push_back(promise.empty() ? "nothing" : line_of(promise));
  }
  return models;
}

// Reports of versions whose ledgers were not signed have no such field.
std::optional<LedgerHead> ledger_of(const JsonFields& report) {
  if (!report.has("ledger")) return std::nullopt;
  const JsonFields ledger = report.object("ledger");
  LedgerHead head{.public_key = ledger.printable_text("public_key"),
                  .lines = ledger.count("lines"),
                  .last_line_sha256 = ledger.printable_text("last_line_sha256")};
  if (!public_key_of_hex(head.public_key)) ledger.refuse("public_key", "must be 64 lower-case hex digits");
  if (!public_key_of_hex(head.last_line_sha256)) ledger.refuse("last_line_sha256", "must be 64 lower-case hex digits");
  return head;
}

// Refuses a report in which a part of the run costs more than the whole.
void require_within(const JsonFields& report, double found, double whole, const std::string& part) {
  if (found <= whole * (1.0 + kRounding)) return;
  report.refuse(fmt::format("contradicts itself: {}, the whole run {:g}", part, whole));
}

// A report with delta 0 may list selections only, whose epsilons, and whose mu^2, add up to what it states.
void require_pure(const JsonFields& report, const ReportedGuarantee& guarantee, const ReportedRun& run) {
  if (!run.blocks.empty()) report.refuse("contradicts itself: delta 0 with Gaussian noise");
  double sum = 0.0;
  double squared_mu = 0.0;
  for (const PlannedSelection& selection : run.selections) {
    sum += selection.terms.epsilon;
    squared_mu += std::pow(selection_mu(selection.terms.epsilon), 2);
  }
  const double mu = std::sqrt(squared_mu);
  require_within(report, sum, guarantee.epsilon, fmt::format("selections of epsilon {:g} together", sum));
  require_within(report, mu, *guarantee.mu, fmt::format("selections of mu {:g} together", mu));
}

// `run` has its unit and releases.
ReportedGuarantee guarantee_of(const JsonFields& report, const JsonFields& privacy, const ReportedRun& run) {
  ReportedGuarantee guarantee{
      .epsilon = privacy.number_within("epsilon", 0.0, kLargestFigure),
      .delta = privacy.number_within("delta", 0.0, 1.0 - std::numeric_limits<double>::epsilon()),
      .mu = std::nullopt,
      .adjacency = privacy.choice<Adjacency>("adjacency"),
      .accountant = privacy.choice<Accountant>("accountant"),
      .unit = run.unit,
      .person = person_in(privacy)};
  if (!privacy.with("mu").has("mu")) {
    if (guarantee.delta == 0.0) report.refuse("contradicts itself: delta 0 without mu");
    return guarantee;
  }
  const double mu = privacy.number_within("mu", kSmallestMu, kLargestMu);
  guarantee.mu = mu;
  if (guarantee.delta == 0.0) {
    require_pure(report, guarantee, run);
    return guarantee;
  }
  const double epsilon_of_mu = gdp_epsilon(mu, guarantee.delta);
  if (epsilon_of_mu > guarantee.epsilon * (1.0 + kRounding) + kRounding) {
    report.refuse(fmt::format("contradicts itself: mu {:g} gives epsilon {:g} at delta {:g}, not {:g}", mu,
                              epsilon_of_mu, guarantee.delta, guarantee.epsilon));
  }
  for (const ReportedBlock& block : run.blocks) {
    const double mu_of_block = block.sensitivity / block.sigma;
    require_within(report, mu_of_block, mu, fmt::format("block {} alone has mu {:g}", block.name, mu_of_block));
  }
  return guarantee;
}

// Reports that say none are of a seeded run, where there was noise.
Forfeits forfeits_of(const JsonFields& privacy, const ReportedRun& run) {
  if (!privacy.has("forfeited_by")) {
    return run.is_private || !run.has_noise() ? Forfeits{} : Forfeits{Forfeit::kSeed};
  }
  if (run.is_private) privacy.refuse("contradicts itself: private, and forfeited");
  return privacy.choices<Forfeit>("forfeited_by");
}

}  // namespace

std::vector<std::vector<ReportedBlock>> rounds_of(const std::vector<ReportedBlock>& blocks) {
  constexpr std::ptrdiff_t kMostBlocks = 16;  // of one round
  const auto terms = [](const ReportedBlock& block) {
    return std::tuple(block.name, block.release.substr(0, block.release.rfind('/')), block.sigma, block.sensitivity,
                      block.elements, block.sampling_rate);
  };
  std::vector<std::vector<ReportedBlock>> rounds;
  for (const ReportedBlock& block : blocks) {
    const auto first = rounds.end() - std::min(std::ssize(rounds), kMostBlocks);
    const auto same =
        std::find_if(first, rounds.end(), [&](const auto& one) { return terms(one.front()) == terms(block); });
    (same == rounds.end() ? rounds.emplace_back() : *same).push_back(block);
  }
  return rounds;
}

ReportedRun reported_run(nlohmann::json content, const std::string& path) {
  ReportedRun run{.path = path, .content = std::move(content)};
  if (!run.content.is_object()) throw BadInput("{}: not a report{}", path, kAdvice);
  const JsonFields report(run.content, path, kAdvice);
  const JsonFields privacy = report.with("privacy").object("privacy");
  run.method = report.printable_text("method");
  if (report.has("adaptive")) run.asked = report.object("adaptive").printable_text("method");
  run.is_private = report.with("private").flag("private");
  run.is_dry_run = report.flag("dry_run");
  run.is_evaluation = run.method == evaluate_method.name;
  if (privacy.has("unit")) run.unit = privacy.choice<PrivacyUnit>("unit");  // older reports name none: it is a row
  run.blocks = blocks_of(privacy);
  run.selections = selections_of(privacy);
  run.silos = silos_of(report);
  run.is_chosen_by_validation = report.object("choice").text("by") == "validation rows";
  run.public_by_word = report.choices<PublicByWord>("public_by_word");
  run.models = models_in(report);
  run.is_tested_on_training_rows = report.object("test").flag("rows_are_training_rows");
  run.figures = reported_metrics(report);
  run.is_on_a_long_tail = report.has("imbalance");
  run.ledger = ledger_of(report);
  run.forfeits = forfeits_of(privacy, run);
  if (!run.is_private) return run;
  if (!run.has_noise()) report.refuse("contradicts itself: private, but without a release");
  run.guarantee = guarantee_of(report, privacy, run);
  return run;
}

ReportedRun parse_report(std::string_view text, const std::string& path) {
  std::optional<nlohmann::json> content = parse_json_up_to(kDeepest, text);
  if (!content) throw BadInput("{}: values are nested more than {} deep", path, kDeepest);
  if (content->is_discarded()) throw BadInput("{}: not a JSON file{}", path, kAdvice);
  return reported_run(std::move(*content), path);
}

ReportedRun read_report(const std::string& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > kLargestReport) {
    throw BadInput("{}: larger than {} MiB; is it a report of fit?", path, kLargestReport >> 20);
  }
  return parse_report({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string method_text_of(const std::string& asked, const std::string& method) {
  return asked.empty() || asked == method ? method : fmt::format("{} (by {})", asked, method);
}

ReportedRun run_of_model(const Classifier& model, const std::string& path) {
  const ClassifierParts& parts = model.parts();
  ReportedRun run{.path = path,
                  .content = {{"privacy", statement_json(parts.privacy, parts.forfeits)}},
                  .method = parts.method,
                  .is_private = parts.privacy.has_value(),
                  .forfeits = parts.forfeits,
                  .of = ReportedOf::kModel};
  if (!parts.privacy) return run;
  const PrivacyStatement& privacy = *parts.privacy;
  if (!privacy.epsilon || !privacy.delta) {
    throw BadInput(path + ": has no epsilon; give the report of the fit that wrote it");
  }
  if (privacy.person) run.unit = PrivacyUnit::kPerson;
  run.guarantee = ReportedGuarantee{*privacy.epsilon, *privacy.delta, privacy.mu,    privacy.adjacency,
                                    std::nullopt,     run.unit,       privacy.person};
  run.content["privacy"]["unit"] = to_string(run.unit);
  return run;
}

ReportedRun run_of_ledger(const LedgerState& state, const std::string& path) {
  const Adjacency adjacency = strictest_adjacency(state);
  const Spending spent = spending_of(state.charges(), adjacency);
  const double delta = reported_delta(state);
  const double epsilon = epsilon_of(spent, delta);
  if (epsilon == 0.0) throw BadInput(path + ": no private run has been charged yet, so there is nothing to explain");
  if (!std::isfinite(epsilon)) throw BadInput(path + ": its runs have spent more than any finite epsilon");
  const PrivacyUnit unit = state.charges().front().entry.terms.unit;
  return {.path = path,
          .method = "ledger",
          .is_private = true,
          .of = ReportedOf::kLedger,
          .unit = unit,
          .guarantee = ReportedGuarantee{epsilon, delta, spent.is_gaussian() ? std::optional(spent.mu) : std::nullopt,
                                         adjacency, std::nullopt, unit}};
}

}  // namespace dpreduce
