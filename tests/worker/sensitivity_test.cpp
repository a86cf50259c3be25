// Record and replay: every registered statistic on neighboring data sets. Its exact difference is compared with the
// declared sensitivity of every block.

#include "common/data/memory_array.hpp"
#include "tests/testing.hpp"
#include "tests/worker/declared_squares.hpp"
#include "tests/worker/scoring_model.hpp"
#include "worker/statistics/registered_statistics.hpp"
#include "worker/utilities.hpp"

namespace dpreduce::sensitivity_test {

constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 24;
constexpr int kTrials = 60;
const TargetColumns kTargets{.count = kClasses, .center = {0.0, 1.0, -3.0}, .scale = {1.0, 2.0, 0.5}};

struct Row {
  std::vector<float> x;
  std::vector<std::int32_t> y;  // classes, ascending
  std::int32_t group = 0;
};
using Rows = std::vector<Row>;

// Rows that a clip must hold: long, short, zero, huge, single coordinates, opposite directions, and plain random ones.
Row random_row(std::mt19937& engine, std::size_t most_labels) {
  Row row;
  if (most_labels == 1) {
    row.y = {static_cast<std::int32_t>(engine() % kClasses)};
  } else {  // any set that is small enough, the empty one too
    for (std::int32_t c = 0; c < static_cast<std::int32_t>(kClasses); ++c) {
      if (engine() % 2 == 0 && row.y.size() < most_labels) row.y.push_back(c);
    }
  }
  const unsigned kind = engine() % 6;
  row.x = normal_numbers<float>(engine, kDim);
  if (kind == 0 || kind == 2) row.x.assign(kDim, 0.0F);
  if (kind == 1) row.x.assign(kDim, (engine() % 2 == 0 ? 1.0F : -1.0F) * std::numeric_limits<float>::max());
  if (kind == 2) row.x[0] = engine() % 2 == 0 ? 1000.0F : -1000.0F;
  for (float& entry : row.x) entry *= kind == 3 ? 1e-30F : 1.0F;
  row.group = row.x[1] > 0.0F ? 1 : 0;
  return row;
}

// What a statistic depends on beside its rows.
struct Terms {
  Metric metric;
  Adjacency adjacency;
  Normalize normalize;
  Loss loss;
  bool has_prior = false;  // of gradients
  std::size_t most_labels = 1;
  bool is_sampled = false;   // rows count by their coins, which are the same in both data sets
  bool has_targets = false;  // rows have numbers in the place of classes
};

// Rows as a caller holds them in memory.
class HeldRows {
 public:
  HeldRows(const Rows& rows, std::size_t most_labels, bool has_targets = false)
      : sets_(rows.size() * kClasses, 0), has_targets_(has_targets) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      features_.insert(features_.end(), rows[row].x.begin(), rows[row].x.end());
      for (const std::int32_t label : rows[row].y) sets_[row * kClasses + static_cast<std::size_t>(label)] = 1;
      if (most_labels == 1) labels_.push_back(rows[row].y.front());
      groups_.push_back(rows[row].group);
      targets_.insert(targets_.end(), rows[row].x.begin(), rows[row].x.begin() + kClasses);
    }
  }

  WorkerRows worker() const {
    if (has_targets_) {
      return WorkerRows::in_memory(array_view(features_, kDim), array_view(targets_, kClasses), "x", "y",
                                   ArrayRole::kTargets);
    }
    WorkerRows rows = WorkerRows::in_memory(
        array_view(features_, kDim), labels_.empty() ? array_view(sets_, kClasses) : array_view(labels_), "x", "y");
    rows.set_groups(groups_);
    return rows;
  }

 private:
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::vector<std::uint8_t> sets_;
  std::vector<std::int32_t> groups_;
  std::vector<double> targets_;  // n x K: the first features
  bool has_targets_;
};

bool is_one_of(const StatisticEntry& registered, const std::vector<std::string_view>& names) {
  return std::ranges::find(names, registered.name) != names.end();
}

// Figures are asked one by one, with what goes with them; of other statistics none.
std::vector<EvaluationTerms> asked_of(const StatisticEntry& registered, std::size_t most_labels, bool has_targets) {
  if (registered.taken_at != TakenAt::kModels) return {EvaluationTerms{}};
  if (has_targets) return {{.metrics = {EvaluationMetric::kR2}, .classes = kClasses, .has_targets = true}};
  if (most_labels > 1) return {terms_of_sets(kClasses, most_labels)};
  return registered.name == "evaluation" ? each_term(kClasses) : std::vector{all_terms(kClasses)};
}

bool is_of_raw_rows(const StatisticEntry& registered) {
  return (registered.name.starts_with("feature_") && registered.name != "feature_sums") ||
         registered.name.starts_with("row_");
}

bool takes_targets(const StatisticEntry& registered, const Terms& terms) {
  return terms.has_targets || registered.name.starts_with("target_");
}

// Whether rows of these terms have that statistic.
bool is_taken_of(const StatisticEntry& registered, const Terms& terms) {
  const bool is_of_columns = registered.name.starts_with("target_") || is_of_raw_rows(registered);
  const bool is_of_targets =
      is_of_columns || is_one_of(registered, {"gram", "gradient", "residual_sizes", "evaluation"});
  const bool is_of_one_class = is_one_of(registered, {"fisher", "centred_sums", "class_sizes", "positives"});
  const bool is_of_all_rows = is_of_columns || registered.taken_at == TakenAt::kModels;
  const bool has_no_hessian = registered.name == "newton" && terms.loss == Loss::kSquare;
  return !(terms.has_targets && !is_of_targets) && !(terms.most_labels > 1 && is_of_one_class) &&
         !(terms.is_sampled && is_of_all_rows) && !has_no_hessian;
}

// Of numbers, with these in rows that a Gram matrix is of. Zeros are counted in columns that may be 0.
RowTransform transform_for(const StatisticEntry& registered, const Terms& terms, Preprocessing rows) {
  if (registered.name == "row_zeros") rows.columns = {std::vector(kDim, 0.5), std::vector(kDim, 0.5)};
  if (!takes_targets(registered, terms)) return RowTransform(std::move(rows));
  rows.targets = kTargets;
  if (registered.name == "gram") rows.targets.share = 0.3;
  return RowTransform(std::move(rows));
}

Classifier predicting_model() {
  ClassifierParts parts = scoring_model(kDim, kClasses).parts();
  parts.link.reset();
  parts.preprocessing.targets = kTargets;
  return Classifier(std::move(parts));
}

Statistic statistic_of(const StatisticEntry& registered, const ReleaseRequest& request, const RowTransform& transform,
                       const Terms& terms, const EvaluationTerms& asked, const Rows& rows) {
  const HeldRows held(rows, terms.most_labels, takes_targets(registered, terms));
  WorkerRows worker = held.worker();
  const StreamPlan plan{kClasses, BadRows::kFail, 4096, 1, worker.label_slots(terms.most_labels)};
  std::vector<Classifier> models{scoring_model(kDim, kClasses), scoring_model(kDim, kClasses, 1.1)};
  if (terms.has_targets) models = {predicting_model()};
  const SteepPoints points(transform, std::move(models), asked);
  StatisticInputs inputs{{worker, transform, plan, kUnwatched}, points.of(registered, terms.loss, terms.has_prior)};
  if (terms.is_sampled) inputs.sample.emplace(RowSample{SecretVector<std::byte>(32, std::byte{3}), 0.5, 0});
  return registered.compute(request, inputs);
}

// What is done to rows before the statistic.
enum class Prepared { kPlain, kCentered, kReduced };

class Sensitivity : public testing::TestWithParam<Terms> {};

TEST_P(Sensitivity, NoNeighborMovesAnyRegisteredStatisticFurtherThanDeclared) {
  std::mt19937 engine(5);
  Preprocessing preprocessing{kDim, 1, GetParam().normalize, 2.5, {}, 0.0};
  for (const Prepared prepared : {Prepared::kPlain, Prepared::kCentered, Prepared::kReduced}) {
    if (prepared == Prepared::kCentered) {
      preprocessing.center.assign(kDim, 0.4);
      preprocessing.intercept = 0.1;
    }
    if (prepared == Prepared::kReduced) {
      preprocessing.projection = steep_weights(kDim);  // far from orthonormal: rows must be clipped again
      preprocessing.selected = {0, 2};
    }
    ReleaseTerms terms{.classes = kClasses,
                       .most_labels = GetParam().most_labels,
                       .metric = GetParam().metric,
                       .adjacency = GetParam().adjacency,
                       .loss = GetParam().loss};
    for (const StatisticEntry* listed : registered_statistics()) {
      const StatisticEntry& registered = *listed;
      if (!is_taken_of(registered, GetParam())) continue;
      if (is_of_raw_rows(registered) && prepared == Prepared::kReduced) continue;
      const RowTransform transform = transform_for(registered, GetParam(), preprocessing);
      terms.dim = transform.output_dim();
      for (const EvaluationTerms& asked : asked_of(registered, terms.most_labels, GetParam().has_targets)) {
        terms.evaluation = asked;
        const ReleaseRequest request = registered.request(terms, 1.0);
        std::vector<long double> largest(request.blocks.size(), 0.0L);
        for (int trial = 0; trial < (prepared == Prepared::kPlain ? kTrials : kTrials / 3); ++trial) {
          Rows rows;
          for (int row = 0; row < 6; ++row) rows.push_back(random_row(engine, terms.most_labels));
          Rows neighbor = rows;
          // Beside a sample the change is at the end, so that all other rows keep their places and coins.
          const std::size_t place = GetParam().is_sampled ? rows.size() - 1 : engine() % rows.size();
          if (terms.adjacency == Adjacency::kReplaceOne) {
            neighbor[place] = random_row(engine, terms.most_labels);
            if (trial % 3 == 0) {  // the far end of the ball
              neighbor[place] = rows[place];
              for (float& entry : neighbor[place].x) entry = -entry;
            }
            if (trial % 6 == 1) {  // nothing in common, and with several labels every class moves
              if (terms.most_labels > 1) rows[place].y = {0, 1};
              neighbor[place].y = {(rows[place].y.back() + 1) % static_cast<std::int32_t>(kClasses)};
            }
            if (trial % 6 == 2) {  // at a right angle
              neighbor[place].x.assign(kDim, 0.0F);
              rows[place].x.assign(kDim, 0.0F);
              rows[place].x[1] = neighbor[place].x[2] = 3.0F;
              if (terms.most_labels > 1) rows[place].y = neighbor[place].y = {0, 2};
            }
          } else if (trial % 2 == 0) {
            neighbor.erase(neighbor.begin() + static_cast<std::ptrdiff_t>(place));
          } else {
            neighbor.insert(neighbor.begin() + static_cast<std::ptrdiff_t>(GetParam().is_sampled ? rows.size() : place),
                            random_row(engine, terms.most_labels));
          }
          const Statistic one = statistic_of(registered, request, transform, GetParam(), asked, rows);
          const Statistic other = statistic_of(registered, request, transform, GetParam(), asked, neighbor);
          const std::vector<long double> squares = squared_differences(request, one, other);
          EXPECT_TRUE(is_within(squares, request.profiles, 1e-12)) << registered.name;
          for (std::size_t block = 0; block < largest.size(); ++block) {
            largest[block] = std::max(largest[block], squares[block]);
          }
        }
        if (prepared != Prepared::kPlain) continue;
        // The trials are no idle ones: they come close to what is declared. (A count that no replacement moves is the
        // exception.)
        const std::vector<std::uint64_t> declared = largest_squares(request.profiles);
        for (std::size_t block = 0; block < largest.size(); ++block) {
          // The opposite end of the ball in a gradient needs two rows whose residuals both have full length and
          // opposite sign: its declared bound holds, and random rows come within a half of it. Two rows of full length
          // at a right angle, whose classes' weights are both as large as may be, are as rare.
          const bool is_of_a_point = registered.taken_at == TakenAt::kWeights;
          // A prior leaves a part of a residual.
          const double reach_of_a_point = GetParam().has_prior ? 0.02 : 0.2;
          // Random rows rarely take these from one end to the other, and few classes have no two sets that are far
          // apart.
          const std::string& name = request.blocks[block].name;
          const bool is_rare = name == "calibration_gaps" || name.starts_with("sets");
          const bool is_of_numbers = registered.name == "evaluation" && GetParam().has_targets;
          const double reach = is_of_a_point ? reach_of_a_point : is_rare ? 0.45 : is_of_numbers ? 0.02 : 0.99;
          // With a prior no residual is longer than 1, so that an exchange leaves both sides as they are.
          const bool never_moves = terms.adjacency == Adjacency::kReplaceOne &&
                                   (name == "row_count" || (name == "sides" && GetParam().has_prior));
          EXPECT_TRUE(never_moves ||
                      static_cast<double>(largest[block]) >= reach * static_cast<double>(declared[block]))
              << registered.name << " " << name << " moves by " << static_cast<double>(largest[block]);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Terms, Sensitivity,
    testing::Values(Terms{Metric::kCosine, Adjacency::kAddRemove, Normalize::kL2, Loss::kSoftmax},
                    Terms{Metric::kCosine, Adjacency::kReplaceOne, Normalize::kNone, Loss::kSquare},
                    Terms{Metric::kCosine, Adjacency::kAddRemove, Normalize::kNone, Loss::kSquare, false, 1, false,
                          true},
                    Terms{Metric::kCosine, Adjacency::kReplaceOne, Normalize::kL2, Loss::kSquare, false, 1, true, true},
                    Terms{Metric::kEuclidean, Adjacency::kAddRemove, Normalize::kNone, Loss::kSquare},
                    Terms{Metric::kEuclidean, Adjacency::kReplaceOne, Normalize::kL2, Loss::kSigmoid},
                    Terms{Metric::kCosine, Adjacency::kAddRemove, Normalize::kL2, Loss::kSigmoid},
                    Terms{Metric::kCosine, Adjacency::kReplaceOne, Normalize::kL2, Loss::kSoftmax},
                    Terms{Metric::kCosine, Adjacency::kAddRemove, Normalize::kNone, Loss::kSoftmax, true},
                    Terms{Metric::kCosine, Adjacency::kReplaceOne, Normalize::kL2, Loss::kSoftmax, true},
                    Terms{Metric::kCosine, Adjacency::kAddRemove, Normalize::kL2, Loss::kSoftmax, false, 1, true},
                    Terms{Metric::kEuclidean, Adjacency::kAddRemove, Normalize::kL2, Loss::kSigmoid, false, 2},
                    Terms{Metric::kEuclidean, Adjacency::kReplaceOne, Normalize::kNone, Loss::kSigmoid, false, 2},
                    Terms{Metric::kCosine, Adjacency::kReplaceOne, Normalize::kL2, Loss::kSquare, false, 2}));

// One row more: no utility falls, none rises by more than 1, and some do rise. Of rows of one class and of several,
// with and without a second head.
TEST(CorrectCounts, AnotherRowAddsAtMostOneToEveryUtility) {
  std::mt19937 engine(23);
  const RowTransform transform({kDim, 1, Normalize::kL2, 2.5, {}, 0.1});
  const Lattice lattice{2.5, transform.output_dim()};
  std::vector<double> reversed = steep_weights(lattice.dim);
  for (double& entry : reversed) entry = -entry;
  const std::vector<LatticeWeights> candidates{{steep_weights(lattice.dim), lattice}, {reversed, lattice}};
  const Prior head{candidates[0], transform.preprocessing().dim()};
  for (const std::size_t most_labels : {1u, 2u, 3u}) {
    for (const Prior& prior : {Prior{}, head}) {
      bool some_rise = false;
      for (int trial = 0; trial < kTrials / 3; ++trial) {
        Rows rows;
        for (int row = 0; row < 6; ++row) rows.push_back(random_row(engine, most_labels));
        Rows neighbor = rows;
        neighbor.insert(neighbor.begin() + trial % 7, random_row(engine, most_labels));
        const auto counts = [&](const Rows& of) {
          const HeldRows held(of, most_labels);
          WorkerRows worker = held.worker();
          const StreamPlan plan{kClasses, BadRows::kFail, 4096, 1, most_labels};
          return correct_counts(candidates, {{worker, transform, plan, kUnwatched}}, prior);
        };
        const Statistic fewer = counts(rows);
        const Statistic more = counts(neighbor);
        for (std::size_t m = 0; m < candidates.size(); ++m) {
          const std::int64_t rise = more.block(0)[m] - fewer.block(0)[m];
          EXPECT_TRUE(rise == 0 || rise == 1) << rise;
          some_rise = some_rise || rise == 1;
        }
      }
      EXPECT_TRUE(some_rise);
    }
  }
}

TEST(RegisteredStatistics, EveryEntryDeclaresWhatItComputes) {
  ReleaseTerms terms{.classes = kClasses, .dim = kDim, .evaluation = all_terms(kClasses)};
  for (const StatisticEntry* entry : registered_statistics()) {
    EXPECT_EQ(entry->request(terms, 1.0).name, entry->name);
    EXPECT_EQ(&registered_statistic(entry->name), entry);
  }
  EXPECT_THROW(registered_statistic("something else"), std::logic_error);
}

}  // namespace dpreduce::sensitivity_test
