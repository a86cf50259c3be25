// Methods: their interface, and the registry of them. A new method is a file of its own and a line in all_methods.inc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/solvers/linear_scores.hpp"
#include "common/ledger/loss.hpp"
#include "common/model/classifier.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_run.hpp"

namespace dpreduce {

// Interface of a method: the releases that it makes, and the classifier that it makes from them.

/// Training method: plans its releases before a run, and trains in the run.
class TrainingMethod {
 public:
  /// Makes the method that resolved `options` describe.
  explicit TrainingMethod(const FitOptions& options) : options_(options) {}
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

 protected:
  FitOptions options_;
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

// Entries of methods: everything that is known about a method outside its own file.

/// Option (fit_table.hpp) that a method takes.
struct TakenOption {
  std::string_view option;
  std::string_view usual = {};  ///< the method's default, for help; empty: the option's default
};

/// Returns `own`, and the options that methods of rounds of descent take.
std::vector<TakenOption> with_options_of_rounds(std::vector<TakenOption> own);

/// Option that every other method takes, or all methods of a kind, but this method does not.
struct RefusedOption {
  std::string_view option;
  std::string_view reason;  ///< for the message, after a colon
};

/// Public knowledge about the rows before they are read.
struct RowsAhead {
  std::size_t input_dim = 0;      ///< features
  std::size_t kept_features = 0;  ///< of prepared rows
  std::uint64_t public_rows = 0;  ///< to choose from
};

/// Share of mu^2 for a released center.
inline constexpr double kCenterShare = 0.02;

/// Returns a method that is constructed from its options alone, as MethodEntry::make.
template <typename Method>
std::unique_ptr<TrainingMethod> make_of(const FitOptions& options) {
  return std::make_unique<Method>(options);
}

/// Entry of a method: its name, its options, and the facts about it that other code uses.
struct MethodEntry {
  std::string_view name;  ///< as --method, reports, models and ledgers spell it
  std::string_view help;  ///< one line
  std::vector<TakenOption> takes;
  std::vector<RefusedOption> refuses = {};

  /// Returns the method that resolved `options` describe; null if resolve names another method.
  std::unique_ptr<TrainingMethod> (*make)(const FitOptions& options) = nullptr;
  /// Returns `options` with another method in place of this method, chosen by public knowledge alone; null: this
  /// method is used itself.
  FitOptions (*resolve)(FitOptions options, const RowsAhead& rows) = nullptr;
  /// Criterion of `resolve`, if reports name the method that it has chosen; else empty.
  std::string_view resolved_by = {};

  /// Returns whether every row is read once and then dropped, so that a small buffer suffices; null: no.
  bool (*reads_rows_once)(const FitOptions& options) = nullptr;
  /// Returns whether scores of a row have a constant in addition to products with the row; null: yes.
  bool (*has_constant)(const FitOptions& options) = nullptr;
  double center_share = kCenterShare;  ///< of mu^2, for a released center if the user sets no share
  bool whitens_rows = false;  ///< train() multiplies rows by a square matrix, or may, if it resolves to other methods
  bool whitens_by_public_rows = false;  ///< and by --public-x if given
  bool chooses_public_rows = false;     ///< releases which public rows represent a class: pure, and nothing is summed
  bool selects_features = false;        ///< --select uses its own release, at no charge
  bool each_rank_is_a_silo = false;     ///< results depend on which silo owns which rows
  bool scores_are_adjustable = false;   ///< log probabilities, that --objective balanced may adjust (class_balance.hpp)
  bool scores_are_refinable = false;    ///< and that public rows may refine

  bool trains = true;  ///< a classifier; otherwise not among all_methods(), and no --method

  bool takes_option(std::string_view option) const {
    return std::ranges::find(takes, option, &TakenOption::option) != takes.end();
  }
  bool refuses_option(std::string_view option) const {
    return std::ranges::find(refuses, option, &RefusedOption::option) != refuses.end();
  }
};

/// All methods, in the order in which help lists them.
std::span<const MethodEntry* const> all_methods();

// Entries of the methods, each defined in the method's file, and two that make releases of rows and train nothing: of
// an evaluation, and of statistics for refits.
#define METHOD(file) extern const MethodEntry file##_method;
#include "methods/all_methods.inc"
#undef METHOD
extern const MethodEntry evaluate_method;
extern const MethodEntry release_method;

/// Returns the models that an evaluation is about. Throws as classifier_from_bytes.
std::vector<Classifier> evaluated_models(const EvaluationOptions& evaluation);
/// Reasons why an evaluation of these models is not private. A model without a guarantee for a record, or a person, of
/// its rows may be a function of these very rows. Empty if the models are public by the user's declaration. Throws as
/// evaluated_models. Precondition: validated options.
Forfeits forfeits_of_models(const FitOptions& options);
/// SHA-256 of each model, in the order of evaluation.models.
std::vector<std::string> digests_of_models(const EvaluationOptions& evaluation);

/// Returns the method of this name, including one that trains nothing; null if there is none.
const MethodEntry* find_method(std::string_view name);

/// Returns the method that `options` name. Throws UsageError with all names if there is no such method.
const MethodEntry& method_entry(const MethodOptions& options);

/// Returns whether rows with classes are whitened about --public-x. Under a balanced objective public rows have other
/// uses.
bool whitens_by_public_rows(const FitOptions& options);

/// Returns "a|b|c": all names.
std::string all_method_names();

/// Returns "a, b or c": the methods that take this option.
std::string methods_that_take(std::string_view option);

/// Returns the names of the methods for which `holds` is true; methods_where returns them as "a, b or c".
std::vector<std::string_view> names_where(const std::function<bool(const MethodEntry& entry)>& holds);
std::string methods_where(const std::function<bool(const MethodEntry& entry)>& holds);

}  // namespace dpreduce
