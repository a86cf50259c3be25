#include <fmt/core.h>

#include "commands/commands.hpp"
#include "common/simulation/synthetic_files.hpp"

namespace dpreduce {
namespace {

SyntheticSpec spec_of(const SynthOptions& options) {
  return {.means = options.kind,
          .train_rows = options.rows,
          .test_rows = options.test_rows,
          .dim = options.dim,
          .classes = options.classes,
          .separation = options.separation,
          .spread = options.spread,
          .offset = options.offset,
          .train_noise = options.stochastic,
          .test_noise = options.test_stochastic,
          .adversarial = options.adversarial,
          .imbalance_ratio = options.imbalance_ratio,
          .max_labels = options.max_labels,
          .first_class_share = options.majority_share,
          .rows_per_person = options.rows_per_person,
          .seed = options.seed};
}

}  // namespace

void run_command(const SynthOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const SyntheticFiles files = write_synthetic(SyntheticRows(spec_of(options)), options.out_dir, options.shards,
                                                 options.overwrite ? Existing::kReplace : Existing::kKeep);
    for (const auto* paths : {&files.train_x, &files.train_y, &files.train_person, &files.test_x, &files.test_y}) {
      for (const std::string& path : *paths) fmt::print("{}\n", path);
    }
  });
}

}  // namespace dpreduce
