// Simulated silos: the assignment of the rows of one data set to them, and their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/data/counter_random.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {

// Assignment of the rows of one data set to simulated silos.
//
// Legend: n rows, K classes, k silos. A stratum is a set of rows that are spread together: one class each for label
// skew, all rows for the rest. Counts are fixed first, exactly, stratum by stratum; then row j of a stratum of m rows
// goes where its place pi(j) in a pseudo-random permutation of 0 .. m - 1 falls:
//
//     counts[stratum][0] | counts[stratum][1] | ... | counts[stratum][k - 1]          places 0 .. m - 1, end to end
//
// So each row has one silo, no table of rows is needed (memory O(strata * k)), and files can be opened with their final
// sizes. A simulation of public data: nothing here is private. The same seed gives the same silos on every machine.

/// Scheme by which the rows of one data set are spread over simulated silos.
enum class Partition {
  kIid,          ///< evenly, at random
  kDirichlet,    ///< the rows of each class in shares drawn from a Dirichlet distribution
  kClasses,      ///< each silo holds rows of a few classes only
  kQuantity,     ///< at random, the silos' sizes in shares drawn from a Dirichlet distribution
  kFeatureShift  ///< evenly, at random; each silo's rows are rotated and moved by a transformation of its own
};
template <>
inline constexpr auto spellings<Partition> = spelled<Partition>("iid", "dirichlet", "classes", "quantity",
                                                                "feature-shift");

struct SiloSpec {
  Partition scheme = Partition::kIid;
  std::size_t silos = 1;             ///< k
  double alpha = 1.0;                ///< kDirichlet, kQuantity
  std::size_t classes_per_silo = 1;  ///< kClasses
  std::uint64_t seed = 0;
};

/// Returns whether strata are classes, so that each row must be of one.
bool is_label_skew(Partition scheme);

/// Shares of a draw from the symmetric Dirichlet distribution: `count` numbers >= 0 with sum 1, gamma variates over
/// their sum. Drawn in logarithms, so that small alpha gives shares of 0 and 1, not 0 / 0. Source: [marsaglia2000],
/// with its Section 6 for alpha < 1. Preconditions (asserted): count >= 1; alpha > 0 and finite.
std::vector<double> dirichlet_shares(std::size_t count, double alpha, const CounterRandom& random);

/// Ends of parts of these shares, which have the sum 1: round(rows (p_0 + ... + p_s)), the last exactly `rows`.
/// Precondition: some share, none negative.
std::vector<std::uint64_t> ends_of_shares(const std::vector<double>& shares, std::uint64_t rows);

class SiloAssignment {
 public:
  /// For `class_counts[c]` rows of class c where the scheme is a label skew; else for {n}.
  ///
  ///     kIid, kFeatureShift  sizes differ by one row at most
  ///     kQuantity            sizes n p_s, p ~ Dirichlet(alpha), rounded at the partial sums of the shares
  ///     kDirichlet           n_c p_cs rows of class c, p_c ~ Dirichlet(alpha) for each class [li2022]
  ///     kClasses             silo s holds classes sigma((s m + j) mod K), j < m, sigma a random permutation;
  ///                          each class is spread evenly over its holders
  ///
  /// A silo that shares leave without a row gets one from the silo that has most. Preconditions (asserted): silos >= 1,
  /// a scheme's numbers in range, k m >= K for kClasses. Throws UsageError where there are fewer rows than silos, or
  /// kClasses leaves a silo without a row.
  SiloAssignment(const SiloSpec& spec, const std::vector<std::uint64_t>& class_counts);

  std::size_t silos() const { return rows_.size(); }
  /// Number of rows that the silo gets.
  std::uint64_t rows_of(std::size_t silo) const { return rows_[silo]; }
  /// The silo of the next row, which is of that stratum (0 without label skew). Rows come in the order of the data set.
  /// Precondition (asserted): no more rows of a stratum than it was made for.
  std::size_t next(std::size_t stratum);

 private:
  struct Stratum {
    std::vector<std::uint64_t> ends;  // of the silos' places
    IndexPermutation place;
    std::uint64_t next_row = 0;
  };
  std::vector<Stratum> strata_;
  std::vector<std::uint64_t> rows_;  // of each silo
};

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
