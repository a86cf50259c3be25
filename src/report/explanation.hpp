// Guarantee of a reported run, in words and in numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/base/privacy_terms.hpp"
#include "report/reported_run.hpp"
#include "report/sections.hpp"

namespace dpreduce {

/// Returns what privacy explain --format json prints: {"private", "dry_run", "method", "epsilon", "delta", "mu",
/// "adjacency", "accountant", "attack", "warning", "groups", "releases", "words": {heading: [sentences]}}.
nlohmann::json explanation_of(const ReportedRun& run);

/// Names what else about the same records adds to the loss.
std::string other_releases_sentence(const ReportedRun& run);

/// Sentences of each section, "words" of explanation_of, in the order in which they are printed. For a model file they
/// are those that follow from its promise, and where the others are found.
std::vector<Words> words_of(const ReportedRun& run);

/// Sentences of one section; empty if there is no such section.
std::vector<std::string> sentences_of(const std::vector<Words>& words, std::string_view key);

/// Sentences of each section for pages and cards, where test metrics stand by themselves and declare whether their rows
/// are training rows: readers of what is public do not see those.
std::vector<Words> public_words_of(ReportedRun run);

/// Largest share of those who are in that an attacker finds who calls this share of those who are not in present; 0 <=
/// false_alarms <= 1. By mu where the guarantee has it, else by epsilon and delta.
double found_at_most(const ReportedGuarantee& guarantee, double false_alarms);

/// Names why (epsilon, delta) promises little, in one line with its figures. Empty where epsilon is at most 20 and
/// delta is below 0.001.
std::string weakness_of(double epsilon, double delta, PrivacyUnit unit = PrivacyUnit::kRecord);

/// Prints a weakness as one line on standard error; nothing for an empty text. Called by the coordinator, once a run.
void warn_of_weakness(const std::string& weakness);

/// Bound of a unit to B rows, in words: "count for at most 2 rows together".
std::string unit_bound_text(std::uint64_t rows);

}  // namespace dpreduce
