// What a user asked for: one validated struct a command. Names and defaults are the command-line contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dpreduce/config/choices.hpp"

namespace dpreduce {

/// Exactly one of (epsilon, delta), rho, mu; checked when a budget is made of it.
struct StatedBudget {
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> rho;
  std::optional<double> mu;
};

/// Non-private goes without any of them.
struct BudgetOptions : StatedBudget {
  Accountant accountant = Accountant::kGdp;
  bool non_private = false;
};

/// Rows to read: features, labels, and what to do with rows that are not finite.
struct RowsOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;
  BadRows bad_rows = BadRows::kFail;
};

/// A run among silos that do not show each other their rows or sums.
struct SiloOptions {
  bool secure_aggregation = false;         ///< masked sums; rank 0 is a coordinator without rows
  std::optional<std::uint32_t> threshold;  ///< silos that must stay; empty: more than two thirds
  std::uint32_t colluding = 0;             ///< silos that may show the coordinator what they know
  NoiseSource noise = NoiseSource::kCentral;
  std::string roster;            ///< who takes part; empty: identities as they come
  std::string identity;          ///< this party's; {rank} is replaced
  std::string own_options;       ///< file of what this party says for itself; {rank} is replaced; empty: none
  bool rows_are_own = false;     ///< that file names its rows, or it is the coordinator and needs none
  bool ledger_is_own = false;    ///< that file names its ledger
  std::string log;               ///< this party's; {rank} is replaced; empty: none
  std::string agreed;            ///< the options that all parties must have been told alike, one a line
  double timeout_seconds = 300;  ///< then a silent silo is lost
  std::string fault;             ///< on purpose, in simulations; empty: none
  // A silo's line to the coordinator, in simulations.
  std::optional<double> round_trip_ms;        ///< empty: 0
  std::optional<double> bandwidth_mbit;       ///< 10^6 bits a second, each direction; empty: without bound
  std::optional<double> packet_loss_percent;  ///< of its packets; empty: 0

  bool is_distributed() const { return noise == NoiseSource::kDistributed; }
  bool has_line() const { return round_trip_ms || bandwidth_mbit || packet_loss_percent; }
};

struct FitOptions {
  RowsOptions train;
  RowsOptions test;
  RowsOptions validation;                       ///< rows and labels that are no secret, to choose among candidates by
  std::vector<std::string> public_x;            ///< rows that are no secret
  double imbalance_ratio = 1.0;                 ///< of a long tail of training rows to train on; 1: all rows
  std::optional<std::uint64_t> imbalance_seed;  ///< which rows it keeps; empty: 1
  std::size_t classes = 0;
  std::optional<std::size_t> max_labels;  ///< of a row, where labels are n x K zeros and ones; empty: one class a row
  Method method = Method::kAuto;
  Objective objective = Objective::kAccuracy;  ///< of auto
  Metric metric = Metric::kCosine;
  bool adaptive = false;                ///< prototypes: mean or public, by public knowledge
  std::optional<double> expected_rows;  ///< prototypes: about how many training rows there are, where that is public
  std::optional<double>
      smallest_share;                ///< prototypes: of rows in the smallest class, where that is public; empty: 1 / K
  std::optional<std::size_t> top_k;  ///< public: prototypes of a class; empty: one
  std::optional<double> d_min;       ///< public: 1 + cos counts from here on; empty: 0
  std::optional<double> d_max;       ///< public: and up to here; empty: 2
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;
  std::optional<Centering> center;      ///< empty: as the method likes it
  std::optional<double> gram_share;     ///< of mu^2, for the Gram matrix; empty: as the method likes it
  bool shared_gram = false;             ///< ls: one Gram matrix for all classes
  std::optional<double> alpha;          ///< ls: weight of all rows beside a class's own; empty: as the method likes it
  std::optional<double> lambda;         ///< ls: ridge, in feature units squared; empty: from the noise
  std::optional<std::uint64_t> rounds;  ///< of training; empty: as the method likes it
  std::optional<std::uint64_t> local_steps;  ///< fedavg: of a silo, in a round; empty: as the method likes it
  std::optional<double> batch;               ///< gd, adam: sampling rate of a row in a round, below 1; empty: all rows
  std::optional<Loss> loss;             ///< of training rounds; empty: softmax, or sigmoid for rows of several classes
  std::optional<double> learning_rate;  ///< gd, adam; empty: chosen by public knowledge and noised values
  std::optional<double> radius;         ///< gd: Frobenius norm that W is kept within; empty: none
  std::optional<Iterate> iterate;       ///< of training rounds; empty: the last
  bool warm_start = false;              ///< fc, gd, adam, newton: class means first, as a second head
  std::optional<double> warm_start_share;  ///< of mu^2, for those means; empty: as the method likes it
  std::optional<double> center_share;      ///< of mu^2, for the DP centre; empty: as the method likes it
  std::size_t pool = 1;
  std::size_t pca = 0;                 ///< components to project on; 0: none
  std::optional<double> pca_share;     ///< of mu^2, for components of private rows; empty: a default
  std::size_t select = 0;              ///< features to keep; 0: all
  std::optional<SelectBy> select_by;   ///< empty: distance
  std::optional<double> select_share;  ///< of mu^2, where features are selected before the method; empty: a default
  bool choose = false;                 ///< among candidates that one release gives
  std::optional<double> choose_share;  ///< of mu^2, where training rows decide; empty: a default
  BudgetOptions budget;
  Adjacency adjacency = Adjacency::kAddRemove;
  std::string out = "model.safetensors";
  std::string report;  ///< empty: none
  std::string ledger = "ledger.jsonl";
  std::optional<double> limit_epsilon;  ///< of the data set, over all runs on the ledger; with limit_delta
  std::optional<double> limit_delta;
  bool resume = false;            ///< go on with a killed run, where there is one
  std::string checkpoint;         ///< folder for what was released so far; empty: none
  double checkpoint_every = 0.0;  ///< seconds between writes; 0: after every release
  unsigned threads = 0;           ///< 0: every core alone, one under a launcher
  std::optional<std::uint64_t> seed;
  std::optional<std::size_t> memory_mib;  ///< for the row buffers of a rank; empty: as the method likes it
  OutputFormat format = OutputFormat::kText;
  bool dry_run = false;
  SiloOptions silos;

  /// k, the most classes that a row may have.
  std::size_t most_labels() const { return max_labels.value_or(1); }

  /// Whether prototypes may be chosen among public rows: then every rank opens all of these.
  bool may_choose_prototypes() const {
    return method == Method::kPublic || method == Method::kPrototypes ||
           (objective == Objective::kBalanced && !public_x.empty());
  }
};

struct SweepOptions {
  RowsOptions train;
  RowsOptions test;
  std::vector<std::string> public_x;
  std::size_t classes = 0;
  std::vector<std::string> methods;  ///< each as it follows --method of fit, with options of its own
  std::vector<double> epsilons;
  double delta = 1e-5;
  std::vector<double> ratios{1.0};  ///< of imbalance
  std::uint64_t seeds = 5;          ///< 1, ..., seeds, of noise and of long tails
  Adjacency adjacency = Adjacency::kAddRemove;
  std::string out = "sweep";  ///< .csv and .json
  unsigned threads = 0;       ///< as of fit
  std::optional<std::size_t> memory_mib;
};

struct PredictOptions {
  std::string model;
  std::vector<std::string> x;
  std::string out;
  bool scores = false;
  std::optional<std::size_t> top_k;  ///< classes a row, instead of one
  bool sets = false;                 ///< zeros and ones, instead of one class a row
  std::optional<double> threshold;   ///< of sets; empty: the model's
  BadRows bad_rows = BadRows::kFail;
};

struct EvaluateOptions {
  std::string model;
  RowsOptions test;
  std::vector<std::string> train_y;  ///< owner's training labels, to tell which classes are the minority
  std::optional<std::size_t> top_k;  ///< of label sets: precision and recall of so many scores a row
  std::optional<double> threshold;   ///< of label sets; empty: the model's
  std::string report;
  OutputFormat format = OutputFormat::kText;
};

struct CalibrateOptions {
  BudgetOptions budget;
  double sensitivity = 1.0;
  std::uint64_t steps = 1;
  double sampling_rate = 1.0;  ///< of every step's Poisson sample; 1: all records
  OutputFormat format = OutputFormat::kText;
};

/// Exactly one of the stated budget and sigma.
struct ConvertOptions {
  StatedBudget budget;
  std::optional<double> sigma;
  double sensitivity = 1.0;
  OutputFormat format = OutputFormat::kText;
};

/// `--gaussian Z:K`: one mechanism, count times.
struct MechanismSpec {
  MechanismKind kind = MechanismKind::kGaussian;
  double parameter = 0.0;      ///< noise multiplier of Gaussians, epsilon of the others
  double sampling_rate = 1.0;  ///< of subsampled Gaussians
  std::uint64_t count = 1;
};

struct ComposeOptions {
  std::vector<MechanismSpec> run;
  double delta = 0.0;
  Adjacency adjacency = Adjacency::kAddRemove;
  std::uint64_t group = 1;  ///< records that differ
  OutputFormat format = OutputFormat::kText;
};

/// `--block NAME:D:W`.
struct BlockSpec {
  std::string name;
  double sensitivity = 0.0;
  double loss_weight = 1.0;
};

struct SplitOptions {
  BudgetOptions budget;
  std::vector<BlockSpec> blocks;
  OutputFormat format = OutputFormat::kText;
};

struct ExplainOptions {
  std::string report;
  OutputFormat format = OutputFormat::kText;
};

struct LedgerShowOptions {
  std::string ledger = "ledger.jsonl";
  OutputFormat format = OutputFormat::kText;
};

struct LedgerVerifyOptions {
  std::string ledger = "ledger.jsonl";
  std::string report;  ///< of a run on this ledger; empty: none
};

struct LedgerReleaseOptions {
  std::string run;
  std::string ledger = "ledger.jsonl";
};

struct SynthOptions {
  ClassMeans kind = ClassMeans::kNeuralCollapse;
  std::string out_dir;
  std::size_t rows = 10000;
  std::size_t test_rows = 2000;
  std::size_t dim = 128;
  std::size_t classes = 10;
  std::size_t shards = 1;
  double offset = 0.0;                    ///< sup-norm of a constant vector added to every training row
  double stochastic = 0.0;                ///< standard deviation of noise on training rows
  double test_stochastic = 0.0;           ///< standard deviation of noise on test rows
  double adversarial = 0.0;               ///< sup-norm of a worst-case perturbation of test rows
  double spread = 1.0;                    ///< Gaussian mixture: standard deviation around class means
  double separation = 3.0;                ///< Gaussian mixture: norm of class means
  double imbalance_ratio = 1.0;           ///< largest over smallest class, exponential long tail
  std::optional<std::size_t> max_labels;  ///< n x K zeros and ones, so many ones a row at most; empty: class indices
  std::optional<double> majority_share;   ///< share of class 0, the others equal
  std::uint64_t seed = 0;
};

/// `synth sanitize`: rows that carry their own noise.
struct SanitizeOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;  ///< public labels, copied; none: features alone
  std::string out_dir;
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;
  BadRows bad_rows = BadRows::kFail;
  BudgetOptions budget;  ///< of each record by itself
  std::optional<std::uint64_t> seed;
  OutputFormat format = OutputFormat::kText;
};

/// `synth partition`: one data set as the files of simulated silos.
struct PartitionOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;
  std::string out_dir;
  std::size_t classes = 0;
  std::size_t silos = 0;
  std::size_t first_silo = 1;  ///< number of the first
  Partition scheme = Partition::kIid;
  std::optional<double> alpha;                  ///< of the Dirichlet distribution; kDirichlet, kQuantity
  std::optional<std::size_t> classes_per_silo;  ///< kClasses
  std::optional<double> rotation;               ///< degrees; kFeatureShift
  std::optional<double> offset;                 ///< of each feature; kFeatureShift
  std::uint64_t seed = 0;
  OutputFormat format = OutputFormat::kText;
};

struct InspectOptions {
  RowsOptions rows;
  std::size_t classes = 0;
  Normalize normalize = Normalize::kNone;
  double clip_norm = 1.0;
  OutputFormat format = OutputFormat::kText;
};

/// How an audit observes the mechanism.
enum class AuditKind {
  kManyRuns,  ///< on two small neighbouring data sets, again and again
  kOneRun     ///< once, with many canaries in one training set
};

struct AuditOptions {
  AuditOptions() {
    fit.classes = 200;
    fit.normalize = Normalize::kNone;  // so that the clip is tested
  }
  AuditKind kind = AuditKind::kManyRuns;
  FitOptions fit;  ///< whose claim; for kOneRun also rows (none: synthetic ones) and classes
  double confidence = 0.999;
  std::optional<std::size_t> trials;  ///< runs in all, kManyRuns; empty: as many as take some seconds
  std::size_t canaries = 50000;       ///< kOneRun
};

struct BenchOptions {
  BenchKind kind = BenchKind::kGram;
  std::size_t rows = 8192;
  std::size_t dim = 1664;
  std::size_t classes = 1000;  ///< round
  std::size_t count = 10'000'000;
  std::size_t elements = 1 << 24;
  double sigma = 1048576.0;
  unsigned threads = 1;
  unsigned repeats = 3;
  std::string kernel = "auto";
  OutputFormat format = OutputFormat::kText;
};

struct KeygenOptions {
  std::string out;  ///< of the private half
  std::string name = "silo";
  OutputFormat format = OutputFormat::kText;
};

/// What to print and stop: --help or --version.
struct PrintText {
  std::string text;
};

using Command = std::variant<PrintText, FitOptions, SweepOptions, PredictOptions, EvaluateOptions, CalibrateOptions,
                             ConvertOptions, ComposeOptions, SplitOptions, ExplainOptions, LedgerShowOptions,
                             LedgerVerifyOptions, LedgerReleaseOptions, SynthOptions, SanitizeOptions, PartitionOptions,
                             InspectOptions, AuditOptions, BenchOptions, KeygenOptions>;

}  // namespace dpreduce
