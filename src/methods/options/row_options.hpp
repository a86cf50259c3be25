// What is done to rows before a method sees them (row_preparation.hpp).
#pragma once

#include <cstddef>
#include <optional>

#include "common/base/archive_all.hpp"
#include "common/base/choices.hpp"

namespace dpreduce {

struct RowOptions {
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;
  std::size_t pool = 1;
  std::optional<Centering> center{};     ///< empty: as the method likes it
  std::optional<double> center_share{};  ///< of mu^2, for the DP center; empty: as the method likes it
  std::size_t pca = 0;                   ///< components to project on; 0: none
  std::optional<double> pca_share{};     ///< of mu^2, for components of private rows; empty: a default
  std::size_t select = 0;                ///< features to keep; 0: all
  std::optional<SelectBy> select_by{};   ///< empty: distance
  std::optional<double> select_share{};  ///< of mu^2, where features are selected before the method; empty: a default
  bool operator==(const RowOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, RowOptions& options, unsigned) {
  auto& [normalize, clip_norm, pool, center, center_share, pca, pca_share, select, select_by, select_share] = options;
  archive_all(archive, normalize, clip_norm, pool, center, center_share, pca, pca_share, select, select_by,
              select_share);
}

/// Throws UsageError where the part contradicts itself or is out of range.
void check(const RowOptions& rows);

}  // namespace dpreduce
