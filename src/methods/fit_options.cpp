#include "methods/fit_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/option_table.hpp"

namespace dpreduce {

void check(const PreparationOptions& rows) {
  require_option_positive("--clip", rows.clip_norm);
  if (rows.pool == 0) throw UsageError("--pool 0: must be at least 1");
  const bool has_ranges = !rows.feature_range.empty() || rows.finds_some();
  if (has_ranges && rows.pool > 1)
    throw UsageError("--feature-range with --pool: columns of one range each; leave one out");
  if (rows.feature_range.size() % 2 != 0) {
    throw UsageError(fmt::format("--feature-range: {} numbers; give LO,HI for all columns, or a pair for each",
                                 rows.feature_range.size()));
  }
  require_option_share("--center-share", rows.center_share);
  require_option_share("--pca-share", rows.pca_share);
  require_option_share("--select-share", rows.select_share);
  if (rows.pca_share && rows.pca == 0) {
    throw UsageError("--pca-share goes with --pca on private rows (without --public-x)");
  }
  if (rows.select_share && rows.select == 0) throw UsageError("--select-share goes with --select");
  if (rows.select_by && rows.select == 0) throw UsageError("--select-by goes with --select");
}

// Endings of other forms of models and tables, which whoever loads such a file would take it for.
constexpr std::array kForeignEndings{".pkl",   ".pickle", ".joblib", ".pt",  ".pth",  ".h5",
                                     ".keras", ".onnx",   ".npz",    ".csv", ".json", ".html"};

void require_name_of_model(const std::string& out) {
  if (out.empty()) throw UsageError("--out: a file name is needed");
  const std::filesystem::path path(out);
  if (std::ranges::find(kForeignEndings, path.extension().string()) == kForeignEndings.end()) return;
  throw UsageError(
      fmt::format("--out {}: a model is a safetensors file; name it {}{}", out,
                  std::filesystem::path(path).replace_extension(".safetensors").string(),
                  path.extension() == ".onnx" ? ", and make the graph of it with `python3 -m dpreduce onnx`" : ""));
}

void check(const OutputOptions& output) {
  require_name_of_model(output.out);
}

void check(const MachineOptions& machine) {
  require_option_between("--threads", machine.threads, 0, kMostThreads);
  if (machine.memory_mib) {
    require_option_between("--memory", static_cast<double>(*machine.memory_mib), 1,
                           static_cast<double>(kMostMemoryMib));
  }
}

void check(const PrivacyOptions& privacy) {
  require_ranges(privacy.budget);
  if (privacy.ledger.empty()) throw UsageError("--ledger: a file name is needed");
}

}  // namespace dpreduce
