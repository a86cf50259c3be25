// dpreduce release: statistics of private rows, released once and kept, which models are made of for ever.
#include <sstream>

#include "commands/commands.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"

namespace dpreduce {
namespace {

std::vector<StatisticKind> kinds_of(const std::string& text) {
  std::vector<StatisticKind> kinds;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    const auto kind = read_choice<StatisticKind>("--statistics", word);
    if (std::ranges::find(kinds, kind) != kinds.end()) {
      throw UsageError("--statistics {}: {} appears twice", text, word);
    }
    kinds.push_back(kind);
  }
  if (kinds.empty()) throw UsageError("--statistics: name at least one of " + all_spellings<StatisticKind>());
  return kinds;
}

struct ReleaseOptions {
  FitOptions run;
  std::string statistics;
};

void declare(OptionTable& table, ReleaseOptions& options) {
  table
      .text("--statistics", options.statistics,
            "a list of gram, class_sums, class_sizes and class_grams (a Gram matrix for each class, with class sums)")
      .required()
      .typed("LIST");
  options.run.output.out = "statistics.safetensors";
  options.run.method.name = release_method.name;
  declare_release(table, options.run);
}

}  // namespace

CommandEntry release_command() {
  return command_reading<ReleaseOptions>(
      "release", "release noised statistics, from which refit makes any number of models", declare,
      [](ReleaseOptions options, const ParsedCommand& parsed) {
        options.run.statistics = kinds_of(options.statistics);
        take_party(options.run.silos, parsed, options.run.data.train.class_names);
        return FitCommand{validated(std::move(options.run))};
      },
      "  dpreduce release --statistics gram,class_sums,class_sizes --train-x x.npy --train-y y.npy --classes 10 \\\n"
      "    --epsilon 1 --delta 1e-6 --out statistics.safetensors\n"
      "  mpirun -n 8 dpreduce release --statistics gram,class_sums --center public --public-x p.npy \\\n"
      "    --train-x 'x_*.npy' --train-y 'y_*.npy' --classes 1000 --mu 0.5\n"
      "  dpreduce refit --statistics statistics.safetensors --method ls --shared-gram --lambda path");
}

}  // namespace dpreduce
