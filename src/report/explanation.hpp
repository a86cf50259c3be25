// Explanation of a reported run: its guarantee in words and in numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/reported_run.hpp"

namespace dpreduce {

/// Explanation as `privacy explain --format json` prints it: {"private", "dry_run", "method", "epsilon", "delta", "mu",
/// "adjacency", "accountant", "attack", "warning", "groups", "releases", "words": {heading: [sentences]}}.
nlohmann::json explanation_of(const ReportedRun& run);

/// Sentence on the other releases about the same records that add to the loss.
std::string other_releases_sentence(const ReportedRun& run);

/// Sentences of each section, "words" of explanation_of, in the order in which they are printed. A model file has only
/// the sentences that follow from its promise, and names where to find the others.
std::vector<Words> words_of(const ReportedRun& run);

/// Sentences of one section; empty if the section is absent.
std::vector<std::string> sentences_of(const std::vector<Words>& words, std::string_view key);

/// Sentences of each section for public pages and cards. The section of test metrics and the declaration that test rows
/// are training rows are left out, because pages and cards show both separately. Readers of public documents do not see
/// metrics of training rows.
std::vector<Words> public_words_of(ReportedRun run);

/// Upper bound on an attacker's power: the largest share of the members that the attacker calls present, if the
/// attacker also calls the share `false_alarms` of the non-members present. Computed from epsilon and delta, and from
/// mu too if the guarantee has it: the smaller of both. Precondition: 0 <= false_alarms <= 1.
double found_at_most(const ReportedGuarantee& guarantee, double false_alarms);

/// Reason why (epsilon, delta) promises little, in one line with its figures; empty if epsilon is at most 20 and delta
/// is below 0.001.
std::string weakness_of(double epsilon, double delta, PrivacyUnit unit);

}  // namespace dpreduce
