#include "report/dossier.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/accounting/argument_checks.hpp"
#include "common/base/bound_text.hpp"
#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/files/mapped_file.hpp"
#include "report/explanation.hpp"
#include "report/markdown.hpp"

namespace dpreduce {
namespace {

constexpr double kFalseAlarmRates[] = {0.001, 0.01, 0.1};
constexpr int kPercentDigits = 4;
constexpr int kBoundDigits = 4;
// Of more classes the ones with the lowest figures are told.
constexpr std::size_t kMostClasses = 100;
// How far two figures of one claim may be from each other: each was rounded by itself.
constexpr double kClaimRounding = 1e-9;

// Figures of each class, by the report's names and those of readers.
constexpr std::pair<const char*, const char*> kClassFigures[] = {{"per_class", "recall"},
                                                                 {"per_class_average_precision", "average precision"},
                                                                 {"per_class_precision", "precision"},
                                                                 {"per_class_f1", "F1"}};

std::string section(const char* heading, const std::string& text) {
  return fmt::format("## {}\n\n{}\n", heading, text);
}

std::string attacker_table(const ReportedGuarantee& guarantee) {
  std::string text = table_head({"false alarms", "found, at most", "by blind guessing"});
  for (const double rate : kFalseAlarmRates) {
    text += table_row({fmt::format("{:g} %", 100 * rate),
                       fmt::format("{} %", upper_figure(100 * found_at_most(guarantee, rate), kPercentDigits)),
                       fmt::format("{:g} %", 100 * rate)});
  }
  return text;
}

std::string promise_text(const ReportedRun& run) {
  const std::vector<ExplainedSection> words = words_of(run);
  std::vector<std::string> figures{sentences_of(words, "guarantee").front()};
  if (std::string weakness = weakness_of(run.guarantee->epsilon, run.guarantee->delta, run.guarantee->unit);
      !weakness.empty()) {
    figures.push_back(std::move(weakness));
  }
  for (std::string& sentence : sentences_of(words, "delta")) figures.push_back(std::move(sentence));
  return bullets(figures) + "\nWhat an attacker gains:\n\n" + bullets(sentences_of(words, "attacker")) + "\n" +
         attacker_table(*run.guarantee) + "\nSeveral together:\n\n" + bullets(sentences_of(words, "groups"));
}

std::string composition_text(const ReportedRun& run) {
  std::string text = bullets(composition_sentences(run));
  if (!run.blocks.empty()) text += "\n" + releases_table(run.blocks);
  if (run.selections.empty()) return text;
  text += "\n" + table_head({"selection", "epsilon", "candidates", "chosen", "groups"});
  for (const ReportedSelection& selection : run.selections) {
    text +=
        table_row({as_text(selection.name), upper_figure(selection.epsilon), fmt::format("{}", selection.candidates),
                   fmt::format("{}", selection.chosen), fmt::format("{}", selection.groups)});
  }
  return text;
}

std::string figure_text(const nlohmann::json& figure) {
  return figure.is_number() ? fmt::format("{:.3f}", figure.get<double>()) : "none";
}

struct ClassFigures {
  std::vector<std::string> names;
  std::vector<std::vector<nlohmann::json>> values;  // of each name, by class
};

ClassFigures class_figures(const JsonFields& test) {
  ClassFigures figures;
  for (const auto& [key, name] : kClassFigures) {
    if (!test.has(key)) continue;
    figures.names.emplace_back(name);
    figures.values.push_back(test.numbers(key));
    if (figures.values.back().size() != figures.values.front().size()) test.refuse(key, "has not one figure a class");
  }
  return figures;
}

// The classes to tell, in their order.
std::vector<std::size_t> told_classes(const std::vector<nlohmann::json>& figures) {
  std::vector<std::size_t> classes(figures.size());
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = c;
  if (classes.size() <= kMostClasses) return classes;
  const auto rank = [&](std::size_t c) { return figures[c].is_number() ? figures[c].get<double>() : 2.0; };
  std::ranges::stable_sort(classes, {}, rank);
  classes.resize(kMostClasses);
  std::ranges::sort(classes);
  return classes;
}

std::string utility_text(const ReportedRun& run, const std::string& path) {
  if (run.is_tested_on_training_rows) {
    return "The fit was tested on its training rows. Figures about them are exact and left out here: test on other "
           "rows.\n";
  }
  const JsonFields report(run.content, path);
  if (run.figures) return told_table(*run.figures);
  const JsonFields test = report.object("test");
  const ClassFigures figures = class_figures(test);
  const bool has_numbers = test.has("r2");
  if (figures.names.empty() && !has_numbers) {
    return "The fit had no test rows: `fit --test-x --test-y` or `dpreduce evaluate` tells the figures of each "
           "class.\n";
  }
  std::string text =
      "**Outside of the guarantee**: these are exact figures about the test rows, which nothing here protects.\n\n";
  for (const auto& [key, name] : {std::pair{"accuracy", "accuracy"},
                                  {"balanced_accuracy", "balanced accuracy"},
                                  {"hit_rate", "hit rate"},
                                  {"mean_average_precision", "mean average precision"},
                                  {"r2", "R^2"},
                                  {"rmse", "RMSE"}}) {
    if (test.has(key)) text += fmt::format("- {}: {}\n", name, figure_text(test.number(key)));
  }
  if (has_numbers) return text;
  const std::vector<std::string> names = report.texts("class_names");
  const std::vector<std::size_t> classes = told_classes(figures.values.front());
  if (classes.size() < figures.values.front().size()) {
    text += fmt::format("- of {} classes these are the {} with the lowest {}\n", figures.values.front().size(),
                        classes.size(), figures.names.front());
  }
  std::vector<std::string> head{"class"};
  head.insert(head.end(), figures.names.begin(), figures.names.end());
  text += "\n" + table_head(head);
  for (const std::size_t c : classes) {
    std::vector<std::string> cells{c < names.size() ? as_text(names[c]) : fmt::format("{}", c)};
    for (const auto& values : figures.values) cells.push_back(figure_text(values[c]));
    text += table_row(cells);
  }
  return text;
}

std::string threat_text(const ReportedRun& run) {
  std::string text;
  const std::vector<ExplainedSection> words = words_of(run);
  for (const auto& [key, heading] : {std::pair{"holds_for", "It holds against"},
                                     {"not_for", "It does not hold against"},
                                     {"not_covered", "Not covered"}}) {
    text += fmt::format("{}{}:\n\n{}", text.empty() ? "" : "\n", heading, bullets(sentences_of(words, key)));
  }
  return text;
}

bool are_close(double one, double other) {
  return std::abs(one - other) <= kClaimRounding * std::max(std::abs(one), std::abs(other));
}

// The audit's claim is the run's: same method, neighbors, unit, and mu or (epsilon, delta).
void require_same_claim(const JsonFields& audit, const ReportedRun& run) {
  const ReportedGuarantee& promise = *run.guarantee;
  const auto refuse = [&](const char* what, const std::string& of_audit, std::string_view of_run) {
    audit.refuse(fmt::format("is of another claim: its {} is {}, the report's {}; audit the claim of the report", what,
                             of_audit, of_run));
  };
  for (const auto& [name, of_run] : {std::pair{"method", std::string_view(run.method)},
                                     {"adjacency", to_string(promise.adjacency)},
                                     {"unit", to_string(promise.unit)}}) {
    const std::string of_audit = audit.with(name).printable_text(name);
    if (of_audit != of_run) refuse(name, of_audit, of_run);
  }
  const JsonFields claimed = audit.with("claimed").object("claimed");
  if (promise.mu && claimed.has("mu") && are_close(claimed.number("mu").get<double>(), *promise.mu)) return;
  for (const auto& [name, of_run] : {std::pair{"epsilon", promise.epsilon}, {"delta", promise.delta}}) {
    const double of_audit = claimed.with(name).number(name).get<double>();
    if (!are_close(of_audit, of_run)) refuse(name, print_number(of_audit), print_number(of_run));
  }
}

std::string audit_sentence(const JsonFields& audit) {
  const bool is_one_run = audit.has("canaries");
  const std::string how =
      is_one_run ? fmt::format("one training run with {} canaries, {} of {} guesses about them right",
                               audit.count("canaries", 0), audit.count("correct", 0), audit.count("guesses", 0))
                 : fmt::format("{} training runs on adjacent data sets", audit.count("trials"));
  const double confidence = audit.number_within("confidence", 0.0, 1.0);
  return fmt::format("{}: at least epsilon {} is lost (confidence {:g}); the claim {}", how,
                     lower_figure(audit.with("epsilon_lower").number("epsilon_lower").get<double>(), kBoundDigits),
                     confidence,
                     audit.with("refuted").flag("refuted") ? "is REFUTED: do not release this model" : "stands");
}

std::string audits_text(const ReportedRun& run, const std::vector<ReportedAudit>& audits) {
  std::vector<std::string> sentences;
  for (const ReportedAudit& audit : audits) {
    const JsonFields fields(audit.content, "--audit " + audit.path, "; give what audit --format json printed");
    require_same_claim(fields, run);
    sentences.push_back(audit_sentence(fields));
  }
  if (!sentences.empty()) {
    return "`dpreduce audit` has trained by the method of this model under its claim, attacked everything that came "
           "out, "
           "and so tried to refute the claim:\n\n" +
           bullets(sentences) +
           "\nA low bound is no proof of more privacy than is claimed: it says what these attacks could show.\n";
  }
  const ReportedGuarantee& promise = *run.guarantee;
  return fmt::format(
      "None was given. This tries to refute the claim of this model; add the other options of its fit, and "
      "`--one-run` for one on its own rows, where the method releases class sums:\n\n"
      "```bash\n"
      "dpreduce audit --method {} --epsilon {}{} --adjacency {}{} --format json >audit.json\n"
      "```\n\n"
      "Then `dpreduce export --dossier` takes it with `--audit audit.json`.\n",
      run.method, print_number(promise.epsilon), promise.delta == 0.0 ? "" : " --delta " + print_number(promise.delta),
      to_string(promise.adjacency),
      promise.unit == PrivacyUnit::kPerson ? fmt::format(" --rows-per-person {}", promise.rows_per_person) : "");
}

std::string accountant_sentence(const ReportedRun& run) {
  if (run.guarantee->delta == 0.0) return "the run is private choices alone, whose epsilons add up";
  if (!run.guarantee->accountant) return "the report names the accountant, a model file does not";
  switch (*run.guarantee->accountant) {
    case Accountant::kGdp:
      return "releases add up in Gaussian DP: the squares of their mu, exactly";
    case Accountant::kZcdp:
      return "releases add up in zero-concentrated DP, and its epsilon is the one at the best order";
    case Accountant::kRdp:
      return "releases add up in Renyi DP, and epsilon is the one at the best order";
    case Accountant::kPld:
      return "releases add up as distributions of privacy loss, and epsilon is an upper bound of theirs";
  }
  DPREDUCE_ASSERT(false);
  return {};
}

}  // namespace

void require_promise(const ReportedRun& run, const std::string& path, const char* what) {
  if (run.is_dry_run) {
    throw BadInput(
        fmt::format("{}: is the plan of a dry run; {} is of a run that is done: give its report", path, what));
  }
  if (run.is_evaluation) {
    throw BadInput(fmt::format("{}: is of an evaluation; {} is of a fit: give the report of fit", path, what));
  }
  if (run.guarantee) return;
  throw BadInput(
      fmt::format("{}: this run is not private, and {} is about a promise; fit without --seed and "
                  "--non-private, and give the report of that",
                  path, what));
}

std::vector<std::string> floating_point_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{
      "each row is rounded to integers, and an integer check proves its norm; sums are integers modulo 2^64, so that "
      "no "
      "order of rows, ranks or messages changes a bit"};
  if (!run.blocks.empty()) {
    sentences.emplace_back(
        "noise is a real Gaussian that is rounded exactly to an integer: bits are drawn until it is certain to which; "
        "no "
        "probability is approximated, and no sum is a floating-point number before it has its noise");
  }
  if (!run.selections.empty()) {
    sentences.emplace_back(
        "choices are drawn exactly from integer utilities: where rounding could matter, more digits are computed");
  }
  sentences.emplace_back(
      "random bits are AES-256-CTR under keys of a 256-bit secret from OpenSSL: they hold against whoever cannot break "
      "it");
  return sentences;
}

std::vector<std::string> timing_sentences() {
  return {"no file of the run for its readers tells how long anything took; times in the ledger are whole minutes",
          "who watches the run sees how long it takes, and that depends on rows: nobody should who may not see them",
          "the model is a fixed set of numbers: predictions read no training row, and their times tell nothing of any"};
}

std::vector<std::string> composition_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{accountant_sentence(run) + "; later ones may depend on what earlier ones put out"};
  if (run.ledger) {
    sentences.push_back(fmt::format(
        "each release is a signed line of a ledger (key {}), written before it was made known; dpreduce ledger verify "
        "--report tells whether a ledger is that of this run, and whole",
        run.ledger->public_key));
  }
  sentences.push_back(other_releases_sentence(run));
  return sentences;
}

ReportedAudit read_audit(const std::string& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  ReportedAudit audit{parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), path};
  if (audit.content.is_discarded()) {
    throw BadInput(fmt::format("--audit {}: not a JSON file; give what audit --format json printed", path));
  }
  return audit;
}

std::string dossier(const ReportedRun& run, const std::string& report_path, const std::vector<ReportedAudit>& audits) {
  require_promise(run, report_path, "a dossier");
  const JsonFields report(run.content, report_path);
  std::string text = fmt::format(
      "# Dossier of a private model\n\n"
      "Method {}, {}, computed by dpreduce {}. It tells what the run promises and what it does not. Whether "
      "that "
      "meets a law is not asked here.\n\n",
      as_text(run.method),
      report.has("targets") ? fmt::format("targets: {}", report.count("targets"))
                            : fmt::format("{} classes", report.count("classes")),
      as_text(report.printable_text("version")));
  text += section("Unit: whom it protects", bullets(unit_sentences(*run.guarantee)));
  text += section("Neighbors: what may change", bullets({neighbors_sentence(*run.guarantee)}));
  text += section("Epsilon and delta", promise_text(run));
  text += section("Composition", composition_text(run));
  text += section("Utility by class", utility_text(run, report_path));
  text += section("Floating point", bullets(floating_point_sentences(run)));
  text += section("Timing", bullets(timing_sentences()));
  text += section("Threat model", threat_text(run));
  return text + section("Tests of this model", audits_text(run, audits));
}

}  // namespace dpreduce
