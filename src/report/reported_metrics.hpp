// Metrics of test rows, each kind listed once: exact ones as a report has them, and noised ones, each with its
// interval.
#pragma once

#include <cstddef>
#include <optional>

#include "report/sections.hpp"

namespace dpreduce {

/// Noised figure with its interval.
struct ReportedMetric {
  std::string name;             ///< "accuracy", "recall of cat"
  std::optional<double> value;  ///< absent if the interval excludes almost no value
  double low;
  double high;
  double noise;                       ///< standard deviation due to noise alone
  Written written = Written::kShare;  ///< else a loss or a difference, or in units of targets
};

/// Figures of one kind, one for each class, group or target; or all figures that are single numbers.
struct ReportedList {
  std::string kind;  ///< "recall"; empty for single numbers
  std::vector<ReportedMetric> figures;
};

/// Length of the longest list in words. Longer lists are in the report alone; words give only their length.
inline constexpr std::size_t kMostReportedByOne = 20;

/// Noised figures of a report.
struct ReportedMetrics {
  bool is_private;  ///< false: whoever knows a seed, or the rows of the model, may know more
  double level;     ///< probability with which each interval holds
  std::vector<ReportedList> lists;
};

/// Part of a report that holds "metrics" with noise: the report itself if it is of an evaluation, or its "test" if it
/// is of a fit; nullopt without such metrics.
std::optional<JsonFields> reported_part_of(const JsonFields& report);

/// Names of the two models that an evaluation compares, by their files; "first" and "second" if the files have no names
/// of their own.
std::vector<std::string> compared_models(const JsonFields& report);

/// All noised figures of the report, single numbers first, then the lists; nullopt without such figures. Throws
/// BadInput if a member is not as the program writes it.
std::optional<ReportedMetrics> reported_metrics(const JsonFields& report);

/// Figure in words: "0.993, from 0.980 to 1.000, noise 0.007".
std::string text_of(const ReportedMetric& figure);

/// Each figure by its name, in the words of text_of; of long lists only the length.
Facts facts_of(const ReportedMetrics& told);

/// Sentence on what intervals cover.
std::string interval_sentence(const ReportedMetrics& told);

/// Table of one list; pages draw its intervals, and long lists are folded.
Table table_of(const ReportedList& list);

/// Exact single-number figures of `test`, the test metrics of a report.
Facts exact_figures(const JsonFields& test);

/// Sentence on rare classes, and what helps; empty if there are none. The report's released shares of these classes are
/// so small that a fit for accuracy predicts almost no row to be of them: share plus twice the noise is below a
/// twentieth of an equal share.
std::string rare_classes_text(const JsonFields& report);

/// Sentence on classes that have test rows but are never predicted; empty if there are none.
std::string uncalled_classes_text(const JsonFields& report);

/// Single-number figures of the report, by their members. Noised numbers, if the report has them, replace exact ones.
std::vector<std::pair<std::string, nlohmann::json>> numbers_alone(const JsonFields& report);

/// Exact figures of each class: a column for each list that is present, and the test rows of each class if
/// `has_counts`. If there are more than `most` classes, only those with the lowest figures. Throws BadInput if a list
/// does not have one figure a class.
Table class_figures(const JsonFields& test, const std::vector<std::string>& class_names, bool has_counts,
                    std::size_t most);

/// Numbers of test rows by true and predicted class, from `member` of `owner`.
Table confusion_table(const JsonFields& owner, const std::string& member, const std::vector<std::string>& names,
                      bool are_exact);

}  // namespace dpreduce
