// Files of simulated silos: one data set, cut as in silo_assignment.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/data/silo_assignment.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {

// A rotation and a translation of one silo's rows: the same features, seen by another instrument.
//
//     x <- R x + v        R turns each of floor(d / 2) disjoint pairs of features by +theta or -theta, |v_a| = offset
//
// Pairs and signs are the silo's own, drawn from the seed. With d even |R x - x| = 2 sin(theta / 2) |x| for every row:
// theta is the size of the shift, whatever the rows. (d odd: one feature is not turned.) O(d) a row, no matrix.

struct ShiftSize {
  double rotation = 0.0;  ///< theta, in degrees
  double offset = 0.0;    ///< in units of the features
};

class FeatureShift {
 public:
  /// The shift of silo `silo`, for rows of `dim` features. Preconditions (asserted): dim >= 1; 0 <= rotation <= 180.
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

struct SiloFiles {
  std::string x;
  std::string y;
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> class_counts;  ///< K; a row of several classes counts in each
};

/// Writes silo<first>/x.npy and y.npy, silo<first + 1>/x.npy, ... into `directory`, names that 'silo{rank}/x.npy' fits,
/// and returns them. Every row goes to one silo, in the order of the data set, with the bytes that it has there: types
/// are kept, elements become little-endian and C order. With a shift, features are transformed in double precision and
/// rounded to their type.
///
/// Passes: one over the labels where classes decide, then one over all rows for every 128 silos. Memory: a chunk of at
/// most 8 MiB (or one row), 32 KiB for each of at most 256 open files, and 8 bytes a silo and class; whatever the
/// number of rows. Throws UsageError as SiloAssignment, and where classes decide and labels are not one class index a
/// row; BadInput where files differ in type, cannot be read or written, or exist already: what this call has written is
/// then removed. Preconditions (asserted): `rows` are all rows of their files, with labels.
std::vector<SiloFiles> write_silos(WorkerRows& rows, std::size_t classes, const SiloSpec& spec,
                                   const std::optional<ShiftSize>& shift, const std::string& directory,
                                   std::size_t first_silo);

}  // namespace dpreduce
