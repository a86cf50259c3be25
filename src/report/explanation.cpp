#include "report/explanation.hpp"

#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "common/accounting/gaussian_dp.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

constexpr double kLargeEpsilon = 20.0;  // above it, and from this delta on, a budget promises little
constexpr double kLargeDelta = 1e-3;
constexpr double kFalsePositiveRate = 0.01;
constexpr int kCountDigits = 6;
constexpr unsigned kReportedGroups[] = {2, 10};

// Epsilon for a group of so many; nullopt where no useful bound follows, as without mu.
std::optional<double> group_epsilon(const ReportedGuarantee& guarantee, unsigned records) {
  if (guarantee.delta == 0.0) return records * guarantee.epsilon;
  if (!guarantee.mu) return std::nullopt;
  const double mu = std::nextafter(records * *guarantee.mu, std::numeric_limits<double>::infinity());
  if (mu > kLargestMu) return std::nullopt;
  return gdp_epsilon(mu, guarantee.delta);
}

// The largest share of right guesses by an attacker to whom both cases are as likely; nullopt without mu.
std::optional<double> even_odds_accuracy(const ReportedGuarantee& guarantee) {
  return guarantee.mu ? std::optional(gdp_even_odds_accuracy(*guarantee.mu)) : std::nullopt;
}

// Below, empty sentences are left out (Words).

// Sentences on the persons whom the guarantee protects, and what it takes for true of the data.
std::vector<std::string> unit_sentences(const ReportedGuarantee& g) {
  if (!g.person) return {"the unit is one person; the report of each run states how many rows a person counts for"};
  const std::uint64_t silos = g.person->silos.value_or(0);
  return {fmt::format("the unit is one person with any number of rows, which count for at most {} row{} together; rows "
                      "with the same identifier (--train-person) belong to one person",
                      g.person->rows, g.person->rows == 1 ? "" : "s"),
          !g.person->silos
              ? ""
              : fmt::format(
                    "it holds if no person has rows in more than {} silo{} (--silos-per-person); each silo limits a "
                    "person to its share of these rows. Nobody can check this, since silos do not compare persons; a "
                    "person with rows in more silos counts as a group of persons",
                    silos, silos == 1 ? "" : "s")};
}

// Says which data sets are neighbors, and what holds for any two of them.
std::string neighbors_sentence(const ReportedGuarantee& guarantee) {
  const std::string factor = guarantee.epsilon <= kLargeEpsilon
                                 ? fmt::format("{} times", upper_figure(std::exp(guarantee.epsilon)))
                                 : fmt::format("e^{} times", upper_figure(guarantee.epsilon));
  return fmt::format("{}: with one {} {}, the probability of any set of outcomes is at most {} what it was{}",
                     to_string(guarantee.adjacency),
                     guarantee.unit == PrivacyUnit::kPerson ? "person, with all their rows," : "record",
                     guarantee.adjacency == Adjacency::kAddRemove ? "more or less" : "exchanged", factor,
                     guarantee.delta == 0.0 ? "" : ", plus " + upper_figure(guarantee.delta));
}

std::vector<std::string> reasons_of_none(const ReportedRun& run) {
  if (run.of == ReportedOf::kModel && run.forfeits.empty()) {
    return {"none: it was trained without noise, or with a seed"};
  }
  if (run.of == ReportedOf::kReport && !run.has_noise()) return {"none: no noise was added"};
  std::vector<std::string> reasons;
  for (const Forfeit own : run.forfeits) reasons.push_back(fmt::format("none: {}", reason_of(own)));
  return reasons;
}

std::vector<std::string> guarantee_sentences(const ReportedRun& run) {
  if (!run.guarantee) return reasons_of_none(run);
  const ReportedGuarantee& g = *run.guarantee;
  const std::string mu = g.mu ? fmt::format("mu {} (Gaussian DP)", upper_figure(*g.mu)) : "";
  std::vector<std::string> sentences{
      g.delta == 0.0
          ? fmt::format("epsilon {}, pure (delta is 0); also {}", upper_figure(g.epsilon), mu)
          : fmt::format("{}epsilon {} at delta {}{}", mu.empty() ? "" : mu + ", that is ", upper_figure(g.epsilon),
                        upper_figure(g.delta),
                        g.accountant ? fmt::format(", by the {} accountant", to_string(*g.accountant)) : "")};
  if (g.unit == PrivacyUnit::kPerson) std::ranges::move(unit_sentences(g), std::back_inserter(sentences));
  sentences.push_back(neighbors_sentence(g));
  if (run.of == ReportedOf::kLedger) {
    sentences.emplace_back(
        "it covers all runs on the ledger together, if all were about the same records or persons; what open runs may "
        "still charge is not included (dpreduce ledger show)");
  } else if (run.is_evaluation) {
    sentences.emplace_back("it covers the test rows alone");
    for (const std::string& model : run.models) {
      sentences.push_back(fmt::format("guarantee of {} for its own training rows: {}",
                                      run.models.size() == 1 ? "the model" : "one of the two models", model));
    }
  } else if (run.figures) {
    sentences.emplace_back("it also covers the test rows: their metrics are one of its releases");
  }
  sentences.emplace_back(run.is_on_a_long_tail
                             ? "it covers all rows, including those left out for the long tail "
                               "(--imbalance-ratio): whether a row is kept depends on its own bytes alone"
                             : "");
  sentences.push_back(weakness_of(g.epsilon, g.delta, g.unit));
  return sentences;
}

std::vector<std::string> attacker_sentences(const ReportedGuarantee& guarantee) {
  const bool adds = guarantee.adjacency == Adjacency::kAddRemove;
  const std::optional<double> accuracy = even_odds_accuracy(guarantee);
  return {
      fmt::format("an attacker who knows all other {} tests {}: at {:g} % false alarms, at most {} % of those {} are "
                  "detected (blind guessing: {:g} %)",
                  guarantee.unit == PrivacyUnit::kPerson ? "persons' rows" : "records",
                  adds ? "whether a given one is in the data" : "which of two given ones is in the data",
                  100 * kFalsePositiveRate, upper_figure(100 * found_at_most(guarantee, kFalsePositiveRate)),
                  adds ? "in the data" : "with the other one", 100 * kFalsePositiveRate),
      accuracy
          ? fmt::format("at even odds, the attacker's guess is right at most {} % of the time (blind guessing: 50 %)",
                        upper_figure(100 * *accuracy))
          : ""};
}

std::vector<std::string> group_sentences(const ReportedGuarantee& guarantee) {
  std::vector<std::string> sentences;
  const bool is_person = guarantee.unit == PrivacyUnit::kPerson;
  for (const unsigned records : kReportedGroups) {
    const std::optional<double> epsilon = group_epsilon(guarantee, records);
    sentences.push_back(fmt::format(
        "{} {}: {}", records, is_person ? "persons" : "records",
        epsilon ? fmt::format("epsilon {} at delta {}", upper_figure(*epsilon), upper_figure(guarantee.delta))
                : "this report gives no useful bound"));
  }
  sentences.emplace_back(is_person
                             ? "all rows with one identifier belong to one person; a person with several identifiers "
                               "counts as such a group"
                             : "the unit is one record: a person with ten records, in one file or several, counts as a "
                               "group of 10; with identifiers (--train-person) the unit is the person");
  return sentences;
}

std::vector<std::string> delta_sentences(const ReportedGuarantee& guarantee) {
  const std::string_view member = to_string(guarantee.unit);
  if (guarantee.delta == 0.0) {
    return {fmt::format("0: the guarantee holds for every outcome, whatever the number of {}s", member)};
  }
  const std::string rule =
      fmt::format("rule: delta at most 1 / (10 n), where n is a public estimate of the number of {}s; ", member);
  const double records = std::floor(0.1 / guarantee.delta * (1.0 + std::numeric_limits<double>::epsilon()));
  if (guarantee.delta >= kLargeDelta) {
    return {rule +
            fmt::format("{} is too large: a mechanism that publishes each {} with that probability would satisfy it",
                        upper_figure(guarantee.delta), member)};
  }
  return {rule + fmt::format("{} is suitable up to {} {}s (the exact number is private, and not in the report)",
                             upper_figure(guarantee.delta), lower_figure(records, kCountDigits), member)};
}

// Names whom the guarantee does not protect from: whoever makes the noise can take it off.
std::string not_for_sentence(const ReportedRun& run) {
  if (run.silos && run.silos->noise == NoiseSource::kDistributed) {
    return run.silos->colluding == 0
               ? "a silo, which knows its own rows and can remove its own share of the noise"
               : "more colluding silos than that, which know their own rows and can remove their shares of the noise";
  }
  if (run.silos) {
    return "the coordinator, which adds the noise (or draws the choice) and could see the exact sums; it does not see "
           "the sums of a single silo";
  }
  const MethodEntry* method = find_method(run.method);
  if (method != nullptr && method->each_rank_is_a_silo) {
    return "the ranks that computed it: they hold rows, and each adds noise to its own sums";
  }
  return "the ranks that computed it, including the coordinator: they hold rows, and the secrets from which noise and "
         "choices are drawn";
}

// Describes the noise of one block of a release, in all its rounds.
std::string noise_sentence(const ReportedRun& run, const std::vector<ReportedBlock>& rounds) {
  const ReportedBlock& block = rounds.front();
  const bool is_one = rounds.size() == 1;
  return fmt::format(
      "{} ({}{}): {} number{}{}, each with {} of {}{}{}", block.name, block.release,
      is_one ? "" : fmt::format(" to {}", rounds.back().release), block.elements, block.elements == 1 ? "" : "s",
      is_one ? "" : fmt::format(", {} times", rounds.size()), run.is_seeded() ? "seeded noise" : "Gaussian noise",
      noise_text(block.sigma, block.sensitivity),
      block.sampling_rate < 1.0
          ? fmt::format("; {} counts with probability {:g}, by a secret coin in every round",
                        run.unit == PrivacyUnit::kPerson ? "a person, with all their rows," : "a row",
                        block.sampling_rate)
          : "",
      block.is_symmetric ? " (off-diagonal entries: sqrt(1/2) of that, and each is released once for two)" : "");
}

// Names what is computed from the releases alone.
std::string post_processing_sentence(const ReportedRun& run) {
  if (run.is_evaluation) {
    return "metrics and their intervals are computed from these numbers and public knowledge, at no further cost";
  }
  return fmt::format(
      "model, scores and predictions are computed from these numbers and public knowledge{}, at no further cost",
      run.is_chosen_by_validation ? " (the setting is chosen by exact metrics of the validation rows)" : "");
}

std::vector<std::string> released_sentences(const ReportedRun& run) {
  if (run.is_dry_run) return {"nothing: this is a dry run"};
  if (!run.has_noise()) return {"a model computed from exact sums of the training rows"};
  std::vector<std::string> sentences;
  for (const std::vector<ReportedBlock>& rounds : rounds_of(run.blocks)) {
    sentences.push_back(noise_sentence(run, rounds));
  }
  for (const ReportedSelection& selection : run.selections) {
    const SelectionTerms& terms = selection.terms;
    const std::string which =
        terms.groups > 1 ? fmt::format("for each of {} classes {} of", terms.groups, terms.chosen) : "which of";
    sentences.push_back(fmt::format("{}: {} {} candidates, drawn by the exponential mechanism with epsilon {}{}",
                                    selection.name, which, terms.candidates, upper_figure(terms.epsilon),
                                    run.is_seeded() ? ", seeded" : ""));
  }
  sentences.push_back(post_processing_sentence(run));
  sentences.push_back(rare_classes_text(JsonFields(run.content, run.path)));
  // Names the silos whose rows may be missing: a reader cannot see it in the model.
  if (run.silos && run.silos->lost) {
    std::vector<std::string> lost;
    for (const LostSilo& silo : *run.silos->lost) {
      lost.push_back(fmt::format("{} (waiting for {}: {})", silo.name, silo.phase, silo.reason));
    }
    sentences.push_back(
        lost.empty() ? "all silos stayed to the end of the run: no silo was lost"
                     : fmt::format("silos lost during the run, and in no sum after that: {}", fmt::join(lost, "; ")));
  }
  return sentences;
}

std::vector<std::string> figure_sentences(const ReportedMetrics& told) {
  std::vector<std::string> sentences;
  for (const Fact& fact : facts_of(told)) sentences.push_back(fact.name + ": " + fact.value.text);
  sentences.push_back(interval_sentence(told));
  return sentences;
}

std::vector<std::string> holds_for_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{run.is_evaluation ? "anyone who reads the metrics, the report and the ledger"
                                                       : "anyone who reads the model, the report and the ledger"};
  if (run.silos && run.silos->noise == NoiseSource::kDistributed) {
    sentences.push_back(
        (run.silos->colluding == 0
             ? "the coordinator: each silo adds a share of the noise before its sums leave it"
             : fmt::format("the coordinator together with up to {} silo{}: each silo adds a share of the noise before "
                           "its sums leave it, and the others' shares are enough",
                           run.silos->colluding, run.silos->colluding == 1 ? "" : "s")) +
        (run.silos->is_ephemeral ? ", in a simulation only: identities were ephemeral (no --roster), so nobody knows "
                                   "who the silos were, or whether they were one"
                                 : ""));
  }
  return sentences;
}

std::vector<std::string> uncovered_sentences(const ReportedRun& run) {
  std::vector<std::string> sentences{
      run.figures ? ""  // they have noise
      : run.is_tested_on_training_rows
          ? "test metrics, which are exact; here the test rows are training rows, so do not "
            "publish the report and page, or remove the metrics"
          : "test metrics, which are exact",
      "running times, file sizes, and the memory, swap and disks of the machines that computed it",
      "how a run ended: an exit code or a missing model reveals that a row was refused, or that memory was too small",
      "the owner's own logs, terminal, output of inspect, error messages about rows, and the secrets from which noise "
      "is drawn",
      "choices made by looking at private results outside the run: tuning options, picking the best of several runs",
      other_releases_sentence(run),
      "facts about the population, which a model may reveal about a person who is not in the data"};
  for (const PublicByWord word : run.public_by_word) {
    sentences.push_back(word == PublicByWord::kModel
                            ? "the evaluated model, which was declared public (--public-model): if it was trained on "
                              "these rows, they are not protected"
                            : fmt::format("{}, which were declared public: nothing protects their content",
                                          word == PublicByWord::kPublicX ? "public rows (--public-x)"
                                                                         : "validation rows (--validation-x)"));
  }
  if (run.is_chosen_by_validation)
    sentences.push_back("validation rows: the setting was chosen by their exact metrics");
  return sentences;
}

std::string advice_sentence(const ReportedRun& run) {
  if (run.is_evaluation) {
    return fmt::format("protect metrics and report like the data; to publish metrics, evaluate {}",
                       run.is_seeded() ? "without --seed" : "a private model, or a public one with --public-model,");
  }
  const bool lacks_noise = run.is_seeded() || (!run.has_noise() && run.forfeits.empty());
  return fmt::format("protect model and report like the data; to publish a model, fit {}",
                     lacks_noise ? "without --seed and --non-private" : "with public inputs");
}

}  // namespace

std::string other_releases_sentence(const ReportedRun& run) {
  const std::string same =
      fmt::format("other releases about the same {}, whose costs add up",
                  run.unit == PrivacyUnit::kPerson ? "persons, whichever of their rows" : "records");
  if (!run.silos) return same + " (dpreduce ledger show)";
  return same + "; each silo's own ledger records all runs in which it took part (dpreduce ledger show)";
}

double found_at_most(const ReportedGuarantee& guarantee, double false_alarms) {
  if (false_alarms <= 0.0) return guarantee.delta;
  if (false_alarms >= 1.0) return 1.0;
  const double power = attack_power(guarantee.epsilon, guarantee.delta, false_alarms);
  return guarantee.mu ? std::min(power, gdp_attack_power(*guarantee.mu, false_alarms)) : power;
}

std::vector<Words> words_of(const ReportedRun& run) {
  const bool is_whole = run.of == ReportedOf::kReport;
  std::vector<Words> sections;
  const auto add = [&](const char* key, const char* heading, std::vector<std::string> sentences) {
    sections.push_back({heading, std::move(sentences), key});
  };
  add("guarantee", "The guarantee", guarantee_sentences(run));
  if (run.guarantee) add("attacker", "What an attacker can learn", attacker_sentences(*run.guarantee));
  if (run.guarantee && is_whole) {
    add("holds_for", "It holds against", holds_for_sentences(run));
    add("not_for", "It does not hold against", {not_for_sentence(run)});
  }
  if (is_whole) add("released", "What was released", released_sentences(run));
  if (run.figures) add("figures", "Test figures", figure_sentences(*run.figures));
  if (!run.guarantee) {
    add("advice", "What to do", {advice_sentence(run)});
    return sections;
  }
  if (is_whole) add("not_covered", "What it does not cover", uncovered_sentences(run));
  add("groups", run.is_of_persons() ? "Several persons together" : "Several records of one person",
      group_sentences(*run.guarantee));
  add("delta", "Delta", delta_sentences(*run.guarantee));
  if (is_whole) return sections;
  add("report", "The rest",
      {fmt::format("what was released, against whom the guarantee holds and what it does not cover is in the report of "
                   "{} (dpreduce privacy explain report.json)",
                   run.of == ReportedOf::kModel ? "the fit" : "each run")});
  return sections;
}

std::vector<std::string> sentences_of(const std::vector<Words>& words, std::string_view key) {
  const auto section = std::ranges::find(words, key, &Words::key);
  return section == words.end() ? std::vector<std::string>{} : section->sentences;
}

std::vector<Words> public_words_of(ReportedRun run) {
  run.is_tested_on_training_rows = false;
  std::vector<Words> words = words_of(run);
  std::erase_if(words, [](const Words& one) { return one.key == "figures"; });
  return words;
}

nlohmann::json explanation_of(const ReportedRun& run) {
  nlohmann::json json{{"private", run.is_private}, {"dry_run", run.is_dry_run}, {"method", run.method}};
  for (const char* absent : {"epsilon", "delta", "mu", "adjacency", "accountant", "unit", "attack", "warning"}) {
    json[absent] = nullptr;
  }
  for (const char* list : {"groups", "releases"}) json[list] = nlohmann::json::array();
  if (!run.forfeits.empty()) json["forfeited_by"] = forfeits_json<nlohmann::json>(run.forfeits);
  if (run.guarantee) {
    const ReportedGuarantee& g = *run.guarantee;
    json.update({{"epsilon", g.epsilon},
                 {"delta", g.delta},
                 {"mu", or_null(g.mu)},
                 {"adjacency", to_string(g.adjacency)},
                 {"accountant", g.accountant ? nlohmann::json(to_string(*g.accountant)) : nlohmann::json()},
                 {"unit", to_string(g.unit)}});
    const std::string weakness = weakness_of(g.epsilon, g.delta, g.unit);
    if (!weakness.empty()) json["warning"] = weakness;
    json["attack"] = {{"false_positive_rate", kFalsePositiveRate},
                      {"true_positive_rate", found_at_most(g, kFalsePositiveRate)},
                      {"even_odds_accuracy", or_null(even_odds_accuracy(g))}};
    for (const unsigned records : kReportedGroups) {
      json["groups"].push_back(
          {{fmt::format("{}s", to_string(g.unit)), records}, {"epsilon", or_null(group_epsilon(g, records))}});
    }
  }
  for (const ReportedBlock& block : run.blocks) {
    json["releases"].push_back({{"name", block.name},
                                {"release", block.release},
                                {"coordinates", block.elements},
                                {"sensitivity", block.sensitivity},
                                {"sigma", block.sigma},
                                {"sampling_rate", block.sampling_rate},
                                {"noise_multiplier", block.sigma / block.sensitivity}});
  }
  for (const Words& words : words_of(run)) json["words"][words.key] = words.sentences;
  return json;
}

std::string weakness_of(double epsilon, double delta, PrivacyUnit unit) {
  std::string weakness;
  if (epsilon > kLargeEpsilon) {
    weakness = fmt::format(
        "epsilon {0} is a weak guarantee: with one {1}, an outcome may be e^{0} times as likely as without it",
        upper_figure(epsilon), to_string(unit));
  }
  if (delta >= kLargeDelta) {
    weakness += fmt::format(
        "{}delta {} is a weak guarantee: a mechanism that publishes each {} with that probability would satisfy it",
        weakness.empty() ? "" : "; ", upper_figure(delta), to_string(unit));
  }
  return weakness;
}

}  // namespace dpreduce
