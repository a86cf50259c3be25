#include "report/explanation.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/accounting/guarantee.hpp"
#include "report/budget_warning.hpp"
#include "report/explained_parts.hpp"

namespace dpreduce {

std::vector<ExplainedSection> words_of(const ReportedRun& run) {
  const std::optional<Consequences> consequences =
      run.guarantee ? std::optional(consequences_of(*run.guarantee)) : std::nullopt;
  std::vector<ExplainedSection> sections{{"guarantee", guarantee_sentences(run)}};
  if (consequences) sections.emplace_back("attacker", attacker_sentences(*run.guarantee, *consequences));
  sections.emplace_back("released", released_sentences(run));
  if (!run.guarantee) {
    const bool lacks_noise = run.is_seeded() || !run.has_noise();
    const char* const other_fit =
        lacks_noise ? "fit without --seed and --non-private for a release" : "fit with what is public for a release";
    sections.emplace_back(
        "advice", std::vector<std::string>{fmt::format("keep model and report as you keep the data; {}", other_fit)});
    return sections;
  }
  sections.emplace_back("holds_for", holds_for_sentences(run));
  sections.emplace_back("not_for", not_for_sentences(run));
  sections.emplace_back("not_covered", uncovered_sentences(run));
  sections.emplace_back("groups", group_sentences(run, *consequences));
  sections.emplace_back("delta", delta_sentences(*run.guarantee));
  return sections;
}

std::vector<ExplainedSection> headed_words_of(ReportedRun run) {
  run.is_tested_on_training_rows = false;
  const std::array<std::pair<const char*, const char*>, 9> headings{
      {{"guarantee", "The guarantee"},
       {"attacker", "What an attacker can tell"},
       {"holds_for", "It holds against"},
       {"not_for", "It does not hold against"},
       {"released", "What was released"},
       {"not_covered", "What it does not cover"},
       {"groups", run.is_of_persons() ? "Several persons together" : "Several records of one person"},
       {"delta", "Delta"},
       {"advice", "What to do"}}};
  const std::vector<ExplainedSection> words = words_of(run);
  std::vector<ExplainedSection> headed;
  for (const auto& [key, heading] : headings) {
    const auto section = std::ranges::find(words, key, &ExplainedSection::first);
    if (section != words.end()) headed.emplace_back(heading, section->second);
  }
  return headed;
}

nlohmann::json explanation_of(const ReportedRun& run) {
  nlohmann::json json{{"private", run.is_private}, {"dry_run", run.is_dry_run}, {"method", run.method},
                      {"epsilon", nullptr},        {"delta", nullptr},          {"mu", nullptr},
                      {"adjacency", nullptr},      {"accountant", nullptr},     {"unit", nullptr},
                      {"attack", nullptr},         {"warning", nullptr}};
  json["groups"] = nlohmann::json::array();
  if (!run.forfeits.empty()) json["forfeited_by"] = forfeits_json<nlohmann::json>(run.forfeits);
  if (run.guarantee) {
    const ReportedGuarantee& g = *run.guarantee;
    const Consequences consequences = consequences_of(g);
    json.update({{"epsilon", g.epsilon},
                 {"delta", g.delta},
                 {"mu", or_null(g.mu)},
                 {"adjacency", to_string(g.adjacency)},
                 {"accountant", to_string(g.accountant)},
                 {"unit", to_string(g.unit)}});
    if (const std::string weakness = weakness_of(g.epsilon, g.delta, g.unit); !weakness.empty())
      json["warning"] = weakness;
    json["attack"] = {{"false_positive_rate", kFalsePositiveRate},
                      {"true_positive_rate", consequences.true_positive_rate},
                      {"even_odds_accuracy", or_null(consequences.even_odds_accuracy)}};
    for (const GroupCost& group : consequences.groups) {
      json["groups"].push_back({{g.unit == PrivacyUnit::kPerson ? "persons" : "records", group.records},
                                {"epsilon", or_null(group.epsilon)}});
    }
  }
  json["releases"] = nlohmann::json::array();
  for (const ReportedBlock& block : run.blocks) {
    json["releases"].push_back({{"name", block.name},
                                {"release", block.release},
                                {"coordinates", block.coordinates},
                                {"sensitivity", block.sensitivity},
                                {"sigma", block.sigma},
                                {"sampling_rate", block.sampling_rate},
                                {"noise_multiplier", block.sigma / block.sensitivity}});
  }
  for (const auto& [heading, sentences] : words_of(run)) json["words"][heading] = sentences;
  return json;
}

}  // namespace dpreduce
