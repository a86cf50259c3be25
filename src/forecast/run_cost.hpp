// What a fit does and the memory that it takes, before any row is read: arithmetic on its plan and on how many rows
// there are.
//
// Legend: n rows of all ranks, P ranks, d features of prepared rows, d_in of raw ones, K classes, k classes a row at
// most, T rounds, q the sampling rate. Multiply-adds are those of exact integer products, over all ranks:
//
//     Gram matrix          n d (d + 1) / 2          of classes    n k d (d + 1) / 2 and 16 n d for the rows' digests
//     round                2 n q K d                Hessians      n K d (d + 1) / 2 a round
//     utilities            L K m d, L digits of class sums and m public rows, among silos of each; clipped, n m d
//     projected rows       d_kept d a row, each time that rows are prepared
//
// n is private, and so is what follows from it: for the data's owner alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "methods/options/fit_options.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

/// The job that a plan is for.
struct JobShape {
  std::uint64_t rows = 0;       ///< n, of all ranks; private
  std::uint64_t rows_here = 0;  ///< of the rank whose memory is asked for; private
  int ranks = 1;                ///< P
  unsigned threads = 1;         ///< a rank
};

/// What one phase does. Products and rows are counted over all ranks, words of one rank.
struct PhaseWork {
  std::string name;            ///< of the release, or of what the phase is for
  std::uint64_t rounds = 1;    ///< T: passes over rows, one after the other
  double rows_prepared = 0.0;  ///< read, transformed and rounded
  double product_macs = 0.0;   ///< of Gram matrices, projections and digests
  double round_macs = 0.0;     ///< of scores and gradients
  double words_up = 0.0;       ///< of 8 bytes, of each rank, into a sum
  double words_down = 0.0;     ///< to each rank
};

/// The phases of the run, in order. Test and validation rows are not counted, nor public ones that are only summed.
std::vector<PhaseWork> phases_of(const FitOptions& options, const FitPlan& plan, const JobShape& job);

/// Bytes that one of so many ranks needs at most: its chunk or kept rows, residuals, statistic, released copies, and
/// what the program itself takes; or, once that is gone, what test rows take (memory_of_test). Unlike
/// FitPlan::memory_bytes it depends on the number of rows. Throws as rows_of_chunk.
std::uint64_t memory_of_rank(const FitOptions& options, const FitPlan& plan, std::uint64_t rows_here, int ranks = 1);

/// How far a run has come: each phase has its part of the run by the work that it is. A run of which a share f is done
/// after t seconds takes t / f in all.
class RunPace {
 public:
  /// A run without phases is done at once.
  explicit RunPace(const std::vector<PhaseWork>& phases);

  /// A pass over rows begins, for the phase of that name: its next round. Passes of other names are shown, and have no
  /// part of the run.
  void begin(std::string_view pass);
  /// `share` of the rows of that pass are done, in [0, 1].
  void advance(double share);

  /// What the run does: "gradient, round 3 of 20"; empty before the first pass.
  std::string doing() const;
  /// The share of the whole run that is done, in [0, 1]; never falls.
  double share() const { return share_; }
  /// The work of the whole run, to compare it with others.
  double work() const { return work_; }

 private:
  struct Phase {
    std::string name;
    double begins;   // share of the run before it
    double share;    // of the run
    double rounds;   // that are planned
    double started;  // of them
  };

  std::vector<Phase> phases_;
  double work_ = 0.0;
  std::string pass_;
  std::optional<std::size_t> current_;  // place of the phase of that pass, where it has one
  double share_ = 0.0;
};

/// Seconds that a run will still take, `share` of it being done after `elapsed` seconds. Precondition: 0 < share <= 1.
double seconds_left(double share, double elapsed);

/// "40 s", "7 min", "2 h 10 min".
std::string print_duration(double seconds);

}  // namespace dpreduce
