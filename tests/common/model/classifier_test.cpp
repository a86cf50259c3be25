#include "common/model/classifier.hpp"

#include "common/base/error.hpp"
#include "tests/common/special_values.hpp"
#include "tests/testing.hpp"

namespace dpreduce::classifier_test {

// Two classes, two features, rows taken as they are (norm at most 100).
ClassifierParts small_parts() {
  ClassifierParts parts;
  parts.method = "ls";
  parts.preprocessing = {.input_dim = 2, .pool = 1, .normalize = Normalize::kNone, .clip_norm = 100.0, .center = {}};
  parts.classes = 2;
  parts.weights = {1.0, 2.0, 3.0, -1.0};
  parts.bias = {0.5, 0.0};
  return parts;
}

ClassifierParts random_parts(std::size_t classes, std::size_t input_dim, std::size_t pool, bool second_head) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  const auto draw = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    return values;
  };
  ClassifierParts parts;
  parts.method = "fc";
  parts.preprocessing = {
      .input_dim = input_dim, .pool = pool, .normalize = Normalize::kL2, .clip_norm = 2.0, .center = {}};
  const std::size_t dim = parts.preprocessing.dim();
  parts.preprocessing.center = draw(dim);
  parts.classes = classes;
  parts.weights = draw(classes * dim);
  parts.bias = draw(classes);
  if (second_head) parts.cosine_head = draw(classes * dim);
  return parts;
}

std::vector<float> random_rows(std::size_t count) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> rows(count);
  for (float& value : rows) value = normal(random);
  return rows;
}

std::vector<double> naive_softmax(std::vector<double> v) {
  double sum = 0.0;
  for (const double entry : v) sum += std::exp(entry);
  for (double& entry : v) entry = std::exp(entry) / sum;
  return v;
}

// The equations of the header, one row at a time.
std::vector<double> naive_scores(const ClassifierParts& parts, std::span<const float> row) {
  const RowTransform transform(parts.preprocessing);
  const std::size_t dim = transform.output_dim();
  std::vector<double> u(dim);
  transform(row, u);
  std::vector<double> g(parts.classes);
  std::vector<double> h(parts.classes);
  for (std::size_t label = 0; label < parts.classes; ++label) {
    double product = 0.0;
    double uu = 0.0;
    double cc = 0.0;
    double uc = 0.0;
    for (std::size_t a = 0; a < dim; ++a) {
      product += u[a] * parts.weights[label * dim + a];
      if (parts.cosine_head.empty()) continue;
      const double c = parts.cosine_head[label * dim + a];
      uu += u[a] * u[a];
      cc += c * c;
      uc += u[a] * c;
    }
    g[label] = product + parts.bias[label];
    h[label] = uu * cc > 0.0 ? uc / std::sqrt(uu * cc) : 0.0;
  }
  if (parts.cosine_head.empty()) return g;
  g = naive_softmax(g);
  h = naive_softmax(h);
  for (std::size_t label = 0; label < parts.classes; ++label) g[label] += h[label];
  return g;
}

TEST(Classifier, ScoresByHandWithTheCenterSubtractedAfterClippingAndTheRowClippedAgain) {
  ClassifierParts parts = small_parts();
  parts.weights = {1.0, 0.0, 0.0, 1.0};
  parts.bias = {0.0, 0.0};
  parts.preprocessing.normalize = Normalize::kL2;
  parts.preprocessing.clip_norm = 5.0;
  parts.preprocessing.center = {0.0, 4.0};
  // (6, 8) has norm 10: u = (3, 4), less the center (3, 0), at norm 5 again (5, 0).
  EXPECT_EQ(Classifier(parts).predict_scores(std::vector<float>{6.0F, 8.0F}), (std::vector<double>{5.0, 0.0}));
  const Classifier classifier(small_parts());
  const std::vector<float> rows = {1.0F, 1.0F, 2.0F, 0.0F};
  EXPECT_EQ(classifier.predict_scores(rows), (std::vector<double>{3.5, 2.0, 2.5, 6.0}));
  EXPECT_EQ(classifier.predict_labels(rows), (std::vector<std::int32_t>{0, 1}));
}

TEST(Classifier, TiesGoToTheSmallestClass) {
  ClassifierParts parts = small_parts();
  parts.weights.assign(4, 0.0);
  parts.bias = {1.0, 1.0};
  EXPECT_EQ(Classifier(parts).predict_labels(std::vector<float>{1.0F, 2.0F}), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(argmax(std::vector<double>{1.0, 3.0, 3.0}), 1);
  EXPECT_EQ(argmax(std::vector<double>{kNan, -1.0, kNan}), 1);
  EXPECT_EQ(argmax(std::vector<double>{-kInfinity, -kInfinity}), 0);
}

TEST(LargestClasses, AreSortedByScoreAndThenByClass) {
  const std::vector<double> scores{1.0, 3.0, -2.0, 3.0, 1.0};
  EXPECT_EQ(largest_classes(scores, 1), (std::vector<std::int32_t>{argmax(scores)}));
  EXPECT_EQ(largest_classes(scores, 3), (std::vector<std::int32_t>{1, 3, 0}));
  EXPECT_EQ(largest_classes(scores, 5), (std::vector<std::int32_t>{1, 3, 0, 4, 2}));
  EXPECT_TRUE(largest_classes(scores, 0).empty());
  EXPECT_THROW(largest_classes(scores, 6), std::logic_error);
}

TEST(Classifier, OneHeadEqualsThePlainLoopsBitForBit) {
  const ClassifierParts parts = random_parts(11, 37, 3, false);
  const Classifier classifier(parts);
  const std::vector<float> rows = random_rows(70 * 37);
  const std::vector<double> scores = classifier.predict_scores(rows);
  const std::vector<std::int32_t> labels = classifier.predict_labels(rows);
  for (std::size_t row = 0; row < 70; ++row) {
    const std::vector<double> expected = naive_scores(parts, std::span(rows).subspan(row * 37, 37));
    EXPECT_EQ(std::memcmp(&scores[row * 11], expected.data(), 11 * sizeof(double)), 0) << row;
    EXPECT_EQ(labels[row], argmax(expected));
  }
}

// Entries are at most 2 and sums of d = 13 products: a few dozen roundings.
TEST(Classifier, TwoHeadsEqualThePlainLoops) {
  const ClassifierParts parts = random_parts(11, 37, 3, true);
  const std::vector<float> rows = random_rows(70 * 37);
  const std::vector<double> scores = Classifier(parts).predict_scores(rows);
  for (std::size_t row = 0; row < 70; ++row) {
    const std::vector<double> expected = naive_scores(parts, std::span(rows).subspan(row * 37, 37));
    for (std::size_t label = 0; label < 11; ++label) {
      EXPECT_NEAR(scores[row * 11 + label], expected[label], 200 * std::numeric_limits<double>::epsilon());
    }
  }
}

TEST(Classifier, AZeroRowAndAZeroPrototypeHaveCosineZeroAndLargeLogitsDoNotOverflow) {
  ClassifierParts parts = small_parts();
  parts.weights.assign(4, 0.0);
  parts.bias = {0.0, 0.0};
  parts.cosine_head = {0.0, 0.0, 0.0, 3.0};
  const std::vector<double> scores = Classifier(parts).predict_scores(std::vector<float>{0.0F, 0.0F, 0.0F, -2.0F});
  EXPECT_EQ(scores[0], 1.0);
  EXPECT_EQ(scores[1], 1.0);
  EXPECT_DOUBLE_EQ(scores[2], 0.5 + 1.0 / (1.0 + std::exp(-1.0)));  // cosines 0 and -1
  EXPECT_DOUBLE_EQ(scores[2] + scores[3], 2.0);
  ClassifierParts large = small_parts();
  large.bias = {1e300, 0.0};
  large.cosine_head = {1.0, 0.0, 0.0, 1.0};
  const std::vector<double> sums = Classifier(large).predict_scores(std::vector<float>{1.0F, 1.0F});
  EXPECT_DOUBLE_EQ(sums[0], 1.5);
  EXPECT_DOUBLE_EQ(sums[1], 0.5);
}

TEST(Classifier, ARowsScoresDoNotDependOnOtherRowsOrThreads) {
  const std::vector<float> rows = random_rows(101 * 20);
  for (const bool second_head : {false, true}) {
    SCOPED_TRACE(second_head);
    const Classifier classifier(random_parts(9, 20, 1, second_head));
    const std::vector<double> together = classifier.predict_scores(rows);
    for (const unsigned threads : {2U, 7U}) EXPECT_EQ(classifier.predict_scores(rows, threads), together);
    for (std::size_t row = 0; row < 101; ++row) {
      const std::vector<double> alone = classifier.predict_scores(std::span(rows).subspan(row * 20, 20));
      EXPECT_EQ(std::memcmp(alone.data(), &together[row * 9], 9 * sizeof(double)), 0) << row;
    }
  }
}

TEST(Classifier, NoRowsHaveNoLabelsAndRowsOfAnotherWidthAreRefused) {
  EXPECT_TRUE(Classifier(small_parts()).predict_labels({}).empty());
  EXPECT_TRUE(Classifier(small_parts()).predict_scores({}, 3).empty());
  expect_refusal<BadInput>([] { Classifier(small_parts()).predict_scores(std::vector<float>(3)); },
                           {"the model needs 2 per row"});
  EXPECT_THROW(Classifier(small_parts()).predict_labels(std::vector<float>(5)), BadInput);
}

TEST(Classifier, TheFirstBadRowIsNamedWhateverTheThreads) {
  const Classifier classifier(small_parts());
  std::vector<float> rows(2 * 200, 1.0F);
  rows[2 * 190] = std::numeric_limits<float>::quiet_NaN();
  rows[2 * 77 + 1] = std::numeric_limits<float>::infinity();
  for (const unsigned threads : {1U, 4U}) {
    expect_refusal<BadInput>([&] { classifier.predict_labels(rows, threads, 1000); },
                             {"row 1077 has a NaN or an infinity"});
  }
}

const PrivacyStatement kStatement = {.epsilon = 1.0, .delta = 1e-5, .mu = 0.3, .rho = {}};

TEST(Classifier, MistakesAreRefusedWithTheirReason) {
  const Spoils<ClassifierParts> mistakes{
      {[](auto& p) { p.classes = 1; }, "classes: 1"},
      {[](auto& p) { p.classes = std::size_t{1} << 40; }, "classes: "},
      {[](auto& p) { p.preprocessing.input_dim = 0; }, "at least one feature"},
      {[](auto& p) { p.preprocessing.input_dim = std::size_t{1} << 40; }, "input_dim"},
      {[](auto& p) { p.preprocessing.pool = 0; }, "pool"},
      {[](auto& p) { p.preprocessing.pool = SIZE_MAX; }, "pool"},
      {[](auto& p) { p.preprocessing.clip_norm = -1.0; }, "clip"},
      {[](auto& p) { p.preprocessing.center.assign(3, 1.0); }, "center"},
      {[](auto& p) { p.preprocessing.center.assign(2, kInfinity); }, "center has inf at entry 0"},
      {[](auto& p) { p.weights.pop_back(); }, "weights has 3 entries instead of 4"},
      {[](auto& p) { p.weights[3] = kNan; }, "weights has nan at entry 3"},
      {[](auto& p) { p.bias.push_back(0); }, "bias has 3"},
      {[](auto& p) { p.bias[1] = kInfinity; }, "bias has inf"},
      {[](auto& p) { p.cosine_head = {1.0}; }, "prototypes has 1"},
      {[](auto& p) { p.cosine_head.assign(4, kNan); }, "prototypes has nan"},
      {[](auto& p) { p.method.clear(); }, "method"},
      {[](auto& p) { p.method.assign(41, 'a'); }, "method"},
      {[](auto& p) { p.method = "l\ns"; }, "method"},
      {[](auto& p) { (p.privacy = kStatement)->epsilon = 0.0; }, "epsilon is 0"},
      {[](auto& p) { (p.privacy = kStatement)->epsilon = kNan; }, "epsilon is nan"},
      {[](auto& p) { (p.privacy = kStatement)->delta = 1.0; }, "delta is 1"},
      {[](auto& p) { (p.privacy = kStatement)->delta = -0.5; }, "delta is -0.5"},
      {[](auto& p) { (p.privacy = kStatement)->epsilon.reset(); }, "go together"},
      {[](auto& p) { (p.privacy = kStatement)->mu = kInfinity; }, "mu is inf"},
      {[](auto& p) { (p.privacy = kStatement)->rho = -1.0; }, "rho is -1"},
      {[](auto& p) { p.privacy = PrivacyStatement(); }, "is needed"},
      {[](auto& p) { (p.privacy = kStatement)->person = PersonStatement{.rows = 0}; }, "rows_per_person is 0"},
      {[](auto& p) { (p.privacy = kStatement)->person = PersonStatement{.silos = 0}; }, "silos_per_person is 0"},
  };
  for (const auto& [make, complaint] : mistakes) {
    ClassifierParts parts = small_parts();
    make(parts);
    expect_refusal<UsageError>([&] { Classifier classifier(parts); }, {complaint});
  }
}

}  // namespace dpreduce::classifier_test
