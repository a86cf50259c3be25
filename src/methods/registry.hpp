// Registry of the methods. A new method is a file of its own and a line in all_methods.inc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/classifier.hpp"
#include "methods/fit_options.hpp"
#include "methods/training_method.hpp"

namespace dpreduce {

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

  bool takes_option(std::string_view option) const;
  bool refuses_option(std::string_view option) const;
};

/// All methods, in the order in which help lists them.
std::span<const MethodEntry* const> all_methods();

/// Returns the entry of an evaluation, which makes releases of rows and trains nothing.
const MethodEntry& evaluate_method();
/// Returns the models that an evaluation is about. Throws as classifier_from_bytes.
std::vector<Classifier> evaluated_models(const EvaluationOptions& evaluation);
/// Reasons why an evaluation of these models is not private. A model without a guarantee for a record, or a person, of
/// its rows may be a function of these very rows. Empty if the models are public by the user's declaration. Throws as
/// evaluated_models. Precondition: validated options.
Forfeits forfeits_of_models(const FitOptions& options);
/// SHA-256 of each model, in the order of evaluation.models.
std::vector<std::string> digests_of_models(const EvaluationOptions& evaluation);
/// Returns the entry of a release of statistics for refits, which makes releases of rows and trains nothing.
const MethodEntry& release_method();

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
