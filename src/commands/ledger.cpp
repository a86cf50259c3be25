// dpreduce ledger show, verify, release, export: what runs have charged and reserved, and giving up what a run
// reserved.
#include "common/ledger/ledger.hpp"

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/data/atomic_file.hpp"
#include "common/data/output_check.hpp"
#include "common/ledger/ledger_key.hpp"
#include "common/ledger/run_journal.hpp"
#include "report/ledger_text.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {
namespace {

// A run that writes a ledger takes an absent file for an empty one. Who wants to read one has given a wrong path.
void require_file(const std::string& path) {
  if (!std::filesystem::exists(path)) throw BadInput(path + ": no such ledger; check the path");
}

// A reader may have the ledger without its key. Where a key of his own lies beside it, the lines must be signed with
// that key: somebody who replaced the whole ledger would have signed with another one.
std::string key_text(const std::string& path, const LedgerHead& head) {
  if (head.public_key.empty()) return "not signed yet: an edit of the last line cannot be found";
  struct stat status {};
  const std::filesystem::path key_path = signing_key_path(path);
  const bool is_own = ::stat(key_path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
  const std::optional<SigningKey> key = is_own ? find_signing_key(path) : std::nullopt;
  if (!key) return "signed with the key " + head.public_key;
  if (to_hex(key->public_key()) != head.public_key) {
    throw LedgerCorrupt(path + ": is signed with the key " + head.public_key + ", not with " + key_path.string() +
                        ": the ledger, or its key, has been exchanged");
  }
  return "signed with its own key, " + head.public_key;
}

LedgerHead reported_head(const std::string& report) {
  const std::optional<LedgerHead> head = read_report(report).ledger;
  if (head) return *head;
  throw BadInput("--report " + report +
                 ": does not say where the ledger stood: its run charged nothing, or an earlier version made it");
}

// The ids under which a run has charged. It gets a new one each time that it has to begin anew.
std::vector<std::string> names_of(const std::string& run, const std::optional<RunJournal>& journal) {
  return journal ? journal->run_ids() : std::vector{run};
}

}  // namespace

void run_command(const LedgerShowOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_file(options.ledger);
    const LedgerState state = Ledger::read(options.ledger);
    if (options.format == OutputFormat::kText) return print_ledger(state, options.delta);
    fmt::print("{}\n", json_text(json_of_ledger(state, options.delta), 2));
  });
}

void run_command(const LedgerVerifyOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_file(options.ledger);
    const LedgerState state = Ledger::read(options.ledger);
    const std::string key = key_text(options.ledger, state.head());
    if (!options.report.empty()) require_contains(state, reported_head(options.report), options.ledger);
    fmt::print("{}: {} lines, intact; {}; {}\n", options.ledger, state.head().lines, key,
               options.report.empty() ? "lines cut off at the end show with --report alone"
                                      : "all lines of " + options.report + " are there");
  });
}

void run_command(const LedgerReleaseOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_file(options.ledger);
    // The journal's lock tells whether the run is alive, and keeps it from being resumed meanwhile.
    std::optional<RunJournal> journal = RunJournal::of_run(options.ledger, options.run, LockedJournal::kRefuse);
    Ledger ledger(options.ledger);
    bool was_open = false;
    for (const std::string& run : names_of(options.run, journal)) {
      const OpenRun* open = ledger.current().open_run(run);
      const Reservation remains = open != nullptr ? open->remains : Reservation{};
      if (!ledger.end(run, RunOutcome::kReleased)) continue;
      was_open = true;
      fmt::print("{}: run {} is given up; what it had reserved and not charged is given back:\n", options.ledger, run);
      print_remains(remains);
    }
    if (!was_open && !journal) {
      throw UsageError("ledger release " + options.run + ": " + options.ledger +
                       " has no run of that name that has not ended (dpreduce ledger show names those)");
    }
    if (!journal) return;
    journal->destroy();
    fmt::print("its journal is destroyed: nobody can repeat or compute its noise\n");
  });
}

void run_command(const LedgerExportOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_file(options.ledger);
    require_not_read(std::array{NamedPath{"--out", options.out}}, options.ledger);
    std::optional<AtomicFile> file;
    if (!options.out.empty()) file.emplace(options.out, options.overwrite ? Existing::kReplace : Existing::kKeep);
    const std::string text = json_text(dp_events_of(Ledger::read(options.ledger), options.adjacency), 2) + "\n";
    if (!file) return fmt::print("{}", text);
    file->write(text);
    file->commit();
    fmt::print("wrote {}\n", options.out);
  });
}

}  // namespace dpreduce
