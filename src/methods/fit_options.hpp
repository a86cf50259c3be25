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
#include "common/data/label_slots.hpp"
#include "common/data/row_files.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/loss.hpp"
#include "common/ledger/metric.hpp"

namespace dpreduce {

// Rows of a fit, and public facts about the rows.

/// Files of rows, and the bounds and counts that are public about the rows.
struct DataOptions {
  RowFiles train{};  ///< its class names hold for all rows
  RowFiles test{};
  RowFiles validation{};                          ///< public rows and labels, to choose among candidates by
  std::vector<std::string> public_x{};            ///< public rows
  double imbalance_ratio = 1.0;                   ///< of a long tail of training rows to train on; 1: all rows
  std::optional<std::uint64_t> imbalance_seed{};  ///< seed of the rows that the long tail keeps; nullopt: 1
  /// K; 0 if classes have names: K is then their number; with targets m, once the rows are open.
  std::size_t classes = 0;
  bool classes_are_of_rows = false;  ///< K, or names, come from the rows' labels: nothing is private
  /// B, the bound in rows on the joint contribution of a person's rows; nullopt: 1. Goes with train.person.
  std::optional<std::uint64_t> rows_per_person{};
  std::optional<double> weight_bound{};     ///< W, the largest weight of a row, public. Goes with train.weight.
  std::vector<double> target_range{};       ///< lo, hi of all targets, or of each; public
  std::optional<std::size_t> max_labels{};  ///< of a row, if labels are n x K zeros and ones; nullopt: one class a row

  /// k, the largest number of classes of a row.
  std::size_t most_labels() const { return max_labels.value_or(1); }
  /// Returns whether rows have numbers to predict instead of classes.
  bool has_targets() const { return train.has_targets; }
  /// Number of slots of a row (label_slots.hpp).
  std::size_t label_slots() const { return has_targets() ? classes * kSlotsPerTarget : most_labels(); }
  /// Returns whether the unit of privacy is a person instead of a row.
  bool has_units() const { return !train.person.empty(); }
  /// Returns whether rows count for less than a whole row: by their person's number of rows, or by declared weights.
  bool weighs_rows() const { return has_units() || !train.weight.empty(); }
  PrivacyUnit unit() const { return has_units() ? PrivacyUnit::kPerson : PrivacyUnit::kRecord; }
  /// B; 1 if the unit is a row.
  std::uint64_t bounded_rows() const { return rows_per_person.value_or(1); }
  bool operator==(const DataOptions&) const = default;
};

DPREDUCE_ARCHIVE(DataOptions, train, test, validation, public_x, imbalance_ratio, imbalance_seed, classes,
                 classes_are_of_rows, rows_per_person, weight_bound, target_range, max_labels)

/// Largest B: its square times rounds and squared sensitivities is still counted exactly.
inline constexpr std::uint64_t kMostRowsPerPerson = 65536;

// Preparation of rows.

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

// Training: the method, and the options that methods take.

/// Measure that --method auto optimizes.
enum class Objective {
  kAccuracy,  ///< over rows
  kBalanced   ///< over classes, however large each is
};
template <>
inline constexpr auto spellings<Objective> = spelled<Objective>("accuracy", "balanced");

/// Weights that training rounds end in.
enum class Iterate {
  kLast,    ///< W_T
  kAverage  ///< (W_1 + ... + W_T) / T
};
template <>
inline constexpr auto spellings<Iterate> = spelled<Iterate>("last", "average");

/// Options of all methods. The methods declare which of them takes which option, and with what default (registry.hpp).
/// If an option is nullopt, the method has its own value.
struct MethodOptions {
  std::string name = "auto";
  std::string asked{};  ///< requested name, if another method was chosen for it and reports say so
  Objective objective = Objective::kAccuracy;
  Metric metric = Metric::kCosine;
  bool adaptive = false;                   ///< the choice that a method makes by public knowledge was requested by name
  std::optional<double> expected_rows{};   ///< approximate number of training rows, if that is public
  std::optional<double> smallest_share{};  ///< of rows in the smallest class, if that is public; nullopt: 1 / K
  std::optional<std::size_t> top_k{};      ///< prototypes of a class
  std::optional<double> d_min{};           ///< lower bound of 1 + cos
  std::optional<double> d_max{};           ///< upper bound of 1 + cos
  std::optional<double> gram_share{};      ///< of mu^2, for the Gram matrix
  std::optional<double> isotropy_share{};  ///< of mu^2, to decide between class means and rounds; nullopt: rounds
  bool shared_gram = false;                ///< one Gram matrix for all classes
  std::optional<double> alpha{};           ///< weight of all rows relative to a class's own
  std::optional<double> lambda{};          ///< ridge, in feature units squared; nullopt: from the noise
  std::optional<std::uint64_t> rounds{};   ///< of training
  std::optional<std::uint64_t> local_steps{};  ///< of a silo, in a round
  std::optional<double> batch{};               ///< sampling rate of a row in a round, below 1; nullopt: all rows
  std::optional<Loss> loss{};  ///< of training rounds; nullopt: softmax, or sigmoid for rows of several classes
  std::optional<double> learning_rate{};     ///< nullopt: chosen by public knowledge and noised values
  std::optional<double> radius{};            ///< Frobenius norm that bounds W; nullopt: none
  std::optional<Iterate> iterate{};          ///< of training rounds; nullopt: the last
  bool warm_start = false;                   ///< class means first, as a second head
  std::optional<double> warm_start_share{};  ///< of mu^2, for those means
  bool choose = false;                       ///< among candidates that one release gives
  std::optional<double> choose_share{};      ///< of mu^2, if training rows decide
  bool operator==(const MethodOptions&) const = default;
};

DPREDUCE_ARCHIVE(MethodOptions, name, asked, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min,
                 d_max, gram_share, isotropy_share, shared_gram, alpha, lambda, rounds, local_steps, batch, loss,
                 learning_rate, radius, iterate, warm_start, warm_start_share, choose, choose_share)

// Runs that a silo's owner allows it to take part in: the table [consent] of the silo's own file.

/// Terms of a consent. An empty term allows whatever is requested. Each term is compared with the plan that the silo
/// makes itself (fit/silo_terms.hpp).
struct SiloConsent {
  std::vector<std::string> methods{};
  std::vector<std::string> models{};               ///< SHA-256 of the models that may be evaluated, in lower-case hex
  std::optional<std::uint32_t> least_silos{};      ///< k
  std::optional<std::uint32_t> least_threshold{};  ///< t
  std::optional<std::uint32_t> least_colluding{};  ///< c that the run must withstand
  std::optional<std::uint32_t> most_colluding{};   ///< c: a larger c means more noise
  std::optional<Adjacency> adjacency{};
  std::optional<PrivacyUnit> unit{};
  std::optional<std::uint64_t> rows_per_person{};         ///< B, exactly
  std::optional<std::uint32_t> least_silos_per_person{};  ///< s
  std::optional<double> most_clip_norm{};
  std::vector<Loss> losses{};
  std::optional<std::uint64_t> most_rounds{};  ///< of any one release
  std::optional<NoiseSource> noise{};          ///< distributed: central noise is refused; central: both are allowed
  std::optional<double> most_mu{};             ///< of one run
  std::optional<double> most_mu_in_all{};      ///< of all runs on the silo's ledger, this run included
  std::string least_version{};                 ///< of dpreduce, at every party
  bool operator==(const SiloConsent&) const = default;
};

DPREDUCE_ARCHIVE(SiloConsent, methods, models, least_silos, least_threshold, least_colluding, most_colluding, adjacency,
                 unit, rows_per_person, least_silos_per_person, most_clip_norm, losses, most_rounds, noise, most_mu,
                 most_mu_in_all, least_version)

// A run among silos.

/// Options of a run among silos that do not show each other their rows or sums.
struct SiloOptions {
  bool secure_aggregation = false;           ///< masked sums; rank 0 is a coordinator without rows
  std::optional<std::uint32_t> threshold{};  ///< silos that must remain; nullopt: more than two thirds
  std::uint32_t colluding = 0;               ///< silos that may show the coordinator what they know
  NoiseSource noise = NoiseSource::kCentral;
  std::string roster{};                  ///< file of the parties; empty: identities as they arrive
  std::string identity{};                ///< this party's; {rank} is replaced
  std::string own_options{};             ///< file of this party's own options; {rank} is replaced; empty: none
  bool rows_are_own = false;             ///< that file names its rows, or it is the coordinator and needs none
  bool ledger_is_own = false;            ///< that file names its ledger
  std::optional<SiloConsent> consent{};  ///< runs that this file allows the silo to take part in; nullopt: not limited
  std::string log{};                     ///< this party's; {rank} is replaced; empty: none
  std::string agreed{};                  ///< the options that must be the same at all parties, one a line
  double timeout_seconds = 300;          ///< after this time a silent silo has dropped out
  // Simulated line from a silo to the coordinator.
  std::optional<double> round_trip_ms{};        ///< nullopt: 0
  std::optional<double> bandwidth_mbit{};       ///< 10^6 bits a second, each direction; nullopt: without bound
  std::optional<double> packet_loss_percent{};  ///< of its packets; nullopt: 0

  std::optional<std::uint32_t> silos_per_person{};  ///< s, the most silos that have rows of one person; nullopt: all
  bool over_network = false;                        ///< parties are processes on machines of their own (src/network)
  std::optional<double> patience_seconds{};         ///< of the coordinator over a network, with one silo in all
  bool under_engine = false;                        ///< an engine that is not MPI connects them (fit/masked_silo.hpp)

  bool is_distributed() const { return noise == NoiseSource::kDistributed; }
  bool has_line() const { return round_trip_ms || bandwidth_mbit || packet_loss_percent; }
  bool operator==(const SiloOptions&) const = default;
};

DPREDUCE_ARCHIVE(SiloOptions, secure_aggregation, threshold, colluding, noise, roster, identity, own_options,
                 rows_are_own, ledger_is_own, consent, log, agreed, timeout_seconds, round_trip_ms, bandwidth_mbit,
                 packet_loss_percent, silos_per_person, over_network, patience_seconds, under_engine)

// Outputs, resources and budget.

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
