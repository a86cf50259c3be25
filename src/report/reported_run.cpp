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

// A member of those releases and selections alone that were not shown.
void shown_of(bool& is_shown, JsonMembers& members) {
  is_shown = !members.has("shown", !is_shown);
  if (!is_shown) members.written_only("shown", false);
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
  LedgerHead head = read_members<LedgerHead>(ledger);
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
  for (const ReportedSelection& selection : run.selections) {
    sum += selection.terms.epsilon;
    squared_mu += std::pow(selection_mu(selection.terms.epsilon), 2);
  }
  const double mu = std::sqrt(squared_mu);
  require_within(report, sum, guarantee.epsilon, fmt::format("selections of epsilon {:g} together", sum));
  require_within(report, mu, *guarantee.mu, fmt::format("selections of mu {:g} together", mu));
}

// `run` has its unit and releases.
ReportedGuarantee guarantee_of(const JsonFields& report, const JsonFields& privacy, const ReportedRun& run) {
  for (const char* name : {"epsilon", "delta", "mu"}) privacy.with(name);
  const PrivacyStatement statement = read_members<PrivacyStatement>(privacy);
  for (const auto& [name, value] : {std::pair("epsilon", statement.epsilon), {"delta", statement.delta}}) {
    if (!value) privacy.refuse(name, "must be a number");
  }
  ReportedGuarantee guarantee{.epsilon = *statement.epsilon,
                              .delta = *statement.delta,
                              .mu = statement.mu,
                              .adjacency = statement.adjacency,
                              .accountant = privacy.choice<Accountant>("accountant"),
                              .unit = run.unit,
                              .person = statement.person};
  if (!guarantee.mu) {
    if (guarantee.delta == 0.0) report.refuse("contradicts itself: delta 0 without mu");
    return guarantee;
  }
  const double mu = privacy.number_within("mu", kSmallestMu, kLargestMu);
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

void members_of(ReportedBlock& block, JsonMembers& members) {
  members.text("name", block.name);
  members.count("coordinates", block.elements);
  members.number("sensitivity", block.sensitivity, kSmallestFigure, kLargestFigure);
  members.number("sigma", block.sigma, kSmallestFigure, kLargestFigure);
  members.text("release", block.release);
  if (members.has("sampling_rate", block.sampling_rate < 1.0)) {
    members.number("sampling_rate", block.sampling_rate, kSmallestFigure, 1.0);
  }
  block.is_symmetric = members.has("sigma_off_diagonal", block.is_symmetric);
  if (block.is_symmetric) members.written_only("sigma_off_diagonal", off_diagonal_sigma(block.sigma));
  members.optional("mu", block.mu, 0.0, kLargestFigure);
  members.optional("norm", block.norm, 0.0, kLargestFigure);
  members.optional("noise_norm", block.noise_norm, kSmallestFigure, kLargestFigure);
  shown_of(block.is_shown, members);
}

void members_of(ReportedSelection& selection, JsonMembers& members) {
  SelectionTerms& terms = selection.terms;
  members.text("name", selection.name);
  members.number("epsilon", terms.epsilon, kSmallestFigure, kLargestPureEpsilon);
  members.count("candidates", terms.candidates);
  if (members.has("chosen", true)) members.count("chosen", terms.chosen);
  if (members.has("groups", true)) members.count("groups", terms.groups);
  members.written_only("mechanism", to_string(terms.mechanism));
  members.written_only("sensitivity", terms.sensitivity);
  members.written_only("mu", selection_mu(terms.epsilon));
  shown_of(selection.is_shown, members);
}

void members_of(LostSilo& lost, JsonMembers& members) {
  members.text("name", lost.name);
  members.text("phase", lost.phase);
  members.text("reason", lost.reason);
  members.written_only("silo", lost.silo);
  members.written_only("round", lost.round);
}

void members_of(ReportedSilos& silos, JsonMembers& members) {
  constexpr const char* kRoster = "roster";
  members.object("noise", [&](JsonMembers& noise) { noise.choice("source", silos.noise); });
  members.count("colluding", silos.colluding, 0);
  std::string identities = silos.is_ephemeral ? "ephemeral: a simulation" : kRoster;
  if (members.has("identities", true)) members.text("identities", identities);
  silos.is_ephemeral = identities != kRoster;
  if (members.has("lost", silos.lost.has_value())) {
    members.list("lost", silos.lost.emplace(silos.lost.value_or(std::vector<LostSilo>{})));
  }
}

void members_of(LedgerHead& head, JsonMembers& members) {
  members.text("public_key", head.public_key);
  members.count("lines", head.lines);
  members.text("last_line_sha256", head.last_line_sha256);
}

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
  JsonMembers lists(privacy.with("releases"));
  lists.list("releases", run.blocks);
  lists.list("selections", run.selections);  // which reports of versions without them do not name
  if (report.has("silos")) run.silos = read_members<ReportedSilos>(report.object("silos"));
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
