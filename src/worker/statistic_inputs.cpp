#include "dpreduce/worker/statistic_inputs.hpp"

namespace dpreduce {

void for_each_chunk(const StatisticInputs& inputs, const std::function<void(const LatticeRows&)>& visit) {
  if (inputs.kept == nullptr) {
    for_each_lattice_chunk(inputs.rows, inputs.transform, inputs.plan, visit, inputs.on_chunk);
    return;
  }
  double done = 0.0;
  for (const LatticeRows& chunk : *inputs.kept) {
    visit(chunk);
    done += 1.0;
    inputs.on_chunk(done / static_cast<double>(inputs.kept->size()));
  }
}

}  // namespace dpreduce
