// What a fit leaves behind.
#pragma once

#include <string>

#include "common/base/archive_all.hpp"
#include "common/base/output_format.hpp"

namespace dpreduce {

struct OutputOptions {
  std::string out = "model.safetensors";
  std::string report{};           ///< empty: none
  std::string html{};             ///< a page on report and ledger; empty: none
  std::string metrics{};          ///< JSON lines of the run; empty: none
  std::string timings{};          ///< seconds of the run, for the data's owner; empty: none
  std::string checkpoint{};       ///< folder for what was released so far; empty: none
  double checkpoint_every = 0.0;  ///< seconds between writes; 0: after every release
  OutputFormat format = OutputFormat::kText;
  bool dry_run = false;
  bool overwrite = false;  ///< replace model and report that are there already
  bool quiet = false;      ///< no progress and no summary
  bool operator==(const OutputOptions&) const = default;
};

template <typename Archive>
void serialize(Archive& archive, OutputOptions& options, unsigned) {
  auto& [out, report, html, metrics, timings, checkpoint, checkpoint_every, format, dry_run, overwrite, quiet] =
      options;
  archive_all(archive, out, report, html, metrics, timings, checkpoint, checkpoint_every, format, dry_run, overwrite,
              quiet);
}

/// Throws UsageError where the part contradicts itself or is out of range.
void check(const OutputOptions& output);

}  // namespace dpreduce
