// `dpreduce report`: a page to look at.
#pragma once

#include <string>
#include <vector>

namespace dpreduce {

struct CommandEntry;

struct ReportOptions {
  std::vector<std::string> files;  ///< reports of fit, JSON of sweeps, ledgers
  std::string out = "report.html";
  bool overwrite = false;   ///< replace what is there already
  bool for_public = false;  ///< without what is for the data's owner
  bool operator==(const ReportOptions&) const = default;
};

/// Throws UsageError where a file is named twice.
ReportOptions validated(ReportOptions options);

/// The command as the command line sees it.
CommandEntry report_command();

}  // namespace dpreduce
