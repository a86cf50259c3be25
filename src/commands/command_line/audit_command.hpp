// `dpreduce audit`: try to refute a privacy claim.
#pragma once

#include <cstddef>
#include <optional>

#include "common/base/choices.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

struct CommandEntry;

/// How an audit observes the mechanism.
enum class AuditKind {
  kManyRuns,  ///< on two small neighboring data sets, again and again
  kOneRun     ///< once, with many canaries in one training set
};

struct AuditOptions {
  AuditOptions() {
    fit.data.classes = 200;
    fit.rows.normalize = Normalize::kNone;  // so that the clip is tested
  }
  AuditKind kind = AuditKind::kManyRuns;
  FitOptions fit;  ///< whose claim; for kOneRun also rows (none: synthetic ones) and classes
  double confidence = 0.999;
  std::optional<std::size_t> trials;  ///< runs in all, kManyRuns; empty: as many as take some seconds
  std::size_t canaries = 50000;       ///< kOneRun
  bool operator==(const AuditOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
AuditOptions validated(AuditOptions options);

/// The command as the command line sees it.
CommandEntry audit_command();

}  // namespace dpreduce
