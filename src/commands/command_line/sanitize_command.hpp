// `dpreduce synth sanitize`: rows that carry their own noise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/accounting/stated_budget.hpp"
#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

/// `synth sanitize`: rows that carry their own noise.
struct SanitizeOptions {
  std::vector<std::string> x;
  std::vector<std::string> y;  ///< public labels, copied; none: features alone
  std::string out_dir;
  Normalize normalize = Normalize::kL2;
  double clip_norm = 1.0;
  BadRows bad_rows = BadRows::kFail;
  BudgetOptions budget;  ///< of each record by itself
  std::optional<std::uint64_t> seed;
  bool overwrite = false;  ///< replace what is there already
  OutputFormat format = OutputFormat::kText;
  bool operator==(const SanitizeOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
SanitizeOptions validated(SanitizeOptions options);

/// The command as the command line sees it.
CommandEntry sanitize_command();

}  // namespace dpreduce
