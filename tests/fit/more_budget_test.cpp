// More budget makes no worse model, with any method and its defaults, on sets of many shapes; and auto is not far
// behind class means where these are all there is to know.
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::more_budget_test {

constexpr std::size_t kTestRows = 1000;
constexpr std::uint64_t kSeeds = 5;

// Rows C_label + noise, of which direction a has the standard deviation (1 + a)^-fall; the last are test rows.
struct Shape {
  std::string name;
  std::size_t rows;
  std::size_t dim;
  std::size_t classes;
  double distance;      // of class means in a direction, in its deviations
  double fall = 0.0;    // 0: round
  double common = 0.0;  // a mean of all rows, in the length of a row
  double rare = 1.0;    // share of each class in that of the one before it
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{{"round_64", 6000, 64, 5, 0.5},
                                      {"round_of_ten", 6000, 64, 10, 0.35},
                                      {"round_16", 1000, 16, 3, 0.8},
                                      {"round_and_few", 1000, 32, 4, 0.8},
                                      {"round_128", 3000, 128, 8, 0.4},
                                      {"two", 3000, 24, 2, 0.4, 0.0, 0.0, 0.4},
                                      {"falling", 4000, 100, 10, 0.5, 0.7, 1.5},
                                      {"slowly_falling", 3000, 80, 6, 0.5, 0.35, 0.5},
                                      {"about_a_mean", 2000, 40, 4, 0.6, 0.3, 3.0},
                                      {"uneven_classes", 4000, 48, 5, 0.6, 0.4, 0.5, 0.6}};
  return all;
}

struct Rows {
  std::vector<float> x;
  std::vector<std::int64_t> y;
};

Rows rows_of(const Shape& shape) {
  std::mt19937_64 engine(17);
  std::normal_distribution<double> normal;
  std::vector<double> deviations(shape.dim);
  for (std::size_t a = 0; a < shape.dim; ++a) deviations[a] = std::pow(1.0 + static_cast<double>(a), -shape.fall);
  const double length = std::sqrt(std::inner_product(deviations.begin(), deviations.end(), deviations.begin(), 0.0));
  std::vector<double> centers(shape.classes * shape.dim);
  for (std::size_t e = 0; e < centers.size(); ++e)
    centers[e] = shape.distance * deviations[e % shape.dim] * normal(engine);
  std::vector<double> shares(shape.classes);
  for (std::size_t c = 0; c < shape.classes; ++c) shares[c] = std::pow(shape.rare, static_cast<double>(c));
  std::discrete_distribution<std::size_t> draw(shares.begin(), shares.end());
  const double of_all = shape.common * length / std::sqrt(static_cast<double>(shape.dim));
  Rows rows;
  for (std::size_t i = 0; i < shape.rows + kTestRows; ++i) {
    const std::size_t label = draw(engine);
    rows.y.push_back(static_cast<std::int64_t>(label));
    for (std::size_t a = 0; a < shape.dim; ++a) {
      rows.x.push_back(static_cast<float>(centers[label * shape.dim + a] + deviations[a] * normal(engine) + of_all));
    }
  }
  return rows;
}

// Of one method and budget, over seeds.
struct Accuracies {
  double median;
  double error;  // of the median
};

Accuracies accuracies_of(const Shape& shape, const Rows& rows, const MethodEntry& method, double epsilon) {
  const std::span<const float> test_x = std::span(rows.x).subspan(shape.rows * shape.dim);
  std::vector<double> found;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    FitOptions options;
    options.data.classes = shape.classes;
    options.method.name = method.name;
    options.privacy = {.budget = {{.epsilon = epsilon, .delta = 1e-6}}, .seed = seed};
    options.machine.threads = 1;
    const FittedRun run = fitted_run(options, first_rows(shape.rows, rows.x, shape.dim, rows.y));
    found.push_back(accuracy_of(run.classifier, test_x, std::span(rows.y).subspan(shape.rows)));
  }
  std::ranges::sort(found);
  const double mean = std::accumulate(found.begin(), found.end(), 0.0) / static_cast<double>(kSeeds);
  double squares = 0.0;
  for (const double one : found) squares += (one - mean) * (one - mean);
  constexpr double kOfMedian = 1.2533;  // its error beside that of a mean
  return {found[kSeeds / 2], kOfMedian * std::sqrt(squares / static_cast<double>(kSeeds * (kSeeds - 1)))};
}

class MoreBudget : public testing::TestWithParam<std::size_t> {};

TEST_P(MoreBudget, MakesNoWorseModel) {
  constexpr double kPoint = 0.01;
  constexpr double kErrors = 3.0;  // there are hundreds of comparisons
  constexpr double kFarBehind = 0.1;
  const Shape& shape = shapes()[GetParam()];
  const Rows rows = rows_of(shape);
  std::map<double, std::map<std::string_view, double>> medians;
  for (const MethodEntry* method : all_methods()) {
    if (method->chooses_public_rows || method->name == "prototypes") continue;  // of public rows
    std::optional<Accuracies> before;
    for (const double epsilon : {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4}) {
      const Accuracies now = accuracies_of(shape, rows, *method, epsilon);
      medians[epsilon][method->name] = now.median;
      if (before) {
        EXPECT_GE(now.median, before->median - kPoint - kErrors * std::hypot(now.error, before->error))
            << shape.name << ", --method " << method->name << ", epsilon " << epsilon << " after its half";
      }
      before = now;
    }
  }
  if (shape.fall > 0.0) return;
  for (const auto& [epsilon, of_methods] : medians) {
    EXPECT_GE(of_methods.at("auto"), of_methods.at("mean") - kFarBehind) << shape.name << ", epsilon " << epsilon;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, MoreBudget, testing::Range<std::size_t>(0, 10),
                         [](const auto& of) { return shapes()[of.param].name; });

}  // namespace dpreduce::more_budget_test
