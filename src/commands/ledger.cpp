// dpreduce ledger show, verify, release: what runs have charged and reserved, and giving up what a run
// reserved.
#include "common/ledger/ledger.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/run_file.hpp"
#include "report/ledger_report.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

// A run that writes a ledger takes an absent file for an empty one. Who wants to read one has given a wrong path.
void require_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) throw BadInput(path + ": no such ledger; check the path");
}

// A reader may have the ledger without its key. Where a key of his own lies beside it, the lines must be signed with
// that key: somebody who replaced the whole ledger would have signed with another one.
std::string key_text(const std::string& path, const LedgerHead& head) {
  if (head.public_key.empty()) return "no line, and so no signature, yet";
  struct stat status {};
  const std::filesystem::path key_path = signing_key_path(path);
  const bool is_own = ::stat(key_path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
  const std::optional<SigningKey> key = is_own ? find_signing_key(path) : std::nullopt;
  if (!key) return "signed with the key " + head.public_key;
  if (to_hex(key->public_key()) != head.public_key) {
    throw LedgerCorrupt(path + ": is signed with the key " + head.public_key + ", not with " + key_path.string() +
                        ": the ledger or its key was replaced");
  }
  return "signed with its own key, " + head.public_key;
}

LedgerHead reported_head(const std::string& report) {
  const std::optional<LedgerHead> head = read_report(report).ledger;
  if (head) return *head;
  throw BadInput("--report " + report +
                 ": does not record the state of a ledger: its run charged nothing, or an earlier version wrote it");
}

struct ShowOptions {
  std::string ledger = "ledger.jsonl";
  std::optional<double> delta;         // that epsilons are told at; empty: reported_delta
  std::optional<Adjacency> adjacency;  // the neighbors that the composition is for; empty: strictest_adjacency
  OutputFormat format = OutputFormat::kText;
};

struct VerifyOptions {
  std::string ledger = "ledger.jsonl";
  std::string report;  // of a run on this ledger; empty: none
};

struct GiveUpOptions {
  std::string ledger = "ledger.jsonl";
  std::string run;
};

void run(const ShowOptions& options) {
  if (options.delta && !(*options.delta > 0.0 && *options.delta < 1.0)) {
    throw UsageError("--delta {}: must be above 0 and below 1", *options.delta);
  }
  require_file(options.ledger);
  const LedgerState state = Ledger::read(options.ledger);
  const bool is_json = options.format == OutputFormat::kJson;
  print_result(options.format, is_json ? json_of_ledger(state, options.delta, options.adjacency) : nlohmann::json(),
               [&] {
                 std::string text;  // the total, with which pages begin, is last: there a terminal's reader looks first
                 for (const Section& section : ledger_sections(state, options.delta, options.adjacency)) {
                   text.insert(0, text_of(section));
                 }
                 return text;
               });
}

void run(const VerifyOptions& options) {
  require_file(options.ledger);
  const LedgerState state = Ledger::read(options.ledger);
  const std::string key = key_text(options.ledger, state.head());
  if (!options.report.empty()) require_contains(state, reported_head(options.report), options.ledger);
  fmt::print("{}: {} lines, intact; {}; {}\n", options.ledger, state.head().lines, key,
             options.report.empty() ? "lines cut off at the end are found only with --report"
                                    : "all lines of " + options.report + " are there");
}

void run(const GiveUpOptions& options) {
  require_file(options.ledger);
  // The lock of the run's file shows whether it is alive, and keeps others from resuming it meanwhile.
  std::optional<RunFile> file = RunFile::of_run(options.ledger, options.run);
  Ledger ledger(options.ledger);
  bool was_open = false;
  for (const std::string& run : file ? file->run_ids() : std::vector{options.run}) {
    const OpenRun* open = ledger.current().open_run(run);
    const Reservation remains = open != nullptr ? open->remains : Reservation{};
    if (!ledger.end(run, RunOutcome::kReleased)) continue;
    was_open = true;
    const std::string given_back =
        fmt::format("{}: run {} is given up; its reservation that was not charged is released:", options.ledger, run);
    fmt::print("{}", text_of(remains_table(given_back, remains)));
  }
  if (!was_open && !file) {
    throw UsageError("ledger release " + options.run + ": " + options.ledger +
                     " has no open run of that name (dpreduce ledger show lists open runs)");
  }
  if (!file) return;
  file->remove();
  fmt::print("its saved releases are removed: it cannot be resumed\n");
}

void declare(OptionTable& table, ShowOptions& options) {
  table.file("--ledger,ledger", options.ledger, "the ledger file");
  table.number("--delta", options.delta,
               "at which epsilons are reported; default: that of the runs, the smallest of several");
  table.choice("--adjacency", options.adjacency, "neighbors for the total; default: the strictest in the ledger");
}

void declare(OptionTable& table, VerifyOptions& options) {
  table.file("--ledger,ledger", options.ledger, "the ledger file");
  table.file("--report", options.report,
             "report of a run on this ledger: finds also lines that were cut off at the end, and another ledger");
}

void declare(OptionTable& table, GiveUpOptions& options) {
  table.text("run", options.run, "name of the run in ledger show").required();
  table.file("--ledger,ledger", options.ledger, "the ledger file");
}

}  // namespace

CommandEntry ledger_command() {
  CommandEntry command{
      .name = "ledger", .help = "list releases, verify a ledger, give up a run", .needs_command = true};
  const auto chosen = [](const auto& options, auto&) { return by_coordinator(run, options); };
  command.commands = {
      command_reading<ShowOptions, kWithoutConfig>(
          "show", "list all releases of a ledger, their total, and what open runs may still charge", declare, chosen,
          "  dpreduce ledger show ledger.jsonl\n"
          "  dpreduce ledger show --ledger ledger.jsonl --delta 1e-8 --format json"),
      command_reading<VerifyOptions, kWithoutConfig>(
          "verify", "check a ledger for edits, of the last line too (exit 6)", declare, chosen,
          "  dpreduce ledger verify ledger.jsonl\n  dpreduce ledger verify ledger.jsonl --report r.json"),
      command_reading<GiveUpOptions, kWithoutConfig>(
          "release", "give up a run that ended early, and release its reservation", declare, chosen,
          "  dpreduce ledger release 0f3a5c1e9b7d4a6288c0d1e2f3a4b5c6 ledger.jsonl",
          "The run cannot be resumed afterwards: its saved releases are removed. A run that is still running is "
          "refused.\n\n")};
  return command;
}

}  // namespace dpreduce
