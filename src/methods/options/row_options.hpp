// What is done to rows before a method sees them (row_preparation.hpp).
#pragma once

#include <cstddef>
#include <optional>

#include "common/base/archive_all.hpp"
#include "common/base/spelling.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/plan/metric.hpp"

namespace dpreduce {

/// What a row is centered by before its (second) scaling to the clip norm.
enum class Centering {
  kNone,
  kDp,      ///< the mean of the training rows, released with noise
  kPublic,  ///< the mean of the public rows
  kMoments  ///< nothing; the method's own release holds the noised mean as well
};
template <>
inline constexpr std::array spellings<Centering>{std::pair{std::string_view{"none"}, Centering::kNone},
                                                 std::pair{std::string_view{"dp"}, Centering::kDp},
                                                 std::pair{std::string_view{"public"}, Centering::kPublic},
                                                 std::pair{std::string_view{"moments"}, Centering::kMoments}};

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
