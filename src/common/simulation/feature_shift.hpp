// A rotation and a translation of one silo's rows: the same features, seen by another instrument.
//
//     x <- R x + v        R turns each of floor(d / 2) disjoint pairs of features by +theta or -theta, |v_a| = offset
//
// Pairs and signs are the silo's own, drawn from the seed. With d even |R x - x| = 2 sin(theta / 2) |x| for every row:
// theta says how large the shift is, whatever the rows. (d odd: one feature is not turned.) O(d) a row, no matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dpreduce {

struct ShiftSize {
  double rotation = 0.0;  ///< theta, in degrees
  double offset = 0.0;    ///< in units of the features
};

class FeatureShift {
 public:
  /// Of silo `silo`, for rows of `dim` features. Preconditions (asserted): dim >= 1; 0 <= rotation <= 180.
  FeatureShift(const ShiftSize& size, std::size_t dim, std::size_t silo, std::uint64_t seed);

  /// x <- R x + v.  Precondition (asserted): x has dim entries.
  void apply(std::span<double> x) const;

 private:
  struct Turn {
    std::size_t first;
    std::size_t second;
    double sine;
  };
  double cosine_;
  std::vector<Turn> turns_;
  std::vector<double> translation_;  // v
};

}  // namespace dpreduce
