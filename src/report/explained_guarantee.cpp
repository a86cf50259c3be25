// What a guarantee promises: its figures, its definition, and what follows for an attacker and for groups.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "common/accounting/attack_bound.hpp"
#include "common/accounting/gaussian_dp.hpp"
#include "common/base/bound_text.hpp"
#include "report/budget_warning.hpp"
#include "report/explained_parts.hpp"

namespace dpreduce {
namespace {

constexpr unsigned kGroupsToTell[] = {2, 10};

std::optional<double> group_epsilon(const ReportedGuarantee& guarantee, unsigned records) {
  if (guarantee.delta == 0.0) return records * guarantee.epsilon;
  if (!guarantee.mu) return std::nullopt;
  const double mu = std::nextafter(records * *guarantee.mu, std::numeric_limits<double>::infinity());
  if (mu > kLargestMu) return std::nullopt;
  return gdp_epsilon(mu, guarantee.delta);
}

// The definition of neighboring data sets, which does not depend on the numbers of the guarantee.
std::string neighbors_sentence(const ReportedGuarantee& guarantee) {
  const bool is_person = guarantee.unit == PrivacyUnit::kPerson;
  const std::string pair =
      guarantee.adjacency == Adjacency::kAddRemove
          ? fmt::format("add-remove: with any one {} more or less, no set of outcomes becomes more likely than",
                        is_person ? "person, and all rows of theirs," : "record")
          : fmt::format("replace-one: with any one {} exchanged, no set of outcomes becomes more likely than",
                        is_person ? "person, and all rows of theirs," : "record");
  const std::string factor = guarantee.epsilon <= kLargeEpsilon
                                 ? fmt::format("{} times", upper_figure(std::exp(guarantee.epsilon), 4))
                                 : fmt::format("e^{} times", upper_figure(guarantee.epsilon));
  const std::string slack = guarantee.delta == 0.0 ? "" : ", plus " + upper_figure(guarantee.delta);
  return fmt::format("{} {} what it was{}", pair, factor, slack);
}

}  // namespace

Consequences consequences_of(const ReportedGuarantee& guarantee) {
  Consequences result{.true_positive_rate = attack_power(guarantee.epsilon, guarantee.delta, kFalsePositiveRate),
                      .even_odds_accuracy = std::nullopt,
                      .groups = {}};
  if (guarantee.mu) {
    result.true_positive_rate =
        std::min(result.true_positive_rate, gdp_attack_power(*guarantee.mu, kFalsePositiveRate));
    result.even_odds_accuracy = gdp_even_odds_accuracy(*guarantee.mu);
  }
  for (const unsigned records : kGroupsToTell) result.groups.push_back({records, group_epsilon(guarantee, records)});
  return result;
}

std::vector<std::string> guarantee_sentences(const ReportedRun& run) {
  if (!run.guarantee) {
    if (!run.has_noise()) return {"none: there is no noise"};
    std::vector<std::string> reasons;
    for (const Forfeit own : run.forfeits) reasons.push_back(fmt::format("none: {}", reason_of(own)));
    return reasons;
  }
  const ReportedGuarantee& g = *run.guarantee;
  std::vector<std::string> sentences;
  if (g.delta == 0.0) {
    sentences.push_back(fmt::format("epsilon {}, pure: delta is 0; it is mu {} (Gaussian DP) as well",
                                    upper_figure(g.epsilon), upper_figure(*g.mu)));
  } else {
    const std::string mu = g.mu ? fmt::format("mu {} (Gaussian DP), that is ", upper_figure(*g.mu)) : "";
    sentences.push_back(fmt::format("{}epsilon {} at delta {}, by the {} accountant", mu, upper_figure(g.epsilon),
                                    upper_figure(g.delta), to_string(g.accountant)));
  }
  if (g.unit == PrivacyUnit::kPerson) {
    sentences.push_back(
        fmt::format("the unit is one person with any number of rows, which {} at most {} row{} together; a "
                    "person is who has one identifier (--train-person)",
                    g.person_bound == PersonBound::kClip ? "are clipped to" : "count for", g.rows_per_person,
                    g.rows_per_person == 1 ? "" : "s"));
    if (g.silos_per_person) {
      sentences.push_back(fmt::format(
          "it holds where no person has rows in more than {} silo{} (--silos-per-person), each of which "
          "holds a person to its share of these rows: nobody can check this, since silos compare no persons; who "
          "is in more is a group of persons",
          *g.silos_per_person, *g.silos_per_person == 1 ? "" : "s"));
    }
    if (g.counted_persons) {
      sentences.push_back(
          fmt::format("silos have counted each person's rows over all of them, by pseudonyms under a key of their own "
                      "(--count-persons {0}: a silo has at most {0} persons)",
                      *g.counted_persons));
    }
  }
  sentences.push_back(neighbors_sentence(g));
  if (run.is_on_a_long_tail) {
    sentences.emplace_back(
        "it is for all rows, also those that were left out for the long tail (--imbalance-ratio): a row's own bytes, "
        "and no other row, decide whether it is kept");
  }
  if (std::string weakness = weakness_of(g.epsilon, g.delta, g.unit); !weakness.empty())
    sentences.push_back(std::move(weakness));
  return sentences;
}

std::vector<std::string> attacker_sentences(const ReportedGuarantee& guarantee, const Consequences& consequences) {
  const bool adds = guarantee.adjacency == Adjacency::kAddRemove;
  std::vector<std::string> sentences{fmt::format(
      "who knows all other {} and asks {}: with {:g} % false alarms, at most {} % of those {} are found (blind "
      "guessing: {:g} %)",
      guarantee.unit == PrivacyUnit::kPerson ? "persons' rows" : "records",
      adds ? "whether a certain one is in" : "which of two certain ones is in", 100 * kFalsePositiveRate,
      upper_figure(100 * consequences.true_positive_rate, 4), adds ? "who are in" : "of whom the other is in",
      100 * kFalsePositiveRate)};
  if (consequences.even_odds_accuracy) {
    sentences.push_back(
        fmt::format("from even odds, the guess is right at most {} % of the time (blind guessing: 50 %)",
                    upper_figure(100 * *consequences.even_odds_accuracy, 4)));
  }
  return sentences;
}

std::vector<std::string> group_sentences(const ReportedRun& run, const Consequences& consequences) {
  std::vector<std::string> sentences;
  const bool is_person = run.guarantee->unit == PrivacyUnit::kPerson;
  const char* const members = is_person ? "persons" : "records";
  for (const GroupCost& group : consequences.groups) {
    sentences.push_back(group.epsilon
                            ? fmt::format("{} {}: epsilon {} at delta {}", group.records, members,
                                          upper_figure(*group.epsilon), upper_figure(run.guarantee->delta))
                            : fmt::format("{} {}: no useful bound follows from this report", group.records, members));
  }
  if (is_person) {
    sentences.push_back(
        "all rows of one identifier are one person's; a person with several identifiers is such a group");
    return sentences;
  }
  sentences.push_back(
      "the unit is one record: a person with ten, also over several files or sites, is a group of 10; identifiers "
      "(--train-person) make the person the unit");
  return sentences;
}

std::vector<std::string> delta_sentences(const ReportedGuarantee& guarantee) {
  const char* const members = guarantee.unit == PrivacyUnit::kPerson ? "persons" : "records";
  if (guarantee.delta == 0.0) {
    return {fmt::format("0: the guarantee holds for every outcome, whatever the number of {}", members)};
  }
  const std::string rule =
      fmt::format("rule: delta at most 1 / (10 n), n a public figure of about the number of {}; ", members);
  const double records = std::floor(0.1 / guarantee.delta * (1.0 + std::numeric_limits<double>::epsilon()));
  if (guarantee.delta >= kLargeDelta) {
    return {rule + fmt::format("{} is too large: publishing each {} with that probability keeps to it",
                               upper_figure(guarantee.delta),
                               guarantee.unit == PrivacyUnit::kPerson ? "person" : "record")};
  }
  return {rule + fmt::format("{} suits up to {} {} (the exact number is private, and not in the report)",
                             upper_figure(guarantee.delta), lower_figure(records), members)};
}

}  // namespace dpreduce
