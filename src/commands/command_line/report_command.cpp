#include "commands/command_line/report_command.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

ReportOptions validated(ReportOptions options) {
  if (options.out.empty()) throw UsageError("--out: a file name is needed");
  for (auto file = options.files.begin(); file != options.files.end(); ++file) {
    const auto twice =
        std::find_if(options.files.begin(), file, [&](const auto& one) { return is_same_file(one, *file); });
    if (twice != file) throw UsageError(fmt::format("{}: is named twice", *file));
  }
  return options;
}

CommandEntry report_command() {
  const auto options = std::make_shared<ReportOptions>();
  CommandEntry command{.name = "report", .help = "one page to look at, of reports of fit, sweeps and ledgers"};
  command.options.files("--file,file", options->files, "written by fit --report, sweep or --ledger; told by contents")
      .required();
  command.options.text("--out", options->out, "the page: one HTML file that needs no other, and no network")
      .typed("FILE")
      .written();
  command.options.flag("--overwrite", options->overwrite, "replace a page that is there already");
  command.options.flag("--public", options->for_public,
                       "leave out test figures and all else that is for the data's owner");
  command.footer =
      "Examples:\n"
      "  dpreduce report report.json ledger.jsonl --out report.html\n"
      "  dpreduce report sweep.json";
  command.chosen = [options](const ParsedCommand&) { return validated(*options); };
  return command;
}

}  // namespace dpreduce
