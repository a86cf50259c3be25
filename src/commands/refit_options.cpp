#include "commands/refit_options.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "commands/keyword_options.hpp"
#include "common/base/error.hpp"

namespace dpreduce {
namespace {

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

}  // namespace

void declare_refit(OptionTable& table, RequestedRefit& asked) {
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

RefitOptions refit_options_of(std::span<const TomlItem> keywords, const KeptStatistics& statistics) {
  RequestedRefit asked;
  OptionTable table;
  declare_refit(table, asked);
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

}  // namespace dpreduce
