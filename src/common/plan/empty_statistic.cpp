#include "common/plan/empty_statistic.hpp"

#include <utility>
#include <vector>

namespace dpreduce {

Statistic empty_statistic(const ReleaseRequest& request) {
  std::vector<BlockShape> shape;
  for (const BlockRequest& block : request.blocks) shape.push_back({block.name, block.elements, block.fraction_bits});
  return Statistic(std::move(shape));
}

Statistic empty_utilities(const PlannedSelection& selection) {
  return Statistic({{"utilities", selection.terms.groups * selection.terms.candidates, selection.fraction_bits}});
}

}  // namespace dpreduce
