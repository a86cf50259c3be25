// Interface of a method: the releases that it makes, and the classifier that it makes from them. Each method has its
// own file.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/solvers/linear_scores.hpp"
#include "common/ledger/loss.hpp"
#include "common/model/class_scores.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

/// Training method: plans its releases before a run, and trains in the run.
class TrainingMethod {
 public:
  virtual ~TrainingMethod() = default;

  /// Releases of prepared rows (terms.dim features; a method may add an intercept), in order. Their shares of mu^2 add
  /// up to 1. None for a method with a selection.
  virtual std::vector<ReleaseRequest> requests(ReleaseTerms terms) const = 0;

  /// Returns the private selection among `public_rows` public rows that replaces releases; nullopt if the method makes
  /// releases. Its epsilon is 0: the plan has the epsilon.
  virtual std::optional<PlannedSelection> selection(const ReleaseTerms&, std::uint64_t /*public_rows*/) const {
    return std::nullopt;
  }

  /// Number of classifiers that train() has to choose among, all from the same releases (TrainingRun::choose).
  virtual std::size_t candidates() const { return 1; }

  /// Everything public that decides what is released, beyond the options common to all methods.
  virtual nlohmann::json settings() const = 0;

  /// Loss of the gradients, and Hessians, that the method releases; nullopt if it releases none.
  virtual std::optional<Loss> loss() const { return std::nullopt; }

  /// Number of releases that each rank makes of its own rows, with noise of its own, between two sums over ranks; 1:
  /// every release is itself a sum over ranks.
  virtual std::uint64_t releases_per_sum() const { return 1; }

  /// Score from which on a class is more likely a row's than not, used if train() does not return one; nullopt if
  /// scores only rank.
  virtual std::optional<double> threshold() const { return std::nullopt; }

  /// Link that converts the method's scores to probabilities; nullopt if scores only rank.
  virtual std::optional<Link> link() const { return std::nullopt; }

  /// Makes the releases of requests() and solves. The result is the same on every rank. Collective.
  virtual LinearScores train(TrainingRun& run) const = 0;
};

/// Returns the method that `options` name. Precondition: `options` are resolved.
std::unique_ptr<TrainingMethod> make_method(const FitOptions& options);

/// Returns `options` with every `auto` replaced by its value, chosen by public knowledge alone, for rows of `input_dim`
/// features, with `public_rows` public rows to choose from. A method that resolves to others names the chosen method
/// (MethodEntry::resolve). Rounds on rows of several classes descend on sigmoids. --memory is 64 MiB if rows are read
/// once; else 4096 MiB, or half of `bytes_for_rank` if that is less: results do not depend on --memory. Throws
/// UsageError if an option belongs to another method than the chosen one.
FitOptions resolved(FitOptions options, std::size_t input_dim, std::uint64_t public_rows = 0,
                    std::uint64_t bytes_for_rank = std::numeric_limits<std::uint64_t>::max());

/// Number of classes from which on there are many class sums, gradients and directions that separate classes, so that
/// other settings are usual (measured with 10 classes and fewer, and with 51 and 72).
inline constexpr std::size_t kManyClasses = 30;

/// Returns the coordinator's W and b on every rank. Collective.
LinearScores shared_scores(LinearScores scores, TrainingRun& run);

}  // namespace dpreduce
