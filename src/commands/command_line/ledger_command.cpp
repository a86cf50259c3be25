#include "commands/command_line/ledger_command.hpp"

#include <memory>

#include <fmt/format.h>

#include "commands/command_line/command_entry.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

CommandEntry ledger_command() {
  CommandEntry command{.name = "ledger", .help = "what has been released so far", .needs_command = true};
  const auto shown = std::make_shared<LedgerShowOptions>();
  CommandEntry show{.name = "show",
                    .help = "every release of a ledger, their sum, and what open runs may still charge"};
  show.options.text("--ledger,ledger", shown->ledger, "the ledger file").typed("FILE");
  show.options.number("--delta", shown->delta, "that epsilons are told at");
  declare_format(show.options, shown->format);
  show.footer =
      "Examples:\n  dpreduce ledger show ledger.jsonl\n  dpreduce ledger show --ledger ledger.jsonl --delta 1e-8 "
      "--format json";
  show.chosen = [shown](const ParsedCommand&) {
    if (!(shown->delta > 0.0 && shown->delta < 1.0)) {
      throw UsageError(fmt::format("--delta {}: must be above 0 and below 1", shown->delta));
    }
    return *shown;
  };
  const auto verified = std::make_shared<LedgerVerifyOptions>();
  CommandEntry verify{.name = "verify", .help = "find any edit, of the last line too (exit 6)"};
  verify.options.text("--ledger,ledger", verified->ledger, "the ledger file").typed("FILE");
  verify.options
      .text("--report", verified->report,
            "of a run on this ledger: find also lines that were cut off at the end, or another ledger")
      .typed("FILE");
  verify.footer =
      "Examples:\n  dpreduce ledger verify ledger.jsonl\n  dpreduce ledger verify ledger.jsonl --report r.json";
  verify.chosen = [verified](const ParsedCommand&) { return *verified; };
  const auto released = std::make_shared<LedgerReleaseOptions>();
  CommandEntry release{.name = "release", .help = "give up a run that ended early, and what it had reserved"};
  release.options.text("run", released->run, "the run, as ledger show names it").required();
  release.options.text("--ledger,ledger", released->ledger, "the ledger file").typed("FILE");
  release.footer =
      "The run can then be resumed no more: what it needs to repeat its noise is destroyed. A run that is alive is\n"
      "refused.\n\nExamples:\n  dpreduce ledger release 0f3a5c1e9b7d4a6288c0d1e2f3a4b5c6 ledger.jsonl";
  release.chosen = [released](const ParsedCommand&) { return *released; };
  const auto exported = std::make_shared<LedgerExportOptions>();
  CommandEntry export_events{.name = "export", .help = "what has been released, for another library's accountant"};
  export_events.options.text("--ledger,ledger", exported->ledger, "the ledger file").typed("FILE");
  export_events.options.flag(
      "--dp-events", exported->dp_events,
      "as event trees of Google's dp_accounting: JSON with the class and arguments of each node");
  export_events.options.choice("--adjacency", exported->adjacency, "the neighbors that the composition is for");
  export_events.options.text("--out", exported->out, "the file; default: standard output").typed("FILE").written();
  export_events.options.flag("--overwrite", exported->overwrite, "replace a file that is there already");
  export_events.footer =
      "Examples:\n  dpreduce ledger export ledger.jsonl --dp-events\n  dpreduce ledger export ledger.jsonl --dp-events "
      "--out events.json";
  export_events.chosen = [exported](const ParsedCommand&) {
    if (!exported->dp_events) throw UsageError("ledger export: give --dp-events, the one form that there is");
    return *exported;
  };
  command.commands.push_back(std::move(show));
  command.commands.push_back(std::move(verify));
  command.commands.push_back(std::move(release));
  command.commands.push_back(std::move(export_events));
  return command;
}

}  // namespace dpreduce
