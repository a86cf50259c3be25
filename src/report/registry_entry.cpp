#include "report/registry_entry.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/toml_items.hpp"
#include "methods/registry.hpp"
#include "report/dossier.hpp"
#include "report/explanation.hpp"
#include "report/markdown.hpp"
#include "report/yaml_text.hpp"

namespace dpreduce {
namespace {

constexpr std::array<std::string_view, 6> kSectors{"Technology", "Healthcare", "Education",
                                                   "Government", "Energy",     "Finance"};
constexpr std::array<std::string_view, 4> kModels{"Local", "Central", "Shuffle", "Federated"};
constexpr std::array<std::string_view, 2> kReleases{"One release", "Many releases"};
constexpr std::array<std::string_view, 2> kSources{"Static", "Dynamic"};
constexpr std::array<std::string_view, 2> kAccesses{"Non-interactive", "Interactive"};

std::string machine_learning_model(const ReportedRun&) {
  return "Machine learning model";
}

std::string variant_name(const ReportedRun& run) {
  return run.guarantee->delta == 0.0 ? "Pure DP" : "Approximate DP";
}

std::string data_domain(const ReportedRun& run) {
  const JsonFields report(run.content, "report");
  if (report.has("targets")) {
    return fmt::format("Any number of rows, each of {} features and {} numbers.", report.count("input_dim"),
                       report.count("targets"));
  }
  const std::string labels = report.has("max_labels") ? fmt::format("up to {} of {} classes",
                                                                    report.count("max_labels"), report.count("classes"))
                                                      : fmt::format("one of {} classes", report.count("classes"));
  return fmt::format("Any number of rows, each of {} features and {}.", report.count("input_dim"), labels);
}

std::string unprotected_quantities(const ReportedRun& run) {
  return "Public: the numbers of classes, features, files and ranks, and all options. Not covered:\n\n" +
         bullets(sentences_of(words_of(run), "not_covered"));
}

std::string privacy_unit(const ReportedRun& run) {
  return as_text(unit_sentences(*run.guarantee).front());
}

std::string privacy_unit_details(const ReportedRun& run) {
  std::vector<std::string> sentences = unit_sentences(*run.guarantee);
  sentences.front() = neighbors_sentence(*run.guarantee);
  for (const std::string& sentence : sentences_of(words_of(run), "groups")) sentences.push_back(sentence);
  return bullets(sentences);
}

std::string parameters_details(const ReportedRun& run) {
  const std::vector<ExplainedSection> words = words_of(run);
  std::vector<std::string> sentences{sentences_of(words, "guarantee").front()};
  for (const char* const section : {"attacker", "delta"}) {
    for (const std::string& sentence : sentences_of(words, section)) sentences.push_back(sentence);
  }
  return bullets(sentences);
}

std::string model_name(const ReportedRun& run) {
  const MethodEntry* method = find_method(run.method);
  const bool is_federated = run.silos || (method != nullptr && method->each_rank_is_a_silo);
  return is_federated ? "Federated" : "Central";
}

std::string actors(const ReportedRun& run) {
  const std::vector<ExplainedSection> words = words_of(run);
  return "The guarantee holds against:\n\n" + bullets(sentences_of(words, "holds_for")) +
         "\nIt does not hold against:\n\n" + bullets(sentences_of(words, "not_for"));
}

std::string one_release(const ReportedRun&) {
  return std::string(kReleases.front());
}

std::string release_details(const ReportedRun& run) {
  return bullets({other_releases_sentence(run)});
}

std::string static_rows(const ReportedRun&) {
  return std::string(kSources.front());
}

std::string no_queries(const ReportedRun&) {
  return std::string(kAccesses.front());
}

std::string post_processing(const ReportedRun& run) {
  return bullets({post_processing_sentence(run)});
}

std::string composition(const ReportedRun& run) {
  return bullets(composition_sentences(run));
}

std::string preparation(const ReportedRun& run) {
  const JsonFields report(run.content, "report");
  std::vector<std::string> sentences;
  if (report.has("clip_norm")) {
    sentences.push_back(fmt::format("each row by itself is {} to norm {}, a public constant",
                                    report.text("normalize") == "l2" ? "scaled" : "clipped",
                                    json_text(report.number("clip_norm"))));
  }
  if (report.has("center")) {
    sentences.push_back(
        fmt::format("rows are centered by: {}{}", report.printable_text("center"),
                    report.text("center") == "dp" ? ", a release of this run that its guarantee covers" : ""));
  }
  if (const JsonFields choice = report.object("choice"); choice.has("setting")) {
    sentences.push_back(fmt::format("the method's setting, {}, was chosen by: {}", choice.printable_text("setting"),
                                    choice.printable_text("by")));
  }
  sentences.emplace_back(
      "options that were chosen by looking at private results of other runs are not accounted for here");
  return bullets(sentences);
}

std::string mechanisms(const ReportedRun& run) {
  std::string text = bullets(sentences_of(words_of(run), "released"));
  text += "\nFloating point:\n\n" + bullets(floating_point_sentences(run));
  text += "\nTiming:\n\n" + bullets(timing_sentences());
  const JsonFields report(run.content, "report");
  return text +
         as_text(fmt::format("\nComputed by dpreduce {}, method {}.\n", report.printable_text("version"), run.method));
}

// Who says a field.
enum class SaidOf {
  kAuthor,      // the author alone
  kNeeded,      // the author alone, and the registry wants it
  kRun,         // the report alone
  kBoth,        // the author's text stands in front of the report's
  kUnlessSaid,  // the report, where the author says nothing
};

struct Field {
  const char* block;
  const char* name;
  SaidOf who = SaidOf::kAuthor;
  std::string (*of_run)(const ReportedRun& run) = nullptr;  // of the last three
  std::span<const std::string_view> choices = {};           // empty: any text
  bool is_list = false;
};

constexpr const char* kDate = "publication_date";
constexpr const char* kParameters = "privacy_parameters";

// In the registry's order.
constexpr Field kFields[] = {
    {"basic", "name", SaidOf::kNeeded},
    {"basic", "data_curators", SaidOf::kNeeded, nullptr, {}, true},
    {"basic", "intended_use", SaidOf::kNeeded},
    {"basic", "data_product_type", SaidOf::kRun, machine_learning_model},
    {"basic", "data_product_region", SaidOf::kNeeded},
    {"basic", "description", SaidOf::kNeeded},
    {"basic", kDate, SaidOf::kNeeded},
    {"basic", "data_product_sector", SaidOf::kAuthor, nullptr, kSectors},
    {"dp_variant", "variant_name", SaidOf::kRun, variant_name},
    {"dp_variant", "data_domain", SaidOf::kBoth, data_domain},
    {"dp_variant", "unprotected_quantities", SaidOf::kBoth, unprotected_quantities},
    {"privacy_loss", "privacy_unit", SaidOf::kBoth, privacy_unit},
    {"privacy_loss", "privacy_unit_details", SaidOf::kBoth, privacy_unit_details},
    {"privacy_loss", kParameters, SaidOf::kRun},
    {"privacy_loss", "privacy_parameters_details", SaidOf::kBoth, parameters_details},
    {"deployment_model", "model_name", SaidOf::kUnlessSaid, model_name, kModels},
    {"deployment_model", "model_name_details"},
    {"deployment_model", "actors", SaidOf::kBoth, actors},
    {"deployment_model", "release_type", SaidOf::kUnlessSaid, one_release, kReleases},
    {"deployment_model", "release_type_details", SaidOf::kBoth, release_details},
    {"deployment_model", "data_source_type", SaidOf::kUnlessSaid, static_rows, kSources},
    {"deployment_model", "data_source_type_details"},
    {"deployment_model", "access_type", SaidOf::kUnlessSaid, no_queries, kAccesses},
    {"deployment_model", "access_type_details"},
    {"accounting", "post_processing", SaidOf::kBoth, post_processing},
    {"accounting", "composition", SaidOf::kBoth, composition},
    {"implementation", "preprocessing_and_hyperparameter_tuning", SaidOf::kBoth, preparation},
    {"implementation", "mechanisms", SaidOf::kBoth, mechanisms},
    {"implementation", "justification"},
    {"administrative", "sources"},
    {"administrative", "notes"},
    {"administrative", "registry_authors", SaidOf::kNeeded, nullptr, {}, true},
};

constexpr const char* kSlug = "url_slug";

bool is_date(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &end) != 3) return false;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  return date.ok() && text == fmt::format("{:04}-{:02}-{:02}", year, month, day) &&
         static_cast<std::size_t>(end) == text.size();
}

// "North Hospital's triage" as "north-hospital-s-triage".
std::string slug_of(const std::string& name) {
  std::string slug;
  for (const char letter : name) {
    const auto c = static_cast<unsigned char>(letter);
    if (c < 0x80 && std::isalnum(c) != 0) {
      slug += static_cast<char>(std::tolower(c));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "deployment" : slug;
}

// What the author says: values by section and key.
class About {
 public:
  About(const std::string& text, std::string path) : path_(std::move(path)) {
    try {
      for (const TomlItem& item : toml_items(text)) add(item);
    } catch (const TomlError& error) {
      refuse(fmt::format("line {}: {}", error.line(), error.what()));
    }
  }

  const std::vector<std::string>* values(const std::string& block, const std::string& name) const {
    const auto found = values_.find({block, name});
    return found == values_.end() ? nullptr : &found->second;
  }

  std::string text(const std::string& block, const std::string& name) const {
    const std::vector<std::string>* const all = values(block, name);
    return all == nullptr ? "" : all->front();
  }

  void require(const Field& field) const {
    if (values(field.block, field.name) != nullptr) return;
    refuse(fmt::format("[{}] {} is missing: the registry wants it, and the report does not know it", field.block,
                       field.name));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw BadInput(fmt::format("--about {}: {}", path_, what));
  }

  [[noreturn]] void refuse_unknown(const TomlItem& item, const std::string& block) const {
    std::set<std::string> names;
    for (const Field& field : kFields) {
      if (field.block == block && field.who != SaidOf::kRun) names.insert(field.name);
    }
    const std::string which = block.empty() ? item.key : fmt::format("[{}] {}", block, item.key);
    refuse(fmt::format("line {}: {} is no field that an author has; {}", item.line, which,
                       names.empty() ? fmt::format("sections are {}", fmt::join(blocks(), ", "))
                                     : fmt::format("[{}] has {}", block, fmt::join(names, ", "))));
  }

  static std::vector<std::string> blocks() {
    std::vector<std::string> all;
    for (const Field& field : kFields) {
      if (all.empty() || all.back() != field.block) all.emplace_back(field.block);
    }
    return all;
  }

  void require_value(const TomlItem& item, const Field& field) const {
    const auto refuse_value = [&](const std::string& what) {
      refuse(fmt::format("line {}: [{}] {}: {}", item.line, field.block, field.name, what));
    };
    const std::vector<std::string>& values = item.values;
    if (values.empty() || std::ranges::any_of(values, [](const auto& value) { return value.empty(); })) {
      refuse_value("must not be empty; leave the line out, or fill it in");
    }
    if (!field.is_list && values.size() != 1) refuse_value("must have one value");
    if (field.name == kDate && !is_date(values.front())) {
      refuse_value(fmt::format("\"{}\" must be a day in quotes, as \"2026-11-26\"", values.front()));
    }
    if (field.choices.empty() || std::ranges::find(field.choices, values.front()) != field.choices.end()) return;
    refuse_value(fmt::format("\"{}\" must be one of: {}", values.front(), fmt::join(field.choices, ", ")));
  }

  void add(const TomlItem& item) {
    if (item.section.empty() && item.key == kSlug) {
      if (item.values.size() != 1 || item.values.front() != slug_of(item.values.front())) {
        refuse(fmt::format("line {}: url_slug must be one word of a-z, 0-9 and -", item.line));
      }
      values_[{"", kSlug}] = item.values;
      return;
    }
    const std::string block = fmt::format("{}", fmt::join(item.section, "."));
    const auto field = std::ranges::find_if(kFields, [&](const Field& one) {
      return one.block == block && one.name == item.key && one.who != SaidOf::kRun;
    });
    if (field == std::end(kFields)) refuse_unknown(item, block);
    require_value(item, *field);
    values_[{block, item.key}] = item.values;
  }

  std::string path_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> values_;
};

nlohmann::ordered_json parameters_of(const ReportedRun& run) {
  nlohmann::ordered_json parameters{{"epsilon", run.guarantee->epsilon}, {"delta", run.guarantee->delta}};
  const JsonFields report(run.content, "report");
  if (const JsonFields privacy = report.object("privacy"); privacy.has("rho"))
    parameters["rho"] = privacy.number("rho");
  return parameters;
}

// Null where nobody says anything.
nlohmann::ordered_json value_of(const Field& field, const About& about, const ReportedRun& run) {
  if (field.who == SaidOf::kNeeded) about.require(field);
  const std::vector<std::string>* const said = about.values(field.block, field.name);
  if (field.is_list) return *said;
  if (field.name == kParameters) return parameters_of(run);
  const std::string of_author = said == nullptr ? "" : said->front();
  if (field.of_run == nullptr || (field.who == SaidOf::kUnlessSaid && said != nullptr)) {
    return said == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(of_author);
  }
  return of_author + (of_author.empty() ? "" : "\n\n") + field.of_run(run);
}

}  // namespace

std::string registry_entry(const ReportedRun& run, const std::string& report_path, const std::string& about_text,
                           const std::string& about_path) {
  require_promise(run, report_path, "an entry of the registry");
  const About about(about_text, about_path);
  const std::string slug = about.text("", kSlug);
  const bool is_explained = !about.text("implementation", "preprocessing_and_hyperparameter_tuning").empty() &&
                            !about.text("implementation", "justification").empty();
  nlohmann::ordered_json entry{{kSlug, slug.empty() ? slug_of(about.text("basic", "name")) : slug},
                               {"status", "Draft"},
                               {"tier", is_explained ? 3 : 2}};
  for (const Field& field : kFields) {
    nlohmann::ordered_json value = value_of(field, about, run);
    if (!value.is_null()) entry["deployment"][field.block][field.name] = std::move(value);
  }
  return yaml_text(entry);
}

}  // namespace dpreduce
