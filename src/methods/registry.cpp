#include "methods/registry.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/option_table.hpp"

namespace dpreduce {

std::vector<TakenOption> with_options_of_rounds(std::vector<TakenOption> own) {
  for (const char* option :
       {"--loss", "--iterate", "--warm-start", "--warm-start-share", "--choose", "--choose-share"}) {
    own.push_back({option});
  }
  return own;
}

std::span<const MethodEntry* const> all_methods() {
#define METHOD(file) &file##_method,
  static const std::array entries{
#include "methods/all_methods.inc"
  };
#undef METHOD
  return entries;
}

const MethodEntry* find_method(std::string_view name) {
  for (const MethodEntry* entry : all_methods()) {
    if (entry->name == name) return entry;
  }
  for (const MethodEntry* entry : {&evaluate_method, &release_method}) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

bool whitens_by_public_rows(const FitOptions& options) {
  return method_entry(options.method).whitens_by_public_rows && !options.data.public_x.empty() &&
         !options.data.has_targets() && options.method.objective == Objective::kAccuracy;
}

const MethodEntry& method_entry(const MethodOptions& options) {
  if (const MethodEntry* const entry = find_method(options.name)) return *entry;
  refuse_choice("--method", options.name, all_method_names());
}

std::string all_method_names() {
  return fmt::format("{}", fmt::join(names_where([](const MethodEntry&) { return true; }), "|"));
}

std::vector<std::string_view> names_where(const std::function<bool(const MethodEntry& entry)>& holds) {
  std::vector<std::string_view> names;
  for (const MethodEntry* entry : all_methods()) {
    if (holds(*entry)) names.push_back(entry->name);
  }
  return names;
}

std::string methods_that_take(std::string_view option) {
  return methods_where([&](const MethodEntry& entry) { return entry.takes_option(option); });
}

std::string methods_where(const std::function<bool(const MethodEntry& entry)>& holds) {
  const std::vector<std::string_view> names = names_where(holds);
  std::string all;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (n > 0) all += n + 1 == names.size() ? " or " : ", ";
    all += names[n];
  }
  return all;
}

namespace {

// Default of --memory. Where rows are read once, in chunks that are summed and forgotten, little is enough. Methods in
// rounds keep all rows where they fit, and least squares by class keep the rows of as many classes as fit.
constexpr std::size_t kMemoryMib = 64;
constexpr std::size_t kMostMemoryMibOfKeptRows = 4096;

std::size_t kept_features(const FitOptions& options, std::size_t input_dim) {
  if (options.rows.select > 0) return options.rows.select;
  if (options.rows.pca > 0) return options.rows.pca;
  return input_dim / options.rows.pool;
}

}  // namespace

FitOptions resolved(FitOptions options, std::size_t input_dim, std::uint64_t public_rows,
                    std::uint64_t bytes_for_rank) {
  const RowsAhead rows{input_dim, kept_features(options, input_dim), public_rows};
  while (method_entry(options.method).resolve != nullptr) {
    if (!method_entry(options.method).resolved_by.empty()) options.method.asked = options.method.name;
    // NOLINTNEXTLINE(bugprone-use-after-move): it is given a value before it is used
    options = method_entry(options.method).resolve(std::move(options), rows);
  }
  const MethodEntry& method = method_entry(options.method);
  const bool descends = method.takes_option("--loss");
  if (descends && !options.method.loss && options.data.most_labels() > 1) options.method.loss = Loss::kSigmoid;
  // The length of a row, too, holds what a number depends on.
  if (options.data.has_targets() && options.is_of_training_rows() && options.rows.leaves_clip_open())
    options.rows.chooses_clip = true;
  if (!options.rows.center) options.rows.center = Centering::kNone;
  if (!options.machine.memory_mib) {
    const std::size_t most = std::clamp<std::uint64_t>(bytes_for_rank >> 21, kMemoryMib, kMostMemoryMibOfKeptRows);
    const bool reads_once = method.reads_rows_once != nullptr && method.reads_rows_once(options);
    options.machine.memory_mib = reads_once ? kMemoryMib : most;
  }
  return options;
}

std::unique_ptr<TrainingMethod> make_method(const FitOptions& options) {
  const MethodEntry& method = method_entry(options.method);
  DPREDUCE_ASSERT(method.make != nullptr);
  return method.make(options);
}

LinearScores shared_scores(LinearScores scores, TrainingRun& run) {
  scores.weights.resize(run.rows().classes() * run.rows().preprocessing().dim());
  scores.bias.resize(run.rows().classes());
  run.ranks().broadcast(scores.weights);
  run.ranks().broadcast(scores.bias);
  return scores;
}

}  // namespace dpreduce
