// Figures about test rows, of each one kind listed once: exact ones as a report has them, and those that were released
// with noise, each with its interval.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json_fields.hpp"
#include "report/sections.hpp"

namespace dpreduce {

struct ReportedMetric {
  std::string name;             ///< "accuracy", "recall of cat"
  std::optional<double> value;  ///< none where the interval leaves out next to nothing
  double low;
  double high;
  double noise;                       ///< standard deviation by noise alone
  Written written = Written::kShare;  ///< else a loss or a difference, or in units of targets
};

/// Figures of the same kind, of each class, group or target; or those that stand alone.
struct ReportedList {
  std::string kind;  ///< "recall"; empty of those that stand alone
  std::vector<ReportedMetric> figures;
};

/// Length of the longest list in words. Longer lists are in the report alone: readers of words get their length.
inline constexpr std::size_t kMostReportedByOne = 20;

struct ReportedMetrics {
  bool is_private;  ///< false: whoever knows a seed, or the rows of the model, may know more
  double level;     ///< probability with which each interval holds
  std::vector<ReportedList> lists;
};

/// Member of a report that holds "metrics" with noise: the report itself, where it is an evaluation's, or "test" of a
/// fit's; nullopt where there are no such metrics.
std::optional<JsonFields> reported_part_of(const JsonFields& report);

/// Names of the two models that an evaluation compares, by their files; "first" and "second" if these have no names of
/// their own.
std::vector<std::string> compared_models(const JsonFields& report);

/// All figures of it that are one number; nullopt where there are no such figures. Throws BadInput where a member is
/// not as the program writes it.
std::optional<ReportedMetrics> reported_metrics(const JsonFields& report);

/// "0.993, from 0.980 to 1.000, noise 0.007".
std::string text_of(const ReportedMetric& figure);

/// Each figure by its name, in such words; of long lists their length.
Facts facts_of(const ReportedMetrics& told);

/// The same as tables on cards: a table of all, and of long lists their length.
Table table_of(const ReportedMetrics& told);

/// A table of one list, whose intervals pages draw. Pages keep long ones folded.
Table table_of(const ReportedList& list);

/// The figures that stand alone, exact ones of `test`, a report's.
Facts exact_figures(const JsonFields& test);

/// A sentence on classes of which the report's released shares are so small that a fit for accuracy calls almost no row
/// of them, and what helps: less than a twentieth of an equal share, with twice the noise added. Empty if there is
/// none.
std::string rare_classes_text(const JsonFields& report);

/// A sentence on classes of test rows that no test row is called. Empty if there is none.
std::string uncalled_classes_text(const JsonFields& report);

/// Numbers of the report that stand alone, by their members. Noised numbers, where the report has them, replace exact
/// ones.
std::vector<std::pair<std::string, nlohmann::json>> numbers_alone(const JsonFields& report);

/// Exact figures of each class, a column for each list that is there; the test rows of each class where `has_counts`.
/// If classes are more than `most`, those with the lowest figures. Throws BadInput where a list has not one figure a
/// class.
Table class_figures(const JsonFields& test, const std::vector<std::string>& class_names, bool has_counts,
                    std::size_t most);

/// Numbers of test rows by true and predicted class, as `member` of `owner` has them.
Table confusion_table(const JsonFields& owner, const std::string& member, const std::vector<std::string>& names,
                      bool are_exact);

}  // namespace dpreduce
