// Options of a fit, as requested by a user, in parts. Names and defaults are the command-line contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/accounting/budget.hpp"
#include "common/base/described_types.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/standard_output.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/metric.hpp"
#include "methods/data_options.hpp"
#include "methods/method_options.hpp"
#include "methods/silo_options.hpp"

namespace dpreduce {

/// Vector that a row is centered by before its (second) scaling to the clip norm.
enum class Centering {
  kNone,
  kDp,      ///< the mean of the training rows, released with noise
  kPublic,  ///< the mean of the public rows
  kMoments  ///< nothing; the method's own release holds the noised mean as well
};
template <>
inline constexpr auto spellings<Centering> = spelled<Centering>("none", "dp", "public", "moments");

/// Largest number of features of rows whose raw columns may have units of their own; embeddings have more features.
/// Tables of 4 to 64 features gained up to 29 points by scaled columns at epsilon .3 to 3. Columns of one size lost at
/// most .3 by the test whether columns differ.
inline constexpr std::size_t kMostRawColumns = 64;

/// Search, with noise, for ranges of raw columns that are not public.
enum class FindRanges {
  kNever,
  kWhereColumnsDiffer,  ///< in size; otherwise rows stay unscaled
  kAlways
};
template <>
inline constexpr auto spellings<FindRanges> = spelled<FindRanges>("none", "auto", "private");

/// Preparation of rows before a method sees them (row_preparation.hpp).
struct PreparationOptions {
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;
  std::size_t pool = 1;
  std::vector<double> feature_range{};       ///< lo, hi of all raw columns, or of each; public
  std::optional<FindRanges> finds_ranges{};  ///< nullopt: the method's choice, else never
  bool sets_length = false;                  ///< the user gave normalize or clip_norm, even if the value is the default
  bool sets_clip = false;                    ///< the user gave clip_norm
  bool chooses_clip = false;                 ///< rows keep their lengths, up to a C that a noised histogram gives
  std::optional<Centering> center{};         ///< nullopt: the method's choice
  std::optional<double> center_share{};      ///< of mu^2, for the DP center; nullopt: the method's choice
  std::size_t pca = 0;                       ///< components to project on; 0: none
  std::optional<double> pca_share{};         ///< of mu^2, for components of private rows; nullopt: a default
  std::size_t select = 0;                    ///< features to keep; 0: all
  std::optional<SelectBy> select_by{};       ///< nullopt: distance
  std::optional<double> select_share{};  ///< of mu^2, if features are selected before the method; nullopt: a default
  bool operator==(const PreparationOptions&) const = default;

  bool finds_some() const { return finds_ranges.value_or(FindRanges::kNever) != FindRanges::kNever; }
  /// Returns whether the options leave lengths of rows and pooling of columns open.
  bool leaves_lengths_open() const {
    return !sets_length && normalize == Normalize::kL2 && clip_norm == 1.0 && pool == 1;
  }
  /// Returns whether the options leave C open, of rows that may keep their lengths.
  bool leaves_clip_open() const {
    return leaves_lengths_open() || (normalize == Normalize::kNone && sets_length && !sets_clip && pool == 1);
  }
  /// Returns whether the options leave ranges of columns open as well.
  bool leaves_columns_open() const { return feature_range.empty() && !finds_ranges && leaves_lengths_open(); }
};

DPREDUCE_ARCHIVE(PreparationOptions, normalize, clip_norm, pool, feature_range, finds_ranges, sets_length, sets_clip,
                 chooses_clip, center, center_share, pca, pca_share, select, select_by, select_share)

/// Files that a fit leaves behind.
struct OutputOptions {
  std::string out = "model.safetensors";
  std::string report{};   ///< empty: none
  std::string html{};     ///< a page on report and ledger; empty: none
  std::string metrics{};  ///< JSON lines of the run; empty: none
  std::string timings{};  ///< seconds of the run, for the data's owner; empty: none
  OutputFormat format = OutputFormat::kText;
  bool dry_run = false;
  bool overwrite = false;  ///< replace existing model and report
  bool quiet = false;      ///< no progress and no summary
  bool operator==(const OutputOptions&) const = default;
};

DPREDUCE_ARCHIVE(OutputOptions, out, report, html, metrics, timings, format, dry_run, overwrite, quiet)

/// Resources of its machine that a rank may use.
struct MachineOptions {
  unsigned threads = 0;                     ///< 0: every core alone, one under a launcher
  std::optional<std::size_t> memory_mib{};  ///< for the row buffers of a rank; nullopt: the method's choice
  bool operator==(const MachineOptions&) const = default;
};

DPREDUCE_ARCHIVE(MachineOptions, threads, memory_mib)

/// Budget of a fit, and where its spending is recorded.
struct PrivacyOptions {
  BudgetOptions budget{};
  Adjacency adjacency = Adjacency::kAddRemove;
  std::optional<std::uint64_t> seed{};
  std::string ledger = "ledger.jsonl";
  std::optional<double> limit_epsilon{};  ///< of the data set, over all runs on the ledger; with limit_delta
  std::optional<double> limit_delta{};
  bool resume = false;  ///< resume a killed run, if there is one
  bool operator==(const PrivacyOptions&) const = default;
};

DPREDUCE_ARCHIVE(PrivacyOptions, budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume)

/// Evaluation of a model on rows: instead of training on them (--method is then "evaluate"), or after training.
struct EvaluationOptions {
  EvaluationTerms terms{};
  std::vector<std::string> files{};   ///< of the models
  std::vector<std::string> models{};  ///< their bytes; empty: a fit
  bool models_are_public = false;     ///< by the user's declaration, whatever the models declare
  std::size_t input_dim = 0;          ///< features of a row that the models take
  double level = 0.95;                ///< probability with which each interval holds
  /// Share of mu^2 for metrics of the test rows of a fit, which are then private; nullopt: metrics are exact, and cost
  /// nothing.
  std::optional<double> share{};
  bool operator==(const EvaluationOptions&) const = default;
};

DPREDUCE_ARCHIVE(EvaluationOptions, terms, files, models, models_are_public, input_dim, level, share)

/// Statistics that `dpreduce release` may release instead of training (--method is then "release").
enum class StatisticKind { kGram, kClassSums, kClassSizes, kClassGrams };
template <>
inline constexpr auto spellings<StatisticKind> = spelled<StatisticKind>("gram", "class_sums", "class_sizes",
                                                                        "class_grams");

/// All options of a fit, in parts.
struct FitOptions {
  DataOptions data;
  PreparationOptions rows;
  MethodOptions method;
  PrivacyOptions privacy;
  OutputOptions output;
  MachineOptions machine;
  SiloOptions silos;
  EvaluationOptions evaluation{};
  std::vector<StatisticKind> statistics{};  ///< empty: a fit
  bool operator==(const FitOptions&) const = default;
  /// Returns whether the fit trains on its rows or releases sums of them, and does not test a model on them.
  bool is_of_training_rows() const { return evaluation.models.empty(); }
};

DPREDUCE_ARCHIVE(FitOptions, data, rows, method, privacy, output, machine, silos, evaluation, statistics)

}  // namespace dpreduce
