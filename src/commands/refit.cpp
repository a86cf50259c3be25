// dpreduce refit: models of statistics that were released and kept. No rows, no budget.
#include "commands/commands.hpp"
#include "commands/keyword_options.hpp"
#include "commands/refit_options.hpp"
#include "common/base/paths.hpp"
#include "common/data/sharded_array.hpp"
#include "common/model/classifier_file.hpp"
#include "fit/machine_memory.hpp"

namespace dpreduce {
namespace {

constexpr double kUsualLevel = 0.95;

// Options as they are given: what is named is looked up in the statistics.
struct RequestedRefit {
  RefitOptions options;
  std::string lambda = "auto";
  std::optional<std::string> classes;
  std::optional<std::string> features;
};

constexpr std::uint64_t kMostIndex = std::uint64_t{1} << 24;

// Reads "0,3,7-9" or names, in rising order; none where nothing is requested.
std::vector<std::size_t> indices_of(const char* option, const std::optional<std::string>& text,
                                    const std::vector<std::string>& names) {
  std::vector<std::size_t> indices;
  if (!text) return indices;
  std::istringstream list(*text);
  for (std::string word; std::getline(list, word, ',');) {
    if (const auto named = std::ranges::find(names, word); named != names.end()) {
      indices.push_back(static_cast<std::size_t>(named - names.begin()));
      continue;
    }
    const std::size_t dash = word.find('-');
    const std::uint64_t first = read_count(option, word.substr(0, dash), kMostIndex);
    const std::uint64_t last =
        dash == std::string::npos ? first : read_count(option, word.substr(dash + 1), kMostIndex);
    if (last < first) throw UsageError("{} {}: begins after its end", option, word);
    for (std::uint64_t index = first; index <= last; ++index) indices.push_back(index);
  }
  if (indices.empty()) throw UsageError("{}: the list is empty; name one, or leave it out", option);
  std::ranges::sort(indices);
  return indices;
}

void declare(OptionTable& table, RequestedRefit& asked) {
  RefitOptions& options = asked.options;
  table.choice("--method", options.method, "method that fits the model");
  table.flag("--shared-gram", options.shared_gram,
             "ls: one Gram matrix for all classes, even if class_grams are present");
  table
      .text("--lambda", asked.lambda,
            "ls: ridge, in feature units squared; auto: from the noise, as in fit; path: a table of ridges, of which "
            "the one with the least estimated loss is used")
      .typed("L|auto|path");
  table.number("--alpha", options.alpha, "ls with class_grams: weight of all rows relative to a class's own");
  table.choice("--metric", options.metric, "mean: nearest direction, or nearest center (with class_sizes)");
  table.text("--classes-kept", asked.classes, "a list of classes to keep, indices or names, e.g. 0,3,7-9; default: all")
      .typed("LIST");
  table.text("--features", asked.features, "a list of features of prepared rows to use, indices or names; default: all")
      .typed("LIST");
  table.numbers(
      "--weights", options.class_weights,
      "weights of kept classes: of their rows (ls --shared-gram with class_grams), or of their shares (fisher)");
  table.count("--select", options.select, "keep the m features in which class means are farthest apart")
      .defaults_to("");
  table.choice("--select-by", options.select_by,
               "distance of class means, or that over the standard deviation (fisher)");
  table.count("--pca", options.components, "ls --shared-gram: weights within the first k principal components")
      .defaults_to("");
  for (const char* own : {"--lambda", "--alpha", "--shared-gram"}) table.needs(own, "--method ls");
  table.excludes("--lambda path", "--weights", "ridges are compared for equally weighted classes; leave one out");
  table.needs("--metric euclidean", "--method mean");
  table.needs("--select-by", "--select");
  table.needs("--select-by t", "--method fisher");
}

// Throws UsageError naming what the statistics do not have.
RefitOptions options_of(const RequestedRefit& asked, const KeptStatistics& statistics) {
  RefitOptions options = asked.options;
  if (asked.lambda == "path") {
    options.chooses_ridge = true;
  } else if (asked.lambda != "auto") {
    options.lambda = read_number("--lambda", asked.lambda);
  }
  const ClassifierParts& rows = statistics.of_rows;
  options.classes = indices_of("--classes-kept", asked.classes, rows.class_names);
  // Names are of raw features, which prepared ones are where nothing makes others of them.
  const bool are_raw =
      rows.preprocessing.dim() == rows.preprocessing.input_dim && rows.preprocessing.projection.empty();
  options.features =
      indices_of("--features", asked.features, are_raw ? rows.feature_names : std::vector<std::string>{});
  return options;
}

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

void declare(OptionTable& table, RefitCommandOptions& options) {
  table.file("--statistics,statistics", options.statistics, "written by release").required();
  declare(table, options.asked);
  table.file("--out", options.out, "the model").written();
  table
      .file("--intervals", options.intervals,
            "JSON: weights with intervals for the estimate without noise and, with class_sizes, for the population, "
            "assuming one variance (ls with a shared Gram matrix)")
      .written();
  table.files("--intervals-x", options.intervals_x, "public rows, whose scores get intervals too");
  table.number("--level", options.level, "coverage probability of each interval")
      .from(0.5, 0.999999)
      .typed("P")
      .defaults_to(fmt::format("{}", kUsualLevel));
  for (const char* own : {"--intervals-x", "--level"}) table.needs(own, "--intervals");
  table.flag("--overwrite", options.overwrite, "replace existing files");
}

}  // namespace

RefitOptions refit_options_of(std::span<const TomlItem> keywords, const KeptStatistics& statistics) {
  RequestedRefit asked;
  OptionTable table;
  declare(table, asked);
  read_keywords(table, "refit", keywords, "refit");
  return options_of(asked, statistics);
}

nlohmann::json refit_json(const Refit& made) {
  nlohmann::json told{{"method", made.classifier.parts().method}};
  if (made.ridge) told["ridge"] = *made.ridge;
  for (const RidgePoint& point : made.path) {
    told["path"].push_back({{"ridge", point.ridge}, {"noise", point.noise}, {"loss", point.loss}});
  }
  return told;
}

CommandEntry refit_command() {
  return command_reading<RefitCommandOptions, kWithoutConfig>(
      "refit", "fit models from released statistics, without rows or further budget", declare,
      [](const auto& options, auto&) { return by_coordinator(run, options); },
      "  dpreduce refit --statistics statistics.safetensors --method ls --shared-gram\n"
      "  dpreduce refit --statistics statistics.safetensors --lambda path --out best.safetensors\n"
      "  dpreduce refit --statistics statistics.safetensors --method fisher --select 20 --classes-kept 0,1,5\n"
      "  dpreduce refit --statistics statistics.safetensors --lambda 50 --intervals intervals.json");
}

}  // namespace dpreduce
