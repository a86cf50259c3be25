// Options about the rows of a fit, and public facts about the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/row_files.hpp"

namespace dpreduce {

/// Files of rows, and the bounds and counts that are public about the rows.
struct DataOptions {
  RowFiles train{};  ///< its class names hold for all rows
  RowFiles test{};
  RowFiles validation{};                          ///< public rows and labels, to choose among candidates by
  std::vector<std::string> public_x{};            ///< public rows
  double imbalance_ratio = 1.0;                   ///< of a long tail of training rows to train on; 1: all rows
  std::optional<std::uint64_t> imbalance_seed{};  ///< seed of the rows that the long tail keeps; nullopt: 1
  /// K; 0 if classes have names: K is then their number; with targets m, once the rows are open.
  std::size_t classes = 0;
  bool classes_are_of_rows = false;  ///< K, or names, come from the rows' labels: nothing is private
  /// B, the bound in rows on the joint contribution of a person's rows; nullopt: 1. Goes with train.person.
  std::optional<std::uint64_t> rows_per_person{};
  std::optional<double> weight_bound{};     ///< W, the largest weight of a row, public. Goes with train.weight.
  std::vector<double> target_range{};       ///< lo, hi of all targets, or of each; public
  std::optional<std::size_t> max_labels{};  ///< of a row, if labels are n x K zeros and ones; nullopt: one class a row

  /// k, the largest number of classes of a row.
  std::size_t most_labels() const { return max_labels.value_or(1); }
  /// Returns whether rows have numbers to predict instead of classes.
  bool has_targets() const { return train.has_targets; }
  /// Number of slots of a row (label_slots.hpp).
  std::size_t label_slots() const { return has_targets() ? classes * kSlotsPerTarget : most_labels(); }
  /// Returns whether the unit of privacy is a person instead of a row.
  bool has_units() const { return !train.person.empty(); }
  /// Returns whether rows count for less than a whole row: by their person's number of rows, or by declared weights.
  bool weighs_rows() const { return has_units() || !train.weight.empty(); }
  PrivacyUnit unit() const { return has_units() ? PrivacyUnit::kPerson : PrivacyUnit::kRecord; }
  /// B; 1 if the unit is a row.
  std::uint64_t bounded_rows() const { return rows_per_person.value_or(1); }
  bool operator==(const DataOptions&) const = default;
};

DPREDUCE_ARCHIVE(DataOptions, train, test, validation, public_x, imbalance_ratio, imbalance_seed, classes,
                 classes_are_of_rows, rows_per_person, weight_bound, target_range, max_labels)

/// Largest B: its square times rounds and squared sensitivities is still counted exactly.
inline constexpr std::uint64_t kMostRowsPerPerson = 65536;

}  // namespace dpreduce
