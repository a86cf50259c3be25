// dpreduce synth partition: one data set as the files of simulated silos.
#include "commands/commands.hpp"
#include "common/base/paths.hpp"
#include "common/data/simulation.hpp"

namespace dpreduce {
namespace {

struct PartitionOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;
  std::string out_dir;
  std::size_t classes = 0;
  std::size_t silos = 0;
  std::size_t first_silo = 1;  // number of the first
  Partition scheme = Partition::kIid;
  std::optional<double> alpha;                  // of the Dirichlet distribution; kDirichlet, kQuantity
  std::optional<std::size_t> classes_per_silo;  // kClasses
  std::optional<double> rotation;               // degrees; kFeatureShift
  std::optional<double> offset;                 // of each feature; kFeatureShift
  std::uint64_t seed = 0;
  OutputFormat format = OutputFormat::kText;
};

constexpr std::size_t kMostPartitions = std::size_t{1} << 20;

PartitionOptions validated(PartitionOptions options) {
  require_classes(options.classes);
  if (options.out_dir.empty()) throw UsageError("--out: a folder is needed");
  if (options.classes_per_silo) {
    const std::size_t held = *options.classes_per_silo;
    if (held < 1 || held > options.classes) {
      throw UsageError("--classes-per-silo {}: must be from 1 to {}, the number of classes", held, options.classes);
    }
    if (options.silos < (options.classes + held - 1) / held) {
      throw UsageError(
          "--classes-per-silo {}: {} silos hold at most {} of {} classes, and every row needs a silo; give "
          "more silos or classes",
          held, options.silos, options.silos * held, options.classes);
    }
  }
  if (options.scheme == Partition::kFeatureShift && !options.rotation && !options.offset) {
    throw UsageError("--scheme feature-shift: give the size of the shift with --rotation or --offset");
  }
  return options;
}

WorkerRows open_data_set(const PartitionOptions& options) {
  if (paths_are_per_worker(options.x) || paths_are_per_worker(options.y)) {
    throw UsageError("{rank} in --x or --y: one data set is split into silos; give its files without {rank}");
  }
  return WorkerRows::open(options.x, options.y, 0, 1);
}

void print(const PartitionOptions& options, const std::vector<SiloFiles>& files) {
  nlohmann::json silos = nlohmann::json::array();
  std::string paths;
  for (const SiloFiles& silo : files) {
    silos.push_back({{"x", silo.x}, {"y", silo.y}, {"rows", silo.rows}, {"class_counts", silo.class_counts}});
    paths += fmt::format("{}\n{}\n", silo.x, silo.y);
  }
  nlohmann::json json{{"scheme", to_string(options.scheme)},
                      {"seed", options.seed},
                      {"classes", options.classes},
                      {"note", "exact numbers of rows: for simulations on public data"},
                      {"silos", silos}};
  if (options.alpha) json["alpha"] = *options.alpha;
  if (options.classes_per_silo) json["classes_per_silo"] = *options.classes_per_silo;
  if (options.rotation) json["rotation"] = *options.rotation;
  if (options.offset) json["offset"] = *options.offset;
  print_result(options.format, json, [&] { return paths; });
}

void run(const PartitionOptions& options) {
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
}

void declare(OptionTable& table, PartitionOptions& options) {
  table.files("--x", options.x, "features").required();
  table.files("--y", options.y, "labels").required();
  table.text("--out", options.out_dir, "folder for silo1/x.npy, silo1/y.npy, silo2/x.npy, ...").required().typed("DIR");
  table.count("--classes", options.classes, "K").required().defaults_to("");
  table.count("--silos", options.silos, "how many").from(1, kMostPartitions).required().defaults_to("");
  table
      .count("--first-silo", options.first_silo,
             "number of the first silo: 1 for --secure-aggregation, 0 for plain ranks")
      .from(0, kMostPartitions);
  table.choice("--scheme", options.scheme, "rule that assigns rows to silos");
  table
      .number("--alpha", options.alpha,
              "dirichlet, quantity: shares are drawn from Dirichlet(alpha, ..., alpha); small: uneven")
      .positive();
  table.count("--classes-per-silo", options.classes_per_silo, "classes: number of classes in each silo");
  table
      .number("--rotation", options.rotation,
              "feature-shift: angle in degrees by which each silo rotates its rows, in its own plane")
      .from(0, 180);
  table.number("--offset", options.offset, "feature-shift: shift of each feature, with the silo's own signs")
      .positive();
  for (const auto& [scheme, size] :
       {std::pair{"--scheme dirichlet|quantity", "--alpha"}, std::pair{"--scheme classes", "--classes-per-silo"}}) {
    table.needs(scheme, size);
    table.needs(size, scheme);
  }
  for (const char* own : {"--rotation", "--offset"}) table.needs(own, "--scheme feature-shift");
  table.count("--seed", options.seed, "same seed, same bytes");
}

}  // namespace

CommandEntry partition_command() {
  return command_reading<PartitionOptions>(
      "partition", "split a public data set into the files of simulated silos", declare,
      [](const auto& options, auto&) { return by_coordinator(run, validated(options)); },
      "  dpreduce synth partition --x x.npy --y y.npy --classes 10 --silos 8 --scheme dirichlet --alpha 0.3 --out "
      "silos\n"
      "  dpreduce synth partition --x 'x_*.npy' --y 'y_*.npy' --classes 10 --silos 5 --scheme classes "
      "--classes-per-silo 2 --out silos --format json\n"
      "  mpirun -n 9 dpreduce fit --secure-aggregation --train-x 'silos/silo{rank}/x.npy' --train-y "
      "'silos/silo{rank}/y.npy' --classes 10 --mu 1\n"
      "Ranks without --secure-aggregation count from 0, and so must their silos:\n"
      "  dpreduce synth partition --x x.npy --y y.npy --classes 10 --silos 8 --first-silo 0 --out plain\n"
      "  mpirun -n 8 dpreduce fit --train-x 'plain/silo{rank}/x.npy' --train-y 'plain/silo{rank}/y.npy' --classes 10 "
      "--mu 1",
      "The exact rows and classes of each silo are printed: for simulations, not for private data.\n");
}

}  // namespace dpreduce
