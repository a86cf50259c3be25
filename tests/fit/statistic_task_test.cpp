// What comes from a coordinator as a task: whatever is not the plan's is refused, and what is not refused moves by at
// most what the plan has charged.

#include <sys/resource.h>

#include "common/ledger/triangle.hpp"
#include "common/silos/payload_archive.hpp"
#include "fit/traveling_plan.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::statistic_task_test {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Change = std::pair<std::string, std::function<void(StatisticTask&)>>;

GradientPoint& gradient_of(StatisticTask& task) {
  return std::get<GradientPoint>(task.point);
}

LatticeWeights& weights_at(StatisticTask& task) {
  return gradient_of(task).weights;
}

// Changes of the largest entries, or of the values, of weights of a task.
template <typename At, typename Of>
std::function<void(StatisticTask&)> on_largest(At at, Of change) {
  return [=](StatisticTask& task) { change_weights(at(task), [&](auto&, auto& largest) { change(largest); }); };
}

template <typename At, typename Of>
std::function<void(StatisticTask&)> on_values(At at, Of change) {
  return [=](StatisticTask& task) { change_weights(at(task), [&](auto& values, auto&) { change(values); }); };
}

class StatisticTaskTest : public testing::Test {
 protected:
  // Two rounds, where the method takes some.
  TravelingPlan plan_of(const std::string& method, const std::function<void(FitOptions&)>& change = {}) const {
    FitOptions options = seeded_fit(method, folder_);
    if (find_method(method)->takes_option("--rounds")) options.method.rounds = 2;
    if (change) change(options);
    return TravelingPlan::made(options, FittedRows::kDim);
  }

  static Statistic statistic(const TravelingPlan& plan, const TravelingTask& task,
                             const RowsInMemory& rows = rows_.all()) {
    return partition_statistic(plan, task, rows, "p", 1, [](double) {});
  }

  // The task of each release that a session of the plan asks for: the last of each kind.
  static std::map<std::string, TravelingTask> tasks_of(const TravelingPlan& plan,
                                                       const RowsInMemory& rows = rows_.all()) {
    std::map<std::string, TravelingTask> tasks;
    FitSession session(plan, std::nullopt, std::nullopt);
    while (const auto task = session.task()) {
      tasks.insert_or_assign(task->task.release, *task);
      session.give(partial_sum(plan, *task, rows, "p", 1, [](double) {}));
    }
    return tasks;
  }

  static void expect_refused(const TravelingPlan& plan, const TravelingTask& honest, const std::vector<Change>& changes,
                             const RowsInMemory& rows = rows_.all()) {
    EXPECT_NO_THROW(statistic(plan, honest, rows));
    for (const auto& [what, change] : changes) {
      SCOPED_TRACE(honest.task.release + ": " + what);
      TravelingTask task = honest;
      change(task.task);
      EXPECT_THROW(statistic(plan, task, rows), UsageError);
    }
  }

  TemporaryFolder folder_;
  static inline const FittedRows rows_{30, 1};
};

const std::vector<double> kZeros(FittedRows::kDim, 0.0);
const std::vector<double> kSmall(FittedRows::kDim, 1e-3);
const ClassBalls kBalls{std::vector<double>(18, 0.0), {1, 1, 1}};

const std::vector<Change> kChangesOfAnyTask{
    {"another release", [](auto& task) { task.release = "row_sum"; }},
    {"features", [](auto& task) { task.preprocessing.input_dim = 5; }},
    {"pool", [](auto& task) { task.preprocessing.pool = 2; }},
    {"normalize", [](auto& task) { task.preprocessing.normalize = Normalize::kNone; }},
    {"clip norm", [](auto& task) { task.preprocessing.clip_norm *= 2; }},
    {"a center that the plan does not release",
     [](auto& task) { task.preprocessing.center.assign(FittedRows::kDim, 0.5); }},
    {"intercept", [](auto& task) { task.preprocessing.intercept = task.preprocessing.intercept > 0 ? 0 : .1; }},
    {"selected features",
     [](auto& task) {
       task.preprocessing.selected = {0, 1, 2};
     }},
    {"ranges of features",
     [](auto& task) { task.preprocessing.columns.center = kZeros, task.preprocessing.columns.scale = kSmall; }},
    {"a share of targets", [](auto& task) { task.preprocessing.targets.share = 0.5; }},
    {"a label", [](auto& task) { task.label = 1; }},
    {"a part", [](auto& task) { task.part = StatisticPart::kClassSums; }},
    {"a secret", [](auto& task) { task.secret.front() = 1; }},
    {"balls", [](auto& task) { task.point = kBalls; }}};

const std::vector<Change> kChangesOfWeights{
    {"no weights", [](auto& task) { task.point = std::monostate(); }},
    {"loss", [](auto& task) { gradient_of(task).loss = Loss::kSigmoid; }},
    {"square loss", [](auto& task) { gradient_of(task).loss = Loss::kSquare; }},
    {"no residual norm", [](auto& task) { gradient_of(task).residual_norm = 0.0; }},
    {"a residual norm that is no number", [](auto& task) { gradient_of(task).residual_norm = kNaN; }},
    {"a class more", on_largest(weights_at, [](auto& largest) { largest.push_back(1.0); })},
    {"a feature less", on_values(weights_at, [](auto& values) { values.resize(3); })},
    {"a weight that is no number", on_largest(weights_at, [](auto& largest) { largest.back() = kNaN; })},
    {"a weight without bound", on_largest(weights_at, [](auto& largest) { largest.back() = kInfinity; })},
    {"a negative largest weight", on_largest(weights_at, [](auto& largest) { largest.back() = -1.0; })},
    {"a weight beyond the lattice", on_values(weights_at, [](auto& values) { values.back() = -32768; })},
    {"features of no prior", [](auto& task) { gradient_of(task).prior.features ^= 1; }}};

TEST_F(StatisticTaskTest, ATaskWithAnyOtherFieldIsRefused) {
  const TravelingPlan plan = plan_of("gd");
  const TravelingTask honest = tasks_of(plan).at("gradient");
  expect_refused(plan, honest, kChangesOfAnyTask);
  expect_refused(plan, honest, kChangesOfWeights);
  expect_refused(plan, honest,
                 {{"a residual norm of its own", [](auto& task) { gradient_of(task).residual_norm = 0.5; }},
                  {"longer residuals", [](auto& task) { gradient_of(task).residual_norm = 1.0; }},
                  {"a second head", [](auto& task) {
                     gradient_of(task).prior = {gradient_of(task).weights, FittedRows::kDim};
                   }}});
}

// A sigmoid's Hessians have 27/16 of the squared sensitivity of softmax: more noise than softmax is charged for.
TEST_F(StatisticTaskTest, HessiansAreOfThePlansLoss) {
  const TravelingPlan plan = plan_of("newton");
  const TravelingTask honest = tasks_of(plan).at("newton");
  expect_refused(plan, honest, kChangesOfAnyTask);
  expect_refused(plan, honest, kChangesOfWeights);
  const TravelingPlan sigmoid = plan_of("newton", [](auto& options) { options.method.loss = Loss::kSigmoid; });
  expect_refused(sigmoid, tasks_of(sigmoid).at("newton"),
                 {{"softmax", [](auto& task) { gradient_of(task).loss = Loss::kSoftmax; }}});
}

TEST_F(StatisticTaskTest, ASecondHeadIsOfThePlansFeaturesAndLoss) {
  const TravelingPlan plan = plan_of("gd", [](auto& options) { options.method.warm_start = true; });
  const TravelingTask honest = tasks_of(plan).at("gradient");
  ASSERT_TRUE(std::get<GradientPoint>(honest.task.point).prior.directions);
  expect_refused(plan, honest, kChangesOfWeights);
  const auto directions = [](StatisticTask& task) -> LatticeWeights& { return *gradient_of(task).prior.directions; };
  expect_refused(
      plan, honest,
      {{"a direction that is no number", on_largest(directions, [](auto& largest) { largest.front() = kNaN; })},
       {"directions beyond the lattice", on_values(directions, [](auto& values) { values.front() = -32768; })},
       {"directions of fewer classes", on_largest(directions, [](auto& largest) { largest.pop_back(); })}});
}

TEST_F(StatisticTaskTest, ABoundThatAdaptsIsPositiveAndFinite) {
  const TravelingPlan plan = plan_of("global-adapt");
  const TravelingTask honest = tasks_of(plan).at("adaptive_gradient");
  TravelingTask tighter = honest;
  gradient_of(tighter.task).residual_norm = 0.5;
  EXPECT_NO_THROW(statistic(plan, tighter));
  expect_refused(plan, honest, kChangesOfWeights);
  expect_refused(plan, honest,
                 {{"negative", [](auto& task) { gradient_of(task).residual_norm = -1.0; }},
                  {"without bound", [](auto& task) { gradient_of(task).residual_norm = kInfinity; }}});
}

TEST_F(StatisticTaskTest, CentersAndBallsAreNumbers) {
  const TravelingPlan balls = plan_of("coinpress");
  const auto of_balls = [](StatisticTask& task) -> ClassBalls& { return std::get<ClassBalls>(task.point); };
  expect_refused(balls, tasks_of(balls).at("centred_sums"),
                 {{"no balls", [](auto& task) { task.point = std::monostate(); }},
                  {"a center that is no number", [&](auto& task) { of_balls(task).centers.front() = kNaN; }},
                  {"a center too few", [&](auto& task) { of_balls(task).centers.pop_back(); }},
                  {"no radius", [&](auto& task) { of_balls(task).radii.front() = 0.0; }},
                  {"a radius that divides to infinity", [&](auto& task) { of_balls(task).radii.front() = 1e-320; }},
                  {"a radius that is no number", [&](auto& task) { of_balls(task).radii.front() = kNaN; }}});
  const TravelingPlan centered = plan_of("mean", [](FitOptions& options) { options.rows.center = Centering::kDp; });
  const TravelingTask rest = tasks_of(centered).at("center_rest");
  ASSERT_EQ(std::get<ClassBalls>(rest.task.point).radii.size(), 1U);
  expect_refused(
      centered, rest,
      {{"no ball", [](auto& task) { task.point = std::monostate(); }},
       {"no radius", [&](auto& task) { of_balls(task).radii.front() = 0.0; }},
       {"a ball for each class",
        [&](auto& task) { of_balls(task).centers.resize(18), of_balls(task).radii.resize(3, 1.0); }},
       {"rows about a center", [](auto& task) { task.preprocessing.center.assign(FittedRows::kDim, kNaN); }}});
  const TravelingTask means = tasks_of(centered).at("class_means");
  ASSERT_EQ(means.task.preprocessing.center.size(), FittedRows::kDim);
  expect_refused(centered, means,
                 {{"a center that is no number", [](auto& task) { task.preprocessing.center.back() = kNaN; }},
                  {"a center without bound", [](auto& task) { task.preprocessing.center.back() = kInfinity; }},
                  {"a center of fewer features", [](auto& task) { task.preprocessing.center.pop_back(); }}});
}

constexpr std::size_t kPrepared = FittedRows::kDim + 1;  // an intercept

bool is_on_diagonal(std::size_t element) {
  for (std::size_t a = 0; a < kPrepared; ++a) {
    if (triangle_row(a, kPrepared) == element) return true;
  }
  return false;
}

// Of every byte of a task, changed in some bits: refused, or as sensitive as planned.
TEST_F(StatisticTaskTest, WhateverItsBytesSayARowMovesItByNoMoreThanPlanned) {
  const TravelingPlan plan = plan_of("newton");
  const ReleaseRequest request = ResolvedFit(plan.options, plan.dim).plan().request("newton");
  const TravelingTask honest = tasks_of(plan).at("newton");
  const std::string message = honest.to_bytes();
  const std::span<const std::byte> value = value_in(message, "task");
  FittedRows one_more = rows_;
  for (std::size_t a = 0; a < FittedRows::kDim; ++a) one_more.x.push_back(a == 1 ? 9.0F : 1.0F);
  one_more.y.push_back(2);
  std::size_t accepted = 0;
  for (std::size_t place = 0; place < value.size(); ++place) {
    for (const unsigned bit : {0U, 1U, 4U, 7U}) {
      std::vector<std::byte> changed(value.begin(), value.end());
      changed[place] ^= std::byte{1} << bit;
      try {
        const TravelingTask task = TravelingTask::from_bytes(framed_message("task", changed));
        const Statistic without = statistic(plan, task);
        const Statistic with = statistic(plan, task, one_more.all());
        for (std::size_t block = 0; block < with.shape().size(); ++block) {
          const bool is_symmetric = with.shape()[block].name == "hessians";
          double squared = 0.0;
          for (std::size_t e = 0; e < with.block(block).size(); ++e) {
            const auto moved = static_cast<double>(with.block(block)[e] - without.block(block)[e]);
            const bool stands_for_two = is_symmetric && !is_on_diagonal(e % triangle_elements(kPrepared));
            squared += moved * moved * (stands_for_two ? 2.0 : 1.0);
          }
          ASSERT_LE(squared, static_cast<double>(request.profiles.front().squared_l2[block]))
              << "byte " << place << ", bit " << bit;
        }
        ++accepted;
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(accepted, 20U) << "weights may be any";
  for (std::size_t length = 0; length < value.size(); ++length) {
    EXPECT_THROW(TravelingTask::from_bytes(framed_message("task", value.first(length))), BadInput) << length;
  }
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// Each eight bytes of a task say in turn that so much follows.
TEST_F(StatisticTaskTest, ACountTakesNoMemoryThatItsMessageDoesNotHave) {
  const TravelingPlan plan = plan_of("gd");
  const std::string message = tasks_of(plan).at("gradient").to_bytes();
  const std::span<const std::byte> value = value_in(message, "task");
  const double before = peak_mib();
  for (const std::uint64_t count : {std::uint64_t{1} << 30, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    for (std::size_t place = 0; place + 8 <= value.size(); ++place) {
      std::vector<std::byte> changed(value.begin(), value.end());
      for (unsigned b = 0; b < 8; ++b) changed[place + b] = static_cast<std::byte>(count >> (8 * b));
      try {
        statistic(plan, TravelingTask::from_bytes(framed_message("task", changed)));
      } catch (const Error&) {
      }
    }
  }
  EXPECT_LT(peak_mib() - before, 16.0);
}

// Where the plan finds ranges and lengths, any that arithmetic takes will do, and no others.
TEST_F(StatisticTaskTest, OfNumbersRangesAndLengthsAreWithinWhatArithmeticTakes) {
  FitOptions options = seeded_fit("ls", folder_);
  options.data.classes = 0;
  options.data.train.has_targets = true;
  const TravelingPlan plan = TravelingPlan::made(options, FittedRows::kDim, 1);
  std::vector<double> numbers;
  for (const std::int64_t label : rows_.y) numbers.push_back(static_cast<double>(label));
  const RowsInMemory rows{.train_x = rows_.features(), .train_y = array_view(std::span(numbers), 1)};
  const std::vector<Change> changes{
      {"no length", [](auto& task) { task.preprocessing.clip_norm = 0.0; }},
      {"a length that is no number", [](auto& task) { task.preprocessing.clip_norm = kNaN; }},
      {"an infinite length", [](auto& task) { task.preprocessing.clip_norm = kInfinity; }},
      {"a center that is no number", [](auto& task) { task.preprocessing.targets.center = {kNaN}; }},
      {"no scale", [](auto& task) { task.preprocessing.targets.scale = {0.0}; }},
      {"ranges of two", [](auto& task) { task.preprocessing.targets.center.assign(2, 0.0); }},
      {"all of a row for its target", [](auto& task) { task.preprocessing.targets.share = 1.0; }}};
  expect_refused(plan, tasks_of(plan, rows).at("gram"), changes, rows);
}

}  // namespace dpreduce::statistic_task_test
