#include "dpreduce/audit/mean_run.hpp"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "dpreduce/audit/neighbour_rows.hpp"
#include "dpreduce/audit/private_folder.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 4;

struct Terms {
  Metric metric;
  Adjacency adjacency;
  Centering center;
};

MeanMethod method_of(const Terms& terms) {
  return MeanMethod(
      {.releases = {kClasses, kDim, terms.metric, terms.adjacency},
       .preprocessing = {.input_dim = kDim, .pool = 1, .normalize = Normalize::kNone, .clip_norm = 1.0, .center = {}},
       .center = terms.center,
       .center_share = 0.1,
       .mu = 1.0});
}

std::vector<NeighbourPair> pairs_of(const Terms& terms) {
  return worst_case_pairs({.classes = kClasses,
                           .dim = kDim,
                           .clip_norm = 1.0,
                           .other_rows = 3,
                           .balancing_rows = 4,
                           .adjacency = terms.adjacency});
}

MeanRun::Files write(const PrivateFolder& folder, const std::string& name, const LabelledRows& rows) {
  MeanRun::Files files{folder / (name + "_x.npy"), folder / (name + "_y.npy")};
  rows.write(files.x, files.y);
  return files;
}

class MeanRunTest : public testing::TestWithParam<Terms> {};

// sum_b D_b^2 / s_b^2 of the pair's exact statistics: the mu that this pair can show.
TEST_P(MeanRunTest, SomePairOfNeighboursCostsWhatThePlanPaysFor) {
  const MeanMethod method = method_of(GetParam());
  double worst = 0.0;
  for (const NeighbourPair& pair : pairs_of(GetParam())) {
    const PrivateFolder folder;
    const auto files = {write(folder, "0", pair.without), write(folder, "1", pair.with)};
    double cost = 0.0;
    for (const PlannedRelease& planned : method.plan().releases) {
      std::vector<Statistic> statistics;
      for (const MeanRun::Files& file : files) {
        WorkerRows rows = WorkerRows::open({file.x}, {file.y}, 0, 1);
        statistics.push_back(method.statistic(planned.name, rows, {}));
      }
      for (std::size_t b = 0; b < planned.blocks.size(); ++b) {
        for (std::size_t e = 0; e < planned.blocks[b].elements; ++e) {
          const auto difference = static_cast<double>(statistics[1].block(b)[e] - statistics[0].block(b)[e]);
          cost += std::pow(difference / planned.blocks[b].sigma, 2);
        }
      }
    }
    EXPECT_LE(std::sqrt(cost), method.plan().mu) << pair.name;
    worst = std::max(worst, std::sqrt(cost));
  }
  EXPECT_GT(worst, 0.999 * method.plan().mu);
}

TEST_P(MeanRunTest, EveryRunPublishesEveryNumberWithNoiseOfItsOwn) {
  const MeanMethod method = method_of(GetParam());
  const PrivateFolder folder;
  const NeighbourPair pair = pairs_of(GetParam()).front();
  MeanRun run(method, write(folder, "0", pair.without), write(folder, "1", pair.with), folder / "ledger.jsonl");
  std::size_t numbers = 0;
  for (const PlannedRelease& planned : method.plan().releases) {
    for (const PlannedBlock& block : planned.blocks) numbers += block.elements;
  }
  const std::vector<double> first = run.observe(World::kWithCanary);
  const std::vector<double> second = run.observe(World::kWithCanary);
  EXPECT_EQ(first.size(), numbers);
  EXPECT_EQ(second.size(), numbers);
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::filesystem::exists(folder / "ledger.jsonl"));
}

INSTANTIATE_TEST_SUITE_P(Terms, MeanRunTest,
                         testing::Values(Terms{Metric::kCosine, Adjacency::kAddRemove, Centering::kNone},
                                         Terms{Metric::kEuclidean, Adjacency::kAddRemove, Centering::kDp},
                                         Terms{Metric::kEuclidean, Adjacency::kReplaceOne, Centering::kNone},
                                         Terms{Metric::kCosine, Adjacency::kReplaceOne, Centering::kDp}));

}  // namespace
}  // namespace dpreduce
