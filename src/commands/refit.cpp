// dpreduce refit: models of statistics that were released and kept. No rows, no budget.
#include "refit/refit.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "commands/refit_options.hpp"
#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"
#include "common/base/paths.hpp"
#include "common/data/sharded_array.hpp"
#include "common/model/classifier_file.hpp"
#include "fit/machine_memory.hpp"

namespace dpreduce {
namespace {

constexpr double kUsualLevel = 0.95;

struct RefitCommandOptions {
  std::string statistics;
  RequestedRefit asked;
  std::string out = "model.safetensors";
  std::string intervals;  // empty: none
  std::vector<std::string> intervals_x;
  std::optional<double> level;  // of intervals; empty: kUsualLevel
  bool overwrite = false;
  OutputFormat format = OutputFormat::kText;
};

// Rows that are public: scores of them have intervals, of so many classes at most. Throws UsageError where they and
// their intervals do not fit into memory.
std::vector<float> rows_of(const std::vector<std::string>& files, const KeptStatistics& statistics) {
  if (files.empty()) return {};
  const std::size_t input_dim = statistics.of_rows.preprocessing.input_dim;
  ShardedArray array(expand_paths(files, 0), ArrayRole::kFeatures);
  if (array.columns() != input_dim) {
    throw BadInput("--intervals-x {}: rows have {} features, and the statistics are of {}", files.front(),
                   array.columns(), input_dim);
  }
  const MachineShare machine{.available = available_memory(), .left = left_of_process()};
  machine.require(memory_of_intervals(statistics, array.rows()), 0, "give fewer rows of --intervals-x at a time");
  std::vector<float> rows(array.rows() * array.columns());
  array.read_features(0, array.rows(), rows);
  return rows;
}

std::string refit_text(const nlohmann::json& told, const nlohmann::json& intervals) {
  const JsonFields refit(told, "refit");
  return text_of(table_of("path of ridges; the one with the least loss is chosen", refit.objects("path"),
                          {{"ridge"}, {"noise", "noise in a score"}, {"loss", "loss of a score"}})) +
         text_of(facts_of(refit, {{"ridge"}})) +
         text_of(facts_of(JsonFields(intervals, "intervals"),
                          {{"why", "intervals", Written::kText},
                           {"prediction_noise", "noise of scores", Written::kFigure, "to first order"},
                           {"note", "", Written::kText},
                           {"population_assumes", "population", Written::kText}})) +
         text_of(facts_of(refit, {{"intervals", "written to", Written::kText}, {"model", "", Written::kText}}));
}

void run(const RefitCommandOptions& options) {
  const Existing existing = options.overwrite ? Existing::kReplace : Existing::kKeep;
  AtomicFile model(options.out, existing);
  std::optional<AtomicFile> file;
  if (!options.intervals.empty()) file.emplace(options.intervals, existing);
  const KeptStatistics statistics = load_statistics(options.statistics);
  const RefitOptions asked = options_of(options.asked, statistics);
  const Refit made = refit(statistics, asked);
  nlohmann::json intervals = nlohmann::json::object();
  if (file) {
    if (!made.ridge) throw UsageError("--intervals goes with --method ls --shared-gram");
    const std::vector<float> rows = rows_of(options.intervals_x, statistics);
    intervals = intervals_json(statistics, asked, *made.ridge, options.level.value_or(kUsualLevel), rows);
    file->write(json_text(intervals, 2) + "\n");
  }
  model.commit(to_bytes(made.classifier));
  if (file) file->commit();
  nlohmann::json told = refit_json(made);
  told["model"] = options.out;
  if (file) told["intervals"] = options.intervals;
  print_result(options.format, told, [&] { return refit_text(told, intervals); });
}

}  // namespace

CommandEntry refit_command() {
  const auto options = std::make_shared<RefitCommandOptions>();
  CommandEntry command{.name = "refit", .help = "fit models from released statistics, without rows or further budget"};
  OptionTable& table = command.options;
  table.file("--statistics,statistics", options->statistics, "written by release").required();
  declare_refit(table, options->asked);
  table.file("--out", options->out, "the model").written();
  table
      .file("--intervals", options->intervals,
            "JSON: weights with intervals for the estimate without noise and, with class_sizes, for the population, "
            "assuming one variance (ls with a shared Gram matrix)")
      .written();
  table.files("--intervals-x", options->intervals_x, "public rows, whose scores get intervals too");
  table.number("--level", options->level, "coverage probability of each interval")
      .from(0.5, 0.999999)
      .typed("P")
      .defaults_to(fmt::format("{}", kUsualLevel));
  for (const char* own : {"--intervals-x", "--level"}) table.needs(own, "--intervals");
  table.flag("--overwrite", options->overwrite, "replace existing files");
  declare_format(table, options->format);
  command.footer =
      "Examples:\n"
      "  dpreduce refit --statistics statistics.safetensors --method ls --shared-gram\n"
      "  dpreduce refit --statistics statistics.safetensors --lambda path --out best.safetensors\n"
      "  dpreduce refit --statistics statistics.safetensors --method fisher --select 20 --classes-kept 0,1,5\n"
      "  dpreduce refit --statistics statistics.safetensors --lambda 50 --intervals intervals.json";
  command.chosen = [options](const ParsedCommand&) { return by_coordinator(run, *options); };
  return command;
}

}  // namespace dpreduce
