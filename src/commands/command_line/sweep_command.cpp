#include "commands/command_line/sweep_command.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "commands/command_line/class_options.hpp"
#include "commands/command_line/command_entry.hpp"
#include "common/base/class_names.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {
namespace {

constexpr double kMostSeeds = 1e6;

}  // namespace

SweepOptions validated(SweepOptions options) {
  options.classes = classes_of(options.classes, options.train.class_names);
  check_classes(options.classes);
  check_class_names(options.train.class_names, options.classes);
  options.test.class_names = options.train.class_names;
  check_range("--seeds", static_cast<double>(options.seeds), 1, kMostSeeds);
  const auto check_once = [](const char* option, const auto& values) {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) throw UsageError(fmt::format("{} {}: occurs twice", option, *twice));
  };
  check_once("--methods", options.methods);
  check_once("--epsilons", options.epsilons);
  check_once("--imbalance", options.ratios);
  for (const double epsilon : options.epsilons) check_positive("--epsilons", epsilon);
  for (const double ratio : options.ratios) check_range("--imbalance", ratio, 1, kLargestImbalance);
  if (options.out.empty()) throw UsageError("--out: a file name is needed");
  const std::array<std::pair<const char*, std::string>, 4> outputs{{{"--out", options.out + ".csv"},
                                                                    {"--out", options.out + ".json"},
                                                                    {"--html", options.html},
                                                                    {"--metrics", options.metrics}}};
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    for (auto other = one + 1; other != outputs.end(); ++other) {
      if (one->second.empty() || other->second.empty() || !is_same_file(one->second, other->second)) continue;
      throw UsageError(
          fmt::format("{} and {} are both {}: they must be different files", one->first, other->first, other->second));
    }
  }
  check_range("--threads", options.threads, 0, kMostThreads);
  if (options.memory_mib) {
    check_range("--memory", static_cast<double>(*options.memory_mib), 1, static_cast<double>(kMostMemoryMib));
  }
  return options;
}

CommandEntry sweep_command() {
  const auto options = std::make_shared<SweepOptions>();
  CommandEntry command{.name = "sweep",
                       .help = "many fits on the same rows, into one table: an experiment, not private"};
  OptionTable& table = command.options;
  table.files("--train-x", options->train.x, "as in fit").required();
  table.files("--train-y", options->train.y, "one class index or name a row").required();
  table.files("--test-x", options->test.x, "features that every figure is about").required();
  table.files("--test-y", options->test.y, "their labels").required();
  table.files("--public-x", options->public_x, "as in fit, for the methods that take them");
  declare_classes(table, options->classes, options->train.class_names, "K").required();
  table.choice("--bad-rows", options->train.bad_rows, "as in fit");
  table.files("--methods", options->methods, "each what would follow --method of fit, with options of its own")
      .typed("TEXT,...")
      .split_at(',')
      .required();
  table.numbers("--epsilons", options->epsilons, "budgets, each with --delta").required();
  table.flag("--non-private", options->non_private, "every method without noise too, to compare with");
  table.number("--delta", options->delta, "of every budget; not spent by methods that are pure");
  table.numbers("--imbalance", options->ratios,
                "ratios of long tails to train on, as --imbalance-ratio of fit; 1: all rows");
  table.count("--seeds", options->seeds, "runs of every kind, with seeds 1, 2, ... for noise and long tail");
  table.choice("--adjacency", options->adjacency, "which data sets are neighbors");
  table.text("--out", options->out, "writes OUT.csv, one line a run, and OUT.json")
      .typed("FILE")
      .written({".csv", ".json"});
  table.text("--html", options->html, "a page to look at: charts and tables of OUT.json").typed("FILE").written();
  table
      .text("--metrics", options->metrics,
            "JSON lines that grow with the sweep: run, phase, round, norm of what is released beside its "
            "noise, budget spent; no test figures")
      .typed("FILE")
      .written();
  table.flag("--overwrite", options->overwrite, "replace files that are there already");
  table.flag("--quiet", options->quiet, "print no progress and no table; warnings and errors stay");
  table.count("--threads", options->threads, "a rank; default: all cores alone, 1 under mpirun").defaults_to("");
  table.count("--memory", options->memory_mib, "for the rows of a rank, as in fit").typed("MIB");
  declare_config(table);
  command.footer =
      "Examples:\n"
      "  dpreduce sweep --train-x x.npy --train-y y.npy --test-x tx.npy --test-y ty.npy --classes 10 --public-x p.npy "
      "\\\n"
      "    --methods 'mean --center public,public --center public,auto' --epsilons 0.1,1,8 --imbalance 1,10,100 "
      "--seeds 3\n"
      "  mpirun -n 4 dpreduce sweep ... --methods 'ls --shared-gram --center dp,fc --center dp' --epsilons 1 --out "
      "flagships";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
