#include "dpreduce/privacy/declared_releases.hpp"

#include "dpreduce/config/error.hpp"
#include "dpreduce/lattice/lattice_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kSquaredNorm = std::uint64_t{kLatticeNorm} * std::uint64_t{kLatticeNorm};

}  // namespace

ReleaseRequest center_release(std::size_t dim, Adjacency adjacency, double share) {
  DPREDUCE_ASSERT(dim >= 1 && share > 0.0);
  std::vector<SensitivityProfile> profiles{{"one row more or less", {kSquaredNorm, 1}}};
  if (adjacency == Adjacency::kReplaceOne) profiles.push_back({"another row", {4 * kSquaredNorm, 0}});
  return {.name = "center",
          .share = share,
          .blocks = {{"row_sum", dim, static_cast<double>(dim)}, {"row_count", 1, static_cast<double>(kSquaredNorm)}},
          .profiles = std::move(profiles)};
}

ReleaseRequest class_means_release(std::size_t classes, std::size_t dim, Metric metric, Adjacency adjacency,
                                   double share) {
  DPREDUCE_ASSERT(classes >= 2 && dim >= 1 && share > 0.0);
  const double class_count = static_cast<double>(classes);
  ReleaseRequest request{.name = "class_means",
                         .share = share,
                         .blocks = {{"class_sums", classes * dim, class_count * static_cast<double>(dim)}},
                         .profiles = {}};
  if (adjacency == Adjacency::kAddRemove) {
    request.profiles = {{"one row more or less", {kSquaredNorm}}};
  } else {
    request.profiles = {{"another row of the same class", {4 * kSquaredNorm}}, {"another class", {2 * kSquaredNorm}}};
  }
  if (metric == Metric::kEuclidean) {
    request.blocks.push_back({"class_counts", classes, class_count * static_cast<double>(kSquaredNorm)});
    if (adjacency == Adjacency::kAddRemove) {
      request.profiles[0].squared_l2.push_back(1);
    } else {
      request.profiles[0].squared_l2.push_back(0);
      request.profiles[1].squared_l2.push_back(2);
    }
  }
  return request;
}

Statistic empty_statistic(const ReleaseRequest& request) {
  std::vector<BlockShape> shape;
  for (const BlockRequest& block : request.blocks) shape.push_back({block.name, block.elements});
  return Statistic(std::move(shape));
}

}  // namespace dpreduce
