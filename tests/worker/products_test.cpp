// Gram matrices, class sums, gradients and Hessians over a worker's rows, against sums written out over the same
// lattice rows.

#include "common/data/memory_array.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/testing.hpp"
#include "tests/worker/drawn_numbers.hpp"
#include "worker/residuals.hpp"
#include "worker/statistics/registered_statistics.hpp"
#include "worker/utilities.hpp"

namespace dpreduce::products_test {

constexpr std::size_t kRows = 301;
constexpr std::size_t kInputDim = 19;
constexpr std::size_t kClasses = 4;

class ProductsTest : public testing::Test {
 protected:
  ProductsTest() : transform_({kInputDim, 1, Normalize::kL2, 2.0, {}, 0.1}) {
    std::mt19937 engine(9);
    x_ = normal_numbers<float>(engine, kRows * kInputDim);
    labels_ = random_labels(engine, kRows, kClasses);
    std::vector<double> row(dim());
    for (std::size_t i = 0; i < kRows; ++i) {
      transform_(std::span(x_).subspan(i * kInputDim, kInputDim), row);
      rows_.emplace_back(dim());
      quantize_row(row, lattice(), rows_.back());
    }
  }

  template <typename Check>
  static void for_each_way(const Check& check) {
    for (const unsigned threads : {1U, 3U}) {
      for (const std::size_t memory : {std::size_t{2000}, std::size_t{1} << 20}) check(threads, memory);
    }
  }
  LatticeWeights drawn_weights() const {
    std::mt19937 engine(4);
    return {normal_numbers(engine, kClasses * dim()), lattice()};
  }

  // Of a row and the weights of each class.
  std::vector<std::int64_t> products(std::size_t row, const LatticeWeights& weights) const {
    std::vector<std::int64_t> sums(kClasses, 0);
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t a = 0; a < dim(); ++a) sums[c] += std::int64_t{rows_[row][a]} * weights.values()[c * dim() + a];
    }
    return sums;
  }

  std::size_t dim() const { return transform_.output_dim(); }
  Lattice lattice() const { return {2.0, dim()}; }

  Statistic statistic(std::string_view release, unsigned threads, std::size_t memory,
                      const PublicPoint& point = {}) const {
    ReleaseTerms terms{.classes = kClasses, .dim = dim()};
    if (const auto* const at = std::get_if<GradientPoint>(&point)) terms.loss = at->loss;
    const StatisticEntry& registered = registered_statistic(release);
    WorkerRows worker = WorkerRows::in_memory(array_view(x_, kInputDim), array_view(labels_), "x", "y");
    const StreamPlan plan{kClasses, BadRows::kFail, memory, threads};
    return registered.compute(registered.request(terms, 1.0), {{worker, transform_, plan, kUnwatched}, point});
  }

  std::vector<float> x_;
  RowTransform transform_;
  std::vector<std::vector<std::int16_t>> rows_;
  std::vector<std::int32_t> labels_;
};

TEST_F(ProductsTest, SumsOfRowsAndOfTheirProductsAreExactWhateverTheChunksAndThreads) {
  std::map<std::string, std::vector<std::int64_t>> expected{{"class_counts", std::vector<std::int64_t>(kClasses)},
                                                            {"class_sums", std::vector<std::int64_t>(kClasses * dim())},
                                                            {"second_moments", std::vector<std::int64_t>(dim())},
                                                            {"gram", {}}};
  for (std::size_t a = 0; a < dim(); ++a) {
    for (std::size_t b = a; b < dim(); ++b) {
      expected["gram"].push_back(0);
      for (const auto& row : rows_) expected["gram"].back() += std::int64_t{row[a]} * row[b];
    }
    expected["second_moments"][a] = expected["gram"][triangle_row(a, dim())];
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto label = static_cast<std::size_t>(labels_[i]);
    ++expected["class_counts"][label];
    for (std::size_t a = 0; a < dim(); ++a) expected["class_sums"][label * dim() + a] += rows_[i][a];
  }
  for_each_way([&](unsigned threads, std::size_t memory) {
    const auto expect_exact = [&](const char* release, const std::vector<std::string>& blocks) {
      const Statistic found = statistic(release, threads, memory);
      for (const std::string& block : blocks) {
        EXPECT_TRUE(std::ranges::equal(found.block(found.index_of(block)), expected[block])) << release << " " << block;
      }
    };
    expect_exact("gram", {"gram"});
    expect_exact("feature_sums", {"class_sums"});
    expect_exact("least_squares", {"gram", "class_sums"});
    expect_exact("fisher", {"class_counts", "second_moments", "class_sums"});
  });
}

// v <- softmax(v)
void to_probabilities(std::vector<double>& v) {
  double sum = 0.0;
  for (double& entry : v) sum += entry = std::exp(entry);
  for (double& entry : v) entry /= sum;
}

// Candidate 1 is candidate 0 with longer weights for class 2; candidate 2 scores every class alike, so that a second
// head alone decides.
TEST_F(ProductsTest, CorrectRowsAreCountedForEveryCandidate) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  std::vector<double> w(kClasses * dim());
  for (double& entry : w) entry = 0.3 * normal(engine);
  std::vector<LatticeWeights> candidates{{w, lattice()}};
  for (std::size_t a = 0; a < dim(); ++a) w[2 * dim() + a] *= 3.0;
  candidates.emplace_back(w, lattice());
  candidates.emplace_back(std::vector<double>(w.size(), 0.0), lattice());
  for (std::size_t e = 0; e < w.size(); ++e) w[e] = e % dim() < kInputDim ? normal(engine) : 0.0;
  const LatticeWeights directions(w, lattice());
  const Prior head{directions, kInputDim};

  const auto cosine = [&](std::size_t row, std::size_t c) {
    double row_squares = 0.0;
    double squares = 0.0;
    for (std::size_t a = 0; a < kInputDim; ++a) {
      row_squares += std::pow(static_cast<double>(rows_[row][a]), 2);
      squares += std::pow(static_cast<double>(directions.values()[c * dim() + a]), 2);
    }
    return static_cast<double>(products(row, directions)[c]) / std::sqrt(row_squares * squares);
  };
  for (const Prior& prior : {Prior{}, head}) {
    std::vector<std::int64_t> expected(candidates.size(), 0);
    for (std::size_t m = 0; m < candidates.size(); ++m) {
      for (std::size_t i = 0; i < kRows; ++i) {
        std::vector<double> scores(kClasses);
        std::vector<double> cosines(kClasses);
        const std::vector<std::int64_t> of_classes = products(i, candidates[m]);
        for (std::size_t c = 0; c < kClasses; ++c) {
          scores[c] = candidates[m].factors()[c] * static_cast<double>(of_classes[c]);
          cosines[c] = cosine(i, c);
        }
        if (prior.directions) {
          to_probabilities(scores);
          to_probabilities(cosines);
          for (std::size_t c = 0; c < kClasses; ++c) scores[c] += cosines[c];
        }
        expected[m] += std::max_element(scores.begin(), scores.end()) - scores.begin() == labels_[i] ? 1 : 0;
      }
    }
    EXPECT_NE(expected[0], expected[1]);
    EXPECT_NE(expected[0], expected[2]);
    for_each_way([&](unsigned threads, std::size_t memory) {
      WorkerRows rows = WorkerRows::in_memory(array_view(x_, kInputDim), array_view(labels_), "x", "y");
      const StreamPlan plan{kClasses, BadRows::kFail, memory, threads};
      const Statistic counts = correct_counts(candidates, {{rows, transform_, plan, kUnwatched}}, prior);
      ASSERT_EQ(counts.shape(), (std::vector<BlockShape>{{"utilities", candidates.size()}}));
      EXPECT_TRUE(std::ranges::equal(expected, counts.block(0)));
    });
  }
}

TEST_F(ProductsTest, GradientsAreExactSumsOfResidualsTimesRows) {
  const LatticeWeights weights = drawn_weights();
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid, Loss::kSquare}) {
    const double bound = loss == Loss::kSoftmax ? 0.7 : 1.0;
    std::vector<std::int64_t> expected(kClasses * dim(), 0);
    for (std::size_t i = 0; i < kRows; ++i) {
      std::vector<double> scratch(kClasses);
      std::vector<std::int16_t> rho(kClasses);
      lattice_residual(products(i, weights), weights.factors(), {&labels_[i], 1}, loss, scratch, rho, {}, bound);
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t a = 0; a < dim(); ++a) expected[c * dim() + a] += std::int64_t{rho[c]} * rows_[i][a];
      }
    }
    const GradientPoint point{weights, loss};
    for_each_way([&](unsigned threads, std::size_t memory) {
      const Statistic gradient = statistic("gradient", threads, memory, point);
      ASSERT_TRUE(std::ranges::equal(gradient.block(0), expected));
    });
  }
}

// w_ic = p_ic (1 - p_ic) from the library's exponential; rows of at most two classes' doubt pass the bound unchanged.
TEST_F(ProductsTest, HessiansAreWeightedGramMatricesUpToRounding) {
  const LatticeWeights weights = drawn_weights();
  for (const Loss loss : {Loss::kSoftmax, Loss::kSigmoid}) {
    const std::size_t triangle = triangle_elements(dim());
    std::vector<double> expected(kClasses * triangle, 0.0);
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::vector<std::int64_t> of_classes = products(i, weights);
      std::vector<double> p(kClasses);
      double sum = 0.0;
      for (std::size_t c = 0; c < kClasses; ++c) {
        sum += p[c] = std::exp(weights.factors()[c] * static_cast<double>(of_classes[c]));
      }
      for (double& entry : p) entry = loss == Loss::kSoftmax ? entry / sum : entry / (1.0 + entry);
      for (std::size_t c = 0; c < kClasses; ++c) {
        for (std::size_t a = 0; a < dim(); ++a) {
          for (std::size_t b = a; b < dim(); ++b) {
            expected[c * triangle + triangle_row(a, dim()) + b - a] += p[c] * (1.0 - p[c]) * rows_[i][a] * rows_[i][b];
          }
        }
      }
    }
    const GradientPoint point{weights, loss};
    const Statistic first = statistic("newton", 1, std::size_t{1} << 20, point);
    const auto hessians = first.block(first.index_of("hessians"));
    ASSERT_EQ(hessians.size(), expected.size());
    for (std::size_t e = 0; e < expected.size(); ++e) {
      // Each product of two roundings is off by at most (|q_a| + |q_b| + 1) / 2 < S.
      ASSERT_NEAR(static_cast<double>(hessians[e]), expected[e], kRows * double{kLatticeNorm}) << e;
    }
    const Statistic gradient = statistic("gradient", 1, std::size_t{1} << 20, point);
    for_each_way([&](unsigned threads, std::size_t memory) {
      const Statistic again = statistic("newton", threads, memory, point);
      EXPECT_TRUE(std::ranges::equal(hessians, again.block(1)));
      EXPECT_TRUE(std::ranges::equal(again.block(0), gradient.block(0)));
    });
  }
}

}  // namespace dpreduce::products_test
