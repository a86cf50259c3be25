// Rows to read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/data/array_file.hpp"

namespace dpreduce {

/// Treatment of a row with a NaN or an infinity.
enum class BadRows {
  kFail,  ///< the run stops at the rank that holds it
  kZero   ///< it counts nowhere
};
template <>
inline constexpr auto spellings<BadRows> = spelled<BadRows>("fail", "zero");

/// Rows to read: features, labels or targets, the names of classes that labels may be and of features, and what to do
/// with rows that are not finite.
struct RowFiles {
  std::vector<std::string> x;
  std::vector<std::string> y;
  BadRows bad_rows = BadRows::kFail;
  std::vector<std::string> person{};         ///< whose each row is; empty: every row is a record of its own
  std::vector<std::string> weight{};         ///< what each row counts for; empty: all count alike
  std::vector<std::string> group{};          ///< the public group of each row; empty: rows have none
  std::size_t groups = 0;                    ///< G; public
  std::vector<std::string> group_names{};    ///< name g is that of group g; public; empty: none
  std::vector<std::string> class_names{};    ///< name k is that of class k; public, never taken from rows; empty: none
  std::vector<std::string> feature_names{};  ///< name a is that of feature a; public; empty: none
  std::string role = "train";                ///< of the options that name them: --train-x
  bool has_targets = false;                  ///< y are numbers to predict, and no classes
  UnlistedLabels unlisted_labels = UnlistedLabels::kRefused;
  bool operator==(const RowFiles&) const = default;

  /// "--train-y" of "y"; of targets "--targets", or "--test-targets".
  std::string option(std::string_view part) const {
    if (has_targets && part == "y") return role == "train" ? "--targets" : "--" + role + "-targets";
    return "--" + role + "-" + std::string(part);
  }
  ArrayRole role_of_y() const { return has_targets ? ArrayRole::kTargets : ArrayRole::kLabels; }
};

DPREDUCE_ARCHIVE(RowFiles, x, y, bad_rows, person, weight, group, groups, group_names, class_names, feature_names, role,
                 has_targets, unlisted_labels)

}  // namespace dpreduce
