// dpreduce synth partition: one data set as the files of simulated silos.
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/data/paths.hpp"
#include "common/simulation/silo_files.hpp"

namespace dpreduce {
namespace {

constexpr const char* kNote = "exact numbers of rows: for simulations on public data";

WorkerRows open_data_set(const PartitionOptions& options) {
  if (paths_are_per_worker(options.x) || paths_are_per_worker(options.y)) {
    throw UsageError("{rank} in --x or --y: the rows of one data set are cut into silos; name its files");
  }
  return WorkerRows::open(options.x, options.y, 0, 1);
}

void print(const PartitionOptions& options, const std::vector<SiloFiles>& files) {
  if (options.format == OutputFormat::kJson) {
    nlohmann::json silos = nlohmann::json::array();
    for (const SiloFiles& silo : files) {
      silos.push_back({{"x", silo.x}, {"y", silo.y}, {"rows", silo.rows}, {"class_counts", silo.class_counts}});
    }
    nlohmann::json json{{"scheme", to_string(options.scheme)},
                        {"seed", options.seed},
                        {"classes", options.classes},
                        {"note", kNote},
                        {"silos", silos}};
    if (options.alpha) json["alpha"] = *options.alpha;
    if (options.classes_per_silo) json["classes_per_silo"] = *options.classes_per_silo;
    if (options.rotation) json["rotation"] = *options.rotation;
    if (options.offset) json["offset"] = *options.offset;
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  for (const SiloFiles& silo : files) fmt::print("{}\n{}\n", silo.x, silo.y);
}

}  // namespace

void run_command(const PartitionOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    WorkerRows rows = open_data_set(options);
    const SiloSpec spec{.scheme = options.scheme,
                        .silos = options.silos,
                        .alpha = options.alpha.value_or(1.0),
                        .classes_per_silo = options.classes_per_silo.value_or(1),
                        .seed = options.seed};
    std::optional<ShiftSize> shift;
    if (options.scheme == Partition::kFeatureShift) {
      shift = {.rotation = options.rotation.value_or(0.0), .offset = options.offset.value_or(0.0)};
    }
    print(options, write_silos(rows, options.classes, spec, shift, options.out_dir, options.first_silo));
  });
}

}  // namespace dpreduce
