// Reported figures of a run's releases, beside those of their noise: norms, and spectra of Gram matrices. The figures
// are public and cost nothing: they are functions of released numbers and of the plan alone.
//
// Legend: a block z of N noised numbers has norm |z|. The expected square of the norm of its noise is N s^2, s the
// standard deviation of each entry. For an upper triangle of order d, whose off-diagonal entries have variance s^2 / 2,
// the expected square is (d + d (d - 1) / 4) s^2.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/ledger/noise_plan.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

/// Norms of one block of one round, in lattice units.
struct BlockFigures {
  std::string release;  ///< name of the round, as by label_of_round
  std::string block;
  double norm;        ///< |z| of the released numbers, noise included
  double noise_norm;  ///< root of the expected square of the noise alone
};

/// Spectrum of one released Gram matrix, in units of the squared clip norm: a row adds at most 1 to one eigenvalue.
struct SpectrumFigures {
  std::string release;
  std::string block;
  std::vector<double> eigenvalues;  ///< of the matrix with its noise, the largest first
  double noise_radius;              ///< noise alone has its eigenvalues within this distance of 0
};

/// Shares of classes among the rows, as released: each is at least 0.
struct ClassShares {
  std::vector<double> shares;
  double noise;  ///< standard deviation of each
};

/// Largest order of a matrix whose spectrum is reported: larger ones would take longer than some methods do.
inline constexpr std::uint64_t kLargestSpectrum = 2048;

/// Returns the root of the expected square of the norm of a block's noise (see the legend), whose numbers have noise
/// `sigma`.
double noise_norm(const PlannedBlock& block, double sigma);

/// Collects the figures of a run from its releases, one release after the other.
class ReleaseFigures {
 public:
  /// Expects releases with the noise of `plan`, which outlives this object.
  ReleaseFigures(const NoisePlan& plan, bool with_spectra) : plan_(plan), with_spectra_(with_spectra) {}

  /// Adds a release; called with every release in turn (RunSides::observer). Returns the figures of its blocks, valid
  /// until the next call. Throws as released_eigenvalues.
  std::span<const BlockFigures> add(const WatchedRelease& watched);

  const std::vector<BlockFigures>& blocks() const { return blocks_; }
  /// Returns the spectra so far. Throws as released_eigenvalues.
  const std::vector<SpectrumFigures>& spectra();
  /// Returns the shares by the first release of class sizes; nullopt without such a release, or if noise leaves no row.
  const std::optional<ClassShares>& class_shares() const { return class_shares_; }

 private:
  const NoisePlan& plan_;
  bool with_spectra_;
  std::map<std::string, std::uint64_t, std::less<>> rounds_;  // of each release so far
  std::vector<BlockFigures> blocks_;
  std::vector<SpectrumFigures> spectra_;
  std::optional<ClassShares> class_shares_;
  std::function<void()> add_spectrum_;  // of the last Gram matrix, once its method may have found the eigenvalues
};

}  // namespace dpreduce
