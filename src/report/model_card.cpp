#include "report/model_card.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/model/classifier_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "report/explanation.hpp"
#include "report/markdown.hpp"

namespace dpreduce {
namespace {

// Classes beyond these are counted, not named; figures are of the classes with the lowest ones.
constexpr std::size_t kMostClassesInCard = 100;

// Figures of each class, by the report's names and those of readers.
constexpr std::pair<const char*, const char*> kClassFigures[] = {{"per_class", "recall"},
                                                                 {"per_class_average_precision", "average precision"},
                                                                 {"per_class_precision", "precision"},
                                                                 {"per_class_f1", "F1"}};

// Figures of a report's "test" that front matter has, by the names that its readers know.
constexpr std::pair<const char*, const char*> kMetrics[] = {{"accuracy", "accuracy"},
                                                            {"balanced_accuracy", "balanced_accuracy"},
                                                            {"minority_accuracy", "minority_accuracy"},
                                                            {"hit_rate", "hit_rate"},
                                                            {"mean_average_precision", "mean_average_precision"},
                                                            {"micro_f1", "f1"},
                                                            {"macro_f1", "macro_f1"},
                                                            {"r2", "r2"},
                                                            {"rmse", "rmse"}};

// A string as YAML and JSON both write it.
std::string quoted(const std::string& text) {
  return readable_json_text(nlohmann::json(text));
}

// "sampling_rate" as "sampling rate".
std::string as_words(std::string name) {
  for (char& c : name) c = c == '_' ? ' ' : c;
  return name;
}

// The numbers of the report's test figures, in the order of kMetrics.
using TestNumbers = std::vector<std::pair<std::string, nlohmann::json>>;

// With noise in the place of exact ones, where the report has such.
TestNumbers test_numbers(const JsonFields& report) {
  const std::optional<JsonFields> told = told_part_of(report);
  const JsonFields test = told ? told->object("metrics") : report.object("test");
  TestNumbers figures;
  for (const auto& [name, metric] : kMetrics) {
    if (!test.has(name)) continue;
    const nlohmann::json& figure = told ? test.object(name).number("value") : test.number(name);
    if (!figure.is_null()) figures.emplace_back(metric, figure);
  }
  return figures;
}

bool has_numbers(const ClassifierParts& parts) {
  return parts.preprocessing.targets.count > 0;
}

std::string front_matter(const ClassifierParts& parts, const std::string& name, const TestNumbers& figures,
                         const char* what) {
  const char* const task = has_numbers(parts) ? "tabular-regression" : "tabular-classification";
  std::string text = fmt::format(
      "---\n"
      "# license: yours to choose, before you publish the model\n"
      "library_name: dpreduce\n"
      "pipeline_tag: {}\n"
      "tags:\n",
      task);
  if (parts.privacy) text += "- differential-privacy\n";
  text += fmt::format("- linear-{}\n- safetensors\n", has_numbers(parts) ? "regression" : "classifier");
  text += fmt::format("- {}\n", quoted("dpreduce-" + parts.method));
  if (!figures.empty()) {
    text += "metrics:\n";
    for (const auto& [metric, figure] : figures) text += fmt::format("- {}\n", metric);
    text += fmt::format(
        "model-index:\n"
        "- name: {}\n"
        "  results:\n"
        "  - task:\n"
        "      type: {}\n"
        "    dataset:\n"
        "      name: test rows ({})\n"
        "      type: test-rows\n"
        "    metrics:\n",
        quoted(name), task, what);
    for (const auto& [metric, figure] : figures) {
      text += fmt::format("    - type: {}\n      value: {}\n", metric, json_text(figure));
    }
  }
  return text + "---\n\n";
}

std::string model_section(const ClassifierParts& parts, const std::string& method) {
  const Preprocessing& rows = parts.preprocessing;
  std::string text = "## Model\n\n" + table_head({"", ""});
  text += table_row({"method", method});
  const char* const outputs = rows.targets.count > 0 ? "targets" : "classes";
  text += table_row({outputs, fmt::format("{}", parts.classes)});
  text += table_row({"features of a row", fmt::format("{}", rows.input_dim)});
  std::vector<std::string> steps;
  if (rows.pool > 1) steps.push_back(fmt::format("average {} features", rows.pool));
  if (!rows.columns.center.empty()) steps.emplace_back("scale each column by its range, and clip to [-1, 1]");
  steps.push_back(fmt::format("{} to norm {}", rows.normalize == Normalize::kL2 ? "scale" : "clip", rows.clip_norm));
  if (!rows.center.empty()) steps.emplace_back("center");
  if (rows.center_factor != 1.0) steps.push_back(fmt::format("multiply by {}, clip again", rows.center_factor));
  if (!rows.projection.empty()) steps.push_back(fmt::format("project to {}", rows.projected_dim()));
  if (!rows.selected.empty()) steps.push_back(fmt::format("select {}", rows.selected.size()));
  text += table_row({"preparation of a row", fmt::format("{}", fmt::join(steps, ", "))});
  if (rows.targets.count > 0) {
    text +=
        table_row({"ranges of targets", fmt::format("center {:.6g}, scale {:.6g}", fmt::join(rows.targets.center, ", "),
                                                    fmt::join(rows.targets.scale, ", "))});
    return text +
           "\nIt takes features from the same encoder as in training, in the same order, and predicts numbers.\n\n";
  }
  text += table_row(
      {"probabilities", !parts.link ? "none: scores only rank classes" : std::string(to_string(*parts.link))});
  if (parts.threshold) text += table_row({"threshold of a class", fmt::format("{}", *parts.threshold)});
  text += "\nIt takes features from the same encoder as in training, in the same order.\n\n";
  if (parts.class_names.empty()) return text;
  const std::size_t shown = std::min(parts.class_names.size(), kMostClassesInCard);
  text += "Classes, from 0:\n\n";
  for (std::size_t k = 0; k < shown; ++k) text += fmt::format("{}. {}\n", k, as_text(parts.class_names[k]));
  if (shown < parts.class_names.size()) {
    text += fmt::format("\n{} more are in the model file.\n", parts.class_names.size() - shown);
  }
  return text + "\n";
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

// How the run's releases add up, and what others add to them.
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

// How noise and sums keep clear of floating point, and what times tell.
std::vector<std::string> arithmetic_sentences(const ReportedRun& run) {
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
  for (const char* const of_times :
       {"no file of the run for its readers tells how long anything took; times in the ledger are whole minutes",
        "who watches the run sees how long it takes, and that depends on rows: nobody should who may not see them",
        "the model is a fixed set of numbers: predictions read no training row, and their times tell nothing of any"}) {
    sentences.emplace_back(of_times);
  }
  return sentences;
}

// Tries to refute the promise by the method of the run.
std::string audit_command(const ReportedRun& run) {
  const ReportedGuarantee& promise = *run.guarantee;
  return fmt::format(
      "dpreduce audit --method {} --epsilon {}{} --adjacency {}{}", run.method, print_number(promise.epsilon),
      promise.delta == 0.0 ? "" : " --delta " + print_number(promise.delta), to_string(promise.adjacency),
      run.is_of_persons() ? fmt::format(" --rows-per-person {}", promise.rows_per_person) : "");
}

std::string unit_text(const PrivacyStatement& privacy) {
  if (!privacy.person) return "one row";
  const PersonStatement& person = *privacy.person;
  return fmt::format("one person, with any number of rows, which {}{}", unit_bound_text(person.rows),
                     person.silos ? fmt::format("; in at most {} silo{}, as these promised", *person.silos,
                                                *person.silos == 1 ? "" : "s")
                                  : "");
}

std::string figures_table(const PrivacyStatement& privacy) {
  std::string text = table_head({"", ""});
  for (const auto& [name, figure] :
       {std::pair{"epsilon", privacy.epsilon}, {"delta", privacy.delta}, {"mu", privacy.mu}, {"rho", privacy.rho}}) {
    if (figure) text += table_row({name, upper_figure(*figure)});
  }
  return text + table_row({"adjacency", privacy.adjacency}) + table_row({"unit", unit_text(privacy)}) + "\n";
}

std::string promise_section(const ClassifierParts& parts, const std::optional<ReportedRun>& run) {
  std::string text = "## Privacy\n\n";
  if (!parts.privacy) {
    text += "**Nothing is promised**: this model is not private. Keep it as you keep the data.\n\n";
    for (const Forfeit own : parts.forfeits) text += fmt::format("- {}\n\n", as_text(reason_of(own)));
  } else {
    text += figures_table(*parts.privacy);
  }
  if (!run) {
    return text +
           "This is what the model file says. The report of its fit says what it means, and what was released.\n\n";
  }
  for (const auto& [heading, sentences] : headed_words_of(*run)) {
    text += fmt::format("### {}\n\n", heading);
    text += bullets(sentences) + "\n";
  }
  if (!run->guarantee) return text;
  text += "### How releases add up\n\n" + bullets(composition_sentences(*run)) + "\n";
  text += "### Floating point and times\n\n" + bullets(arithmetic_sentences(*run)) + "\n";
  return text +
         fmt::format(
             "### Test of the promise\n\n"
             "This command trains by the same method and tries to refute the promise; add the other options of the "
             "fit:\n\n"
             "```bash\n{}\n```\n\n",
             audit_command(*run));
}

std::string told_section(const ReportedRun& run) {
  std::string text = "## Test figures\n\n" + told_table(*run.figures);
  if (!run.is_evaluation || !run.guarantee) return text + "\n";
  return text + fmt::format("\nThe test rows' own promise: epsilon {} at delta {}, {}, unit {}.\n\n",
                            upper_figure(run.guarantee->epsilon), upper_figure(run.guarantee->delta),
                            to_string(run.guarantee->adjacency), to_string(run.unit));
}

std::string figure_text(const nlohmann::json& figure) {
  return figure.is_number() ? fmt::format("{:.3f}", figure.get<double>()) : "none";
}

// Lists of one figure a class.
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

// Classes of the table, in their order.
std::vector<std::size_t> classes_to_list(const std::vector<nlohmann::json>& figures) {
  std::vector<std::size_t> classes(figures.size());
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = c;
  if (classes.size() <= kMostClassesInCard) return classes;
  const auto rank = [&](std::size_t c) { return figures[c].is_number() ? figures[c].get<double>() : 2.0; };
  std::ranges::stable_sort(classes, {}, rank);
  classes.resize(kMostClassesInCard);
  std::ranges::sort(classes);
  return classes;
}

std::string class_table(const JsonFields& test, const std::vector<std::string>& names) {
  const ClassFigures figures = class_figures(test);
  if (figures.names.empty()) return {};
  const std::vector<std::size_t> classes = classes_to_list(figures.values.front());
  std::string text = "### By class\n\n";
  if (classes.size() < figures.values.front().size()) {
    text += fmt::format("The {} of {} classes with the lowest {}:\n\n", classes.size(), figures.values.front().size(),
                        figures.names.front());
  }
  std::vector<std::string> head{"class"};
  head.insert(head.end(), figures.names.begin(), figures.names.end());
  text += table_head(head);
  for (const std::size_t c : classes) {
    std::vector<std::string> cells{c < names.size() ? as_text(names[c]) : fmt::format("{}", c)};
    for (const auto& values : figures.values) cells.push_back(figure_text(values[c]));
    text += table_row(cells);
  }
  return text + "\n";
}

std::string test_section(const TestNumbers& figures, bool are_training_rows) {
  if (figures.empty()) return {};
  std::string text =
      fmt::format("## Test figures\n\n**Outside of the guarantee**: they are exact figures about {}.\n\n",
                  are_training_rows ? "rows that the model was trained on: take them out before others read this"
                                    : "the test rows");
  text += table_head({"", ""});
  for (const auto& [metric, figure] : figures)
    text += table_row({as_words(metric), fmt::format("{:.3f}", figure.get<double>())});
  return text + "\n";
}

// `made`: what predictions are, "labels" or "numbers".
std::string loading_section(const std::string& name, const char* made) {
  return fmt::format(
      "## How to load it\n\n"
      "With the command:\n\n"
      "```bash\n"
      "dpreduce predict --model {0} --x features.npy --out {2}.csv\n"
      "```\n\n"
      "In Python:\n\n"
      "```python\n"
      "import numpy\n"
      "import dpreduce\n\n"
      "model = dpreduce.load({1})\n"
      "{2} = model.predict(numpy.load(\"features.npy\"))\n"
      "```\n",
      name, quoted(name), made);
}

}  // namespace

void require_of_model(const Classifier& classifier, const ReportedRun& run, const std::string& path) {
  const ClassifierParts& parts = classifier.parts();
  const auto refuse = [&](const std::string& what) {
    throw BadInput(fmt::format("--report {}: is of another model: {}; give the report of the fit that wrote the model",
                               path, what));
  };
  if (run.is_dry_run) refuse("it is the plan of a dry run");
  if (run.method != parts.method) refuse(fmt::format("its method is {}, the model's {}", run.method, parts.method));
  const JsonFields report(run.content, path);
  for (const auto& [name, size] : {std::pair{has_numbers(parts) ? "targets" : "classes", parts.classes},
                                   std::pair{"input_dim", parts.preprocessing.input_dim}}) {
    if (!report.has(name) || report.number(name) == size) continue;
    refuse(fmt::format("its {} are {}, the model's {}", name, json_text(report.number(name)), size));
  }
  if (parts.privacy.has_value() != run.is_private) refuse("one of the two is private, and the other is not");
  if (!run.guarantee) return;
  const auto compare = [&](const char* name, const nlohmann::json& of_report, const nlohmann::json& of_model) {
    if (of_report == of_model) return;
    refuse(fmt::format("its {} is {}, the model's {}", name, json_text(of_report), json_text(of_model)));
  };
  const ReportedGuarantee& promise = *run.guarantee;
  const PrivacyStatement& privacy = *parts.privacy;
  using Term = std::optional<double>;
  for (const auto& [name, of_report, of_model] :
       {std::tuple<const char*, Term, Term>{"epsilon", promise.epsilon, privacy.epsilon},
        {"delta", promise.delta, privacy.delta},
        {"mu", promise.mu, privacy.mu}}) {
    if (of_report && of_model) compare(name, *of_report, *of_model);
  }
  compare("adjacency", to_string(promise.adjacency), privacy.adjacency);
  compare("unit", to_string(promise.unit), to_string(privacy.person ? PrivacyUnit::kPerson : PrivacyUnit::kRecord));
  if (!privacy.person) return;
  const auto count = [](const std::optional<std::uint64_t>& silos) { return silos ? nlohmann::json(*silos) : nullptr; };
  compare("rows_per_person", promise.rows_per_person, privacy.person->rows);
  compare("silos_per_person", count(promise.silos_per_person), count(privacy.person->silos));
}

void require_evaluation_of(const Classifier& classifier, const ReportedRun& evaluation, const std::string& path) {
  if (!evaluation.is_evaluation || !evaluation.figures) {
    throw BadInput(fmt::format("--evaluation {}: give a report of evaluate --private", path));
  }
  const std::vector<std::byte> bytes = to_bytes(classifier);
  const std::string digest = to_hex(sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  const std::vector<std::string> models = JsonFields(evaluation.content, path).texts("models");
  if (models == std::vector{digest}) return;
  throw BadInput(
      fmt::format("--evaluation {}: is of another model, of two, or of one that it does not name since it is not "
                  "private; evaluate the model of the card",
                  path));
}

std::string model_card(const Classifier& classifier, const std::string& name, const std::optional<ReportedRun>& run,
                       const std::string& report_path, const std::optional<ReportedRun>& evaluation) {
  const ClassifierParts& parts = classifier.parts();
  const nlohmann::json content = run ? run->content : nlohmann::json::object();
  const std::optional<ReportedRun>& tested = evaluation ? evaluation : run;
  const bool has_noise = tested && tested->figures;
  const TestNumbers figures = test_numbers(JsonFields(evaluation ? evaluation->content : content, report_path));
  const char* const what = !has_noise                    ? "figures about them are outside of the guarantee"
                           : tested->figures->is_private ? "figures about them have noise, and are private"
                                                         : "figures about them have noise, and are not private";
  std::string text = front_matter(parts, name, figures, what);
  text += fmt::format("# {}\n\nA {}{} that dpreduce trained.\n\n", as_text(name),
                      parts.privacy ? "differentially private linear " : "linear ",
                      has_numbers(parts) ? "regression" : "classifier");
  text += model_section(parts, run ? run->method_text() : parts.method);
  text += promise_section(parts, run);
  if (run && !run->blocks.empty()) text += "## Noised releases\n\n" + releases_table(run->blocks) + "\n";
  const bool are_training_rows = run && run->is_tested_on_training_rows;
  text += has_noise ? told_section(*tested) : test_section(figures, are_training_rows);
  if (!has_noise && !are_training_rows) {
    text += class_table(JsonFields(content, report_path).object("test"), parts.class_names);
  }
  return text + loading_section(name, has_numbers(parts) ? "numbers" : "labels");
}

}  // namespace dpreduce
