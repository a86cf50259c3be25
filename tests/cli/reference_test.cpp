// Models of `fit --non-private` against numbers made outside of this project by other formulations of the same
// equations: tests/data/reference/solvers.py, with NumPy and SciPy. Its legend says what differs.
#include "common/lattice/lattice_rows.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::reference_test {

const std::string kReference = DPREDUCE_TEST_DATA "/reference/";
constexpr double kTolerance = 1e-6;

std::vector<json> reference_cases() {
  std::ifstream file(kReference + "solvers.json");
  return json::parse(file).get<std::vector<json>>();
}

std::vector<double> flat(const json& matrix) {
  std::vector<double> entries;
  for (const json& row : matrix) {
    for (const json& entry : row) entries.push_back(entry.get<double>());
  }
  return entries;
}

double largest(const std::vector<double>& entries) {
  double result = 0.0;
  for (const double entry : entries) result = std::max(result, std::abs(entry));
  return result;
}

// Weights, K x d, as they act on rows before projection and selection, K x pooled_dim(): signs of components drop out.
std::vector<double> on_features(const std::vector<double>& weights, const ClassifierParts& model) {
  const Preprocessing& rows = model.preprocessing;
  const std::size_t pooled = rows.pooled_dim();
  std::vector<double> result(model.classes * pooled, 0.0);
  for (std::size_t c = 0; c < model.classes; ++c) {
    for (std::size_t place = 0; place < rows.dim(); ++place) {
      const double weight = weights[c * rows.dim() + place];
      const std::size_t feature = rows.selected.empty() ? place : rows.selected[place];
      if (rows.projection.empty()) {
        result[c * pooled + feature] += weight;
        continue;
      }
      for (std::size_t a = 0; a < pooled; ++a) {
        result[c * pooled + a] += weight * rows.projection[feature * pooled + a];
      }
    }
  }
  return result;
}

// How far on_features may be from what was solved for: a model keeps a projection as it is rounded to the
// lattice, each entry to half of 1 / 32767 of the largest one in its row.
double rounding_of_projection(const std::vector<double>& weights, const ClassifierParts& model) {
  const Preprocessing& rows = model.preprocessing;
  if (rows.projection.empty()) return 0.0;
  const std::size_t pooled = rows.pooled_dim();
  double most = 0.0;
  for (std::size_t c = 0; c < model.classes; ++c) {
    double sum = 0.0;
    for (std::size_t place = 0; place < rows.dim(); ++place) {
      const std::size_t feature = rows.selected.empty() ? place : rows.selected[place];
      const auto row = std::span(rows.projection).subspan(feature * pooled, pooled);
      const double half = largest({row.begin(), row.end()}) / kLatticeNorm / 2.0;
      sum += std::abs(weights[c * rows.dim() + place]) * half;
    }
    most = std::max(most, sum);
  }
  return most;
}

// Each of K rows with length 1.
std::vector<double> directions(std::vector<double> rows, std::size_t classes) {
  const std::size_t length = rows.size() / classes;
  for (std::size_t c = 0; c < classes; ++c) {
    const std::span<double> row = std::span(rows).subspan(c * length, length);
    const double norm = std::sqrt(squared_norm(row));
    for (double& entry : row) entry /= norm;
  }
  return rows;
}

void subtract_mean_of_classes(std::vector<double>& rows, std::size_t classes) {
  const std::size_t length = rows.size() / classes;
  for (std::size_t a = 0; a < length; ++a) {
    double mean = 0.0;
    for (std::size_t c = 0; c < classes; ++c) mean += rows[c * length + a] / static_cast<double>(classes);
    for (std::size_t c = 0; c < classes; ++c) rows[c * length + a] -= mean;
  }
}

// max |found - expected| / max |expected|, but for `slack`
void expect_close(const std::vector<double>& found, const std::vector<double>& expected, double tolerance,
                  double slack = 0.0) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t e = 0; e < found.size(); ++e) {
    ASSERT_NEAR(found[e], expected[e], tolerance * largest(expected) + slack) << "entry " << e;
  }
}

class ReferenceTest : public testing::TestWithParam<json> {
 protected:
  // Stored rows; those of two classes are the same rows with all labels above 0 in one class.
  ClassifierParts fit() const {
    const auto classes = GetParam().at("classes").get<std::int64_t>();
    for (const std::string name : {"x", "public_x"}) {
      write_bytes(folder_ / (name + ".npy"), read_bytes(kReference + "solvers_" + name + ".npy"));
    }
    write_labels(folder_ / "y.npy", labels(classes));
    const ProgramRun run = run_program(
        joined(split_arguments("fit --non-private --threads 1 --train-x x.npy --train-y y.npy --out model --classes " +
                               std::to_string(classes)),
               split_arguments(GetParam().at("options").get<std::string>())),
        {.folder = folder_.path()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return load_classifier(folder_ / "model").parts();
  }
  static std::vector<std::int64_t> labels(std::int64_t classes) {
    const std::string bytes = read_bytes(kReference + "solvers_y.npy");
    constexpr std::size_t kRows = 200;
    std::vector<std::int64_t> labels(kRows);
    std::memcpy(labels.data(), bytes.data() + bytes.size() - kRows * sizeof(std::int64_t),
                kRows * sizeof(std::int64_t));
    for (std::int64_t& label : labels) label = std::min(label, classes - 1);
    return labels;
  }

  TemporaryFolder folder_;
};

TEST_P(ReferenceTest, AnIndependentComputationGivesTheSameWeights) {
  const json& expected = GetParam();
  const double tolerance = expected.value("tolerance", kTolerance);
  const ClassifierParts model = fit();
  std::vector<double> weights = on_features(model.weights, model);
  std::vector<double> bias = model.bias;
  if (expected.value("mean_is_free", false)) {
    subtract_mean_of_classes(weights, model.classes);
    subtract_mean_of_classes(bias, model.classes);
  }
  // Twice: the mean of classes that is taken off is off by as much.
  expect_close(weights, flat(expected.at("weights")), tolerance, 2.0 * rounding_of_projection(model.weights, model));
  expect_close(bias, expected.at("bias").get<std::vector<double>>(), tolerance);
  ASSERT_EQ(model.cosine_head.empty(), !expected.contains("prototypes"));
  if (model.cosine_head.empty()) return;
  const std::vector<double> prototypes = directions(model.cosine_head, model.classes);
  expect_close(on_features(prototypes, model), flat(expected.at("prototypes")), tolerance,
               rounding_of_projection(prototypes, model));
}

INSTANTIATE_TEST_SUITE_P(Solvers, ReferenceTest, testing::ValuesIn(reference_cases()),
                         [](const testing::TestParamInfo<json>& instance) {
                           return instance.param.at("name").get<std::string>();
                         });

}  // namespace dpreduce::reference_test
