// The parts of an explanation: what a guarantee means in numbers and in words, and how far it reaches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/reported_run.hpp"

namespace dpreduce {

inline constexpr double kFalsePositiveRate = 0.01;

/// What the guarantee costs a group: epsilon at the run's delta, absent where no useful bound follows.
struct GroupCost {
  unsigned records;
  std::optional<double> epsilon;
};

/// What the guarantee means for an attacker, who has at most this chance, and for groups. Accuracy and groups need mu.
struct Consequences {
  double true_positive_rate;  ///< at kFalsePositiveRate
  std::optional<double> even_odds_accuracy;
  std::vector<GroupCost> groups;
};
Consequences consequences_of(const ReportedGuarantee& guarantee);

/// Sentences on the promise itself (explained_guarantee.cpp). Those on groups need a guarantee.
std::vector<std::string> guarantee_sentences(const ReportedRun& run);
std::vector<std::string> attacker_sentences(const ReportedGuarantee& guarantee, const Consequences& consequences);
std::vector<std::string> group_sentences(const ReportedRun& run, const Consequences& consequences);
std::vector<std::string> delta_sentences(const ReportedGuarantee& guarantee);

/// Sentences on what was released, for whom the promise holds, for whom not, and what it does not cover
/// (explained_reach.cpp).
std::vector<std::string> released_sentences(const ReportedRun& run);
std::vector<std::string> holds_for_sentences(const ReportedRun& run);
std::vector<std::string> not_for_sentences(const ReportedRun& run);
std::vector<std::string> uncovered_sentences(const ReportedRun& run);

}  // namespace dpreduce
