#include "report/model_card.hpp"

#include <fmt/format.h>

#include "common/accounting/argument_checks.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/model/classifier_file.hpp"
#include "common/model/released_file.hpp"
#include "common/randomness/signing_key.hpp"
#include "report/document_sections.hpp"
#include "report/explanation.hpp"
#include "report/run_facts.hpp"

namespace dpreduce {
namespace {

// A string as YAML and JSON both write it.
std::string quoted(const std::string& text) {
  return readable_json_text(nlohmann::json(text));
}

bool has_numbers(const ClassifierParts& parts) {
  return parts.preprocessing.targets.count > 0;
}

// `test`: report with the figures about test rows, of which `what` says what they are.
std::string front_matter(const ClassifierParts& parts, const std::string& name, const JsonFields& test,
                         const char* what) {
  const char* const task = has_numbers(parts) ? "tabular-regression" : "tabular-classification";
  std::string text = fmt::format(
      "---\n"
      "# license: yours to choose, before you publish the model\n"
      "library_name: dpreduce\n"
      "pipeline_tag: {}\n"
      "tags:\n"
      "{}- linear-{}\n- safetensors\n- {}\n",
      task, parts.privacy ? "- differential-privacy\n" : "", has_numbers(parts) ? "regression" : "classifier",
      quoted("dpreduce-" + parts.method));
  auto figures = numbers_alone(test);
  for (auto& [metric, figure] : figures) {
    if (metric == "micro_f1") metric = "f1";  // as readers of front matter know it
  }
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

std::string steps_text(const Preprocessing& rows) {
  std::vector<std::string> steps;
  if (rows.pool > 1) steps.push_back(fmt::format("average {} features", rows.pool));
  if (!rows.columns.center.empty()) steps.emplace_back("scale each column by its range, and clip to [-1, 1]");
  steps.push_back(fmt::format("{} to norm {}", rows.normalize == Normalize::kL2 ? "scale" : "clip", rows.clip_norm));
  if (!rows.center.empty()) steps.emplace_back("center");
  if (rows.center_factor != 1.0) steps.push_back(fmt::format("multiply by {}, clip again", rows.center_factor));
  if (!rows.projection.empty()) steps.push_back(fmt::format("project to {}", rows.projected_dim()));
  if (!rows.selected.empty()) steps.push_back(fmt::format("select {}", rows.selected.size()));
  return fmt::format("{}", fmt::join(steps, ", "));
}

std::string model_section(const ClassifierParts& parts, const std::string& method) {
  const Preprocessing& rows = parts.preprocessing;
  Facts facts{{"method", method},
              {has_numbers(parts) ? "targets" : "classes", figure(parts.classes)},
              {"features of a row", figure(rows.input_dim)},
              {"preparation of a row", steps_text(rows)}};
  if (has_numbers(parts)) {
    facts.push_back(
        {"ranges of targets", fmt::format("center {:.6g}, scale {:.6g}", fmt::join(rows.targets.center, ", "),
                                          fmt::join(rows.targets.scale, ", "))});
  } else {
    facts.push_back({"probabilities", parts.link ? to_string(*parts.link) : "none: scores only rank the classes"});
    if (parts.threshold) facts.push_back({"threshold of a class", fmt::format("{}", *parts.threshold)});
  }
  std::string text =
      fmt::format("## Model\n\n{}It takes features from the same encoder as in training, in the same order{}.\n\n",
                  markdown_of(facts), has_numbers(parts) ? ", and predicts numbers" : "");
  if (parts.class_names.empty()) return text;
  const std::size_t shown = std::min(parts.class_names.size(), kMostClassesInCard);
  const std::size_t more = parts.class_names.size() - shown;
  text += "Classes, from 0:\n\n";
  for (std::size_t k = 0; k < shown; ++k) text += fmt::format("{}. {}\n", k, as_text(parts.class_names[k]));
  return text + (more > 0 ? fmt::format("\n{} more are in the model file.\n\n", more) : "\n");
}

std::string accountant_sentence(const ReportedRun& run) {
  if (run.guarantee->delta == 0.0) return "the run is private choices alone, whose epsilons add up";
  if (!run.guarantee->accountant) return "by the accountant that the report names, and a model file does not";
  constexpr const char* kSentences[] = {
      "in Gaussian DP: the squares of their mu, exactly",
      "in zero-concentrated DP, and its epsilon is the one at the best order",
      "in Renyi DP, and epsilon is the one at the best order",
      "as distributions of privacy loss, and epsilon is an upper bound of theirs"};  // in the order of Accountant
  return fmt::format("releases add up {}", kSentences[static_cast<std::size_t>(*run.guarantee->accountant)]);
}

// Sentences on how the run's releases add up, and what others add to them.
std::vector<std::string> composition_sentences(const ReportedRun& run) {
  const std::string ledger =
      !run.ledger ? ""
                  : fmt::format(
                        "each release is a signed line of a ledger (key {}), written before the release was made; "
                        "dpreduce ledger verify --report checks that a ledger is complete and belongs to this run",
                        run.ledger->public_key);
  return {accountant_sentence(run) + "; later ones may depend on what earlier ones put out", ledger,
          other_releases_sentence(run)};
}

// Sentences on how noise and sums keep clear of floating point, and on what times reveal; empty ones are left out.
std::vector<std::string> arithmetic_sentences(const ReportedRun& run) {
  return {
      "each row is rounded to integers, and its norm is checked in integers; sums are integers modulo 2^64, so the "
      "order of rows, ranks or messages does not change a bit",
      run.blocks.empty()
          ? ""
          : "noise is a Gaussian rounded exactly to an integer: bits are drawn until the integer is certain; no "
            "probability is approximated, and no sum is a floating-point number before noise is added",
      run.selections.empty()
          ? ""
          : "choices are drawn exactly from integer utilities: if rounding could matter, more digits are computed",
      "random bits are AES-256-CTR with keys from a 256-bit secret of OpenSSL: an attacker would have to break AES",
      "no published file of the run contains running times; times in the ledger are whole minutes",
      "an observer of the run sees how long it takes, and that depends on rows: only those who may see the rows "
      "should observe it",
      "the model is a fixed set of numbers: predictions read no training rows, so their times do not depend on "
      "these"};
}

// Tries to refute the promise by the method of the run.
std::string audit_command(const ReportedRun& run) {
  const ReportedGuarantee& promise = *run.guarantee;
  return fmt::format(
      "dpreduce audit --method {} --epsilon {}{} --adjacency {}{}", run.method, print_number(promise.epsilon),
      promise.delta == 0.0 ? "" : " --delta " + print_number(promise.delta), to_string(promise.adjacency),
      run.is_of_persons() ? fmt::format(" --rows-per-person {}", promise.person->rows) : "");
}

// The promise of the run, or of the model file if there is no report.
std::string promise_text(const ReportedRun& run) {
  Section promise = promise_section(run);
  const std::string meaning = markdown_of(meaning_section(run));
  if (!run.guarantee || run.of != ReportedOf::kReport) return meaning + markdown_of(promise);
  promise.blocks.emplace_back(Words{"How releases add up", composition_sentences(run)});
  promise.blocks.emplace_back(Words{"Floating point and times", arithmetic_sentences(run)});
  return meaning + markdown_of(promise) +
         fmt::format(
             "### Test of the guarantee\n\n"
             "This command trains by the same method and tries to refute the guarantee; add the other options "
             "of the fit:\n\n"
             "```bash\n{}\n```\n\n",
             audit_command(run));
}

std::string test_text(const ReportedRun& run, const JsonFields& report) {
  const std::string text = markdown_of(test_section(run, report, false)) + markdown_of(class_section(report, false));
  if (!run.is_evaluation) return text;
  return text + markdown_of(Section{"Guarantee of the test rows", {promise_facts(report.object("privacy"))}});
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

void require_of_model(const Classifier& classifier, const ReportedRun& run) {
  const ClassifierParts& parts = classifier.parts();
  const auto refuse = [&](const std::string& what) {
    throw BadInput("--report {}: is of another model: {}; give the report of the fit that wrote the model", run.path,
                   what);
  };
  if (run.is_dry_run) refuse("it is the plan of a dry run");
  const auto compare = [&](const char* name, const nlohmann::json& of_report, const nlohmann::json& of_model) {
    if (of_report.is_null() || of_model.is_null() || of_report == of_model) return;
    refuse(fmt::format("{} {} in the report, {} in the model", name, json_text(of_report), json_text(of_model)));
  };
  const JsonFields report(run.content, run.path);
  const char* const outputs = has_numbers(parts) ? "targets" : "classes";
  compare("method", run.method, parts.method);
  compare(outputs, report.number(outputs), parts.classes);
  compare("input_dim", report.number("input_dim"), parts.preprocessing.input_dim);
  compare("private", run.is_private, parts.privacy.has_value());
  const nlohmann::json promise = report.object("privacy").json();
  const nlohmann::json statement = statement_json(parts.privacy, parts.forfeits);
  if (!run.guarantee) return;
  for (const auto& [member, usual] : {std::pair{"epsilon", nlohmann::json()},
                                      {"delta", nullptr},
                                      {"mu", nullptr},
                                      {"adjacency", nullptr},
                                      {"unit", to_string(PrivacyUnit::kRecord)},
                                      {"rows_per_person", 0},
                                      {"silos_per_person", 0}}) {
    compare(member, promise.value(member, usual), statement.value(member, usual));
  }
}

void require_evaluation_of(const Classifier& classifier, const ReportedRun& evaluation) {
  if (!evaluation.is_evaluation || !evaluation.figures) {
    throw BadInput("--evaluation {}: give a report of evaluate --private", evaluation.path);
  }
  const std::string digest = to_hex(sha256(to_bytes(classifier)));
  const std::vector<std::string> models = JsonFields(evaluation.content, evaluation.path).texts("models");
  if (models == std::vector{digest}) return;
  throw BadInput(
      "--evaluation {}: is of another model, of two models, or of an unnamed one that is not private; "
      "evaluate the model of the card",
      evaluation.path);
}

std::string model_card(const Classifier& classifier, const std::string& name, const std::optional<ReportedRun>& run,
                       const std::optional<ReportedRun>& evaluation) {
  const ClassifierParts& parts = classifier.parts();
  const ReportedRun promised = run ? *run : run_of_model(classifier, name);
  const JsonFields report(promised.content, promised.path);
  const ReportedRun& tested = evaluation ? *evaluation : promised;
  const JsonFields test(tested.content, tested.path);
  const char* const what = !tested.figures              ? "figures about them are outside of the guarantee"
                           : tested.figures->is_private ? "figures about them have noise, and are private"
                                                        : "figures about them have noise, and are not private";
  return front_matter(parts, name, test, what) +
         fmt::format("# {}\n\nA {}{} that dpreduce trained.\n\n", as_text(name),
                     parts.privacy ? "differentially private linear " : "linear ",
                     has_numbers(parts) ? "regression" : "classifier") +
         model_section(parts, promised.method_text()) + promise_text(promised) +
         markdown_of(coefficients_section(report)) +
         markdown_of(Section{"Noised releases", {releases_table("", promised.blocks)}}) + test_text(tested, test) +
         loading_section(name, has_numbers(parts) ? "numbers" : "labels");
}

}  // namespace dpreduce
