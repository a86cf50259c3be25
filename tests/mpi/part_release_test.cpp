// A release in parts over ranks.
#include "aggregator/release/part_release.hpp"

#include "aggregator/release/block_noise.hpp"
#include "aggregator/release/release.hpp"
#include "common/ledger/triangle.hpp"
#include "tests/common/ledger/charged_runs.hpp"
#include "tests/mpi/mpi_test.hpp"
#include "tests/temporary_folder.hpp"
#include "worker/statistics/registered_statistics.hpp"

namespace dpreduce::part_release_test {

constexpr std::size_t kClasses = 4;
constexpr std::size_t kDim = 120;
constexpr std::size_t kElements = triangle_elements(kDim);
using Values = std::vector<std::int64_t>;

ReleaseRequest request() {
  return registered_statistic("class_least_squares").request({.classes = kClasses, .dim = kDim, .alpha = 2.0}, 1.0);
}

class PartReleaseTest : public testing::Test {
 protected:
  Releaser releaser(const ReleaseRequest& of = request(), Communicator& ranks = test_ranks(),
                    std::optional<std::uint64_t> seed = 4) {
    return Releaser(ranks, make_noise_plan(1.0, Adjacency::kAddRemove, {of}), RunFile(),
                    {.ledger_path = ledger_, .seed = seed}, test_terms("ls"));
  }

  // Makes parts of a release, which has no other.
  static void make_parts(Releaser& run, const std::function<void(PartRelease&)>& make) {
    run.release_in_parts("class_least_squares", 0, [&](PartRelease& parts) {
      make(parts);
      return NamedIntegers{};
    });
  }

  // Part `number` of class_grams, all of whose elements sum up to `value` over ranks; on every rank.
  static Values gram(PartRelease& parts, std::size_t number, int owner, std::int64_t value = 0) {
    Values local(kElements, 0);
    if (test_ranks().rank() == test_ranks().size() - 1) local.assign(kElements, value);
    const PartRelease::Part part{number, owner, local};
    PartRelease::Pending pending = parts.start("class_grams", {&part, 1});
    pending.advance();
    const auto owned = pending.finish();
    EXPECT_EQ(owned.size(), test_ranks().rank() == owner ? 1U : 0U);
    std::vector<std::uint64_t> words(kElements, 0);
    if (!owned.empty()) {
      EXPECT_EQ(owned[0].first, number);
      words.assign(owned[0].second.values().begin(), owned[0].second.values().end());
    }
    test_ranks().sum_everywhere(words);
    return {words.begin(), words.end()};
  }

  const TemporaryFolder folder_;
  const std::string ledger_ = folder_ / "ledger";
};

TEST_F(PartReleaseTest, UnderASeedThePartsAreTheSameWhoeverOwnsThem) {
  const int last = test_ranks().size() - 1;
  Values a;
  Values b;
  Releaser first = releaser();
  make_parts(first, [&](PartRelease& parts) {
    a = gram(parts, 0, 0, 1000);
    b = gram(parts, 1, last, 1000);
    if (test_ranks().is_coordinator()) {
      EXPECT_TRUE(charges_of(ledger_).empty()) << "charged after its last part";
    }
  });
  Releaser second = releaser();  // another order, other owners
  make_parts(second, [&](PartRelease& parts) {
    EXPECT_EQ(gram(parts, 1, 0, 1000), b);
    EXPECT_EQ(gram(parts, 0, last, 1000), a);
  });
  if (test_ranks().is_coordinator()) {
    const auto records = charges_of(ledger_);
    ASSERT_EQ(records.size(), 2U) << "one charge a release";
    ASSERT_EQ(records[0].entry.blocks.size(), 3U);
    EXPECT_EQ(records[0].entry.blocks[0].name, "class_grams");
  }
}

// Three pieces, which no rank repeats: with five ranks some have none.
TEST_F(PartReleaseTest, RanksShareTheNoiseOfALongBlock) {
  constexpr std::size_t kLongDim = 570;
  const ReleaseRequest gram = registered_statistic("gram").request({.classes = 2, .dim = kLongDim}, 1.0);
  const auto statistic = [&](std::int64_t value) {
    Statistic local({{"gram", triangle_elements(kLongDim)}});
    std::ranges::fill(local.block(0), value);
    return local;
  };
  const int size = test_ranks().size();
  const Release over_ranks = releaser(gram).release("gram", statistic(test_ranks().rank() + 1));
  if (!test_ranks().is_coordinator()) return;
  Communicator alone = Communicator::alone();
  Releaser of_one = releaser(gram, alone);  // under the same seed
  const std::int64_t sum = size * (size + 1) / 2;
  const Release whole = of_one.release("gram", statistic(sum));
  const std::span<const std::int64_t> values = whole.block("gram").values();
  EXPECT_TRUE(std::ranges::equal(over_ranks.block("gram").values(), values));
  const double sigma = off_diagonal_sigma(whole.block("gram").sigma());
  for (std::size_t piece = 0; piece < 2; ++piece) {
    std::size_t equal = 0;
    double squares = 0.0;
    for (std::size_t e = piece * kNoisePiece; e < (piece + 1) * kNoisePiece; ++e) {
      equal += e + kNoisePiece < values.size() && values[e] == values[e + kNoisePiece] ? 1 : 0;
      squares += std::pow(static_cast<double>(values[e] - sum) / sigma, 2);
    }
    EXPECT_LE(equal, 1U);
    EXPECT_NEAR(squares / kNoisePiece, 1.0, 5.0 * std::sqrt(2.0 / kNoisePiece) + 2.0 * kLongDim / kNoisePiece);
  }
}

TEST_F(PartReleaseTest, NoTwoPartsAndNoTwoRunsShareNoise) {
  std::vector<Values> noises;
  for (int time = 0; time < 2; ++time) {
    Releaser run = releaser(request(), test_ranks(), std::nullopt);
    make_parts(run, [&](PartRelease& parts) {
      noises.push_back(gram(parts, 0, 0));
      noises.push_back(gram(parts, 1, test_ranks().size() - 1));
    });
  }
  // sigma is above 2^29: two numbers agree with probability below 1e-9, and 7260 pairs with 1e-5.
  for (std::size_t i = 0; i < noises.size(); ++i) {
    for (std::size_t j = i + 1; j < noises.size(); ++j) {
      std::size_t equal = 0;
      for (std::size_t e = 0; e < kElements; ++e) equal += noises[i][e] == noises[j][e] ? 1 : 0;
      EXPECT_LE(equal, 1U);
    }
  }
  if (test_ranks().is_coordinator()) {
    EXPECT_EQ(charges_of(ledger_).size(), 2U);
  }
}

// False alarm: each variance is within 5 standard errors but for 6e-7, twice; the noise is the same in every run.
TEST_F(PartReleaseTest, EveryPartHasThePlannedNoise) {
  Releaser run = releaser();
  double diagonal = 0.0;
  double beside = 0.0;
  const double sigma = make_noise_plan(1.0, Adjacency::kAddRemove, {request()})
                           .release("class_least_squares")
                           .block("class_grams")
                           .sigma;
  const auto add = [&](PartRelease& parts) {
    for (std::size_t number = 0; number < kClasses; ++number) {
      const Values values = gram(parts, number, static_cast<int>(number) % test_ranks().size());
      for (std::size_t i = 0; i < kDim; ++i) {
        for (std::size_t j = i; j < kDim; ++j) {
          const double entry = static_cast<double>(values[triangle_row(i, kDim) + j - i]) / sigma;
          (i == j ? diagonal : beside) += entry * entry;
        }
      }
    }
  };
  make_parts(run, add);
  const double diagonals = kClasses * kDim;
  const double besides = kClasses * kDim * (kDim - 1) / 2.0;
  EXPECT_NEAR(diagonal / diagonals, 1.0, 5.0 * std::sqrt(2.0 / diagonals));
  EXPECT_NEAR(beside / besides, 0.5, 5.0 * 0.5 * std::sqrt(2.0 / besides));
}

TEST_F(PartReleaseTest, NoPartIsMadeTwiceAndNoneIsTooLarge) {
  Releaser run = releaser();
  make_parts(run, [&](PartRelease& parts) {
    gram(parts, 0, 0);
    Values local(kElements);
    const PartRelease::Part same{0, 0, local};
    EXPECT_THROW(parts.start("class_grams", {&same, 1}), std::logic_error);
    Values more(kClasses * kElements);
    const PartRelease::Part large{1, 0, more};
    EXPECT_THROW(parts.start("class_grams", {&large, 1}), std::logic_error);
  });
}

TEST_F(PartReleaseTest, WithoutNoiseItIsTheSum) {
  Releaser exact(test_ranks());
  make_parts(exact, [&](PartRelease& parts) {
    EXPECT_EQ(gram(parts, 0, test_ranks().size() - 1, 12), Values(kElements, 12));
  });
}

}  // namespace dpreduce::part_release_test
