// dpreduce ledger show, verify, release: what runs have charged and reserved, and giving up what a run reserved.
#include "common/ledger/ledger.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.hpp"
#include "commands/ledger_json.hpp"
#include "commands/reported_run.hpp"
#include "common/accounting/guarantee.hpp"
#include "common/base/error.hpp"
#include "common/ledger/ledger_key.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/run_journal.hpp"
#include "common/plan/spending.hpp"

namespace dpreduce {
namespace {

// A run that writes a ledger takes an absent file for an empty one. Who wants to read one has given a wrong path.
void require_file(const std::string& path) {
  if (!std::filesystem::exists(path)) throw BadInput(path + ": no such ledger; check the path");
}

std::string of_sample(double sampling_rate) {
  return sampling_rate < 1.0 ? fmt::format(" of a row that is drawn (probability {:g})", sampling_rate) : "";
}

// The terms of a run among silos in words: on the coordinator's ledger those of the run, on a silo's own ledger against
// whom its charge holds.
std::string silos_text(const LedgerSilos& silos) {
  if (!silos.is_of_silo()) {
    return fmt::format("among silos: noise {}, {} left when charged, at least {} to the end, {} colluding",
                       to_string(silos.noise), silos.left, silos.threshold, silos.colluding);
  }
  if (silos.noise == NoiseSource::kCentral) {
    return fmt::format(
        "account of silo {}: central noise; holds for readers of what is published, not against the coordinator",
        silos.silo);
  }
  return fmt::format(
      "account of silo {}: distributed noise, at least {} honest shares; holds against the coordinator and {} "
      "colluding "
      "silos, too",
      silos.silo, silos.threshold - silos.colluding, silos.colluding);
}

void print_silos(const LedgerEntry& entry) {
  if (entry.terms.silos) fmt::print("    {}\n", silos_text(*entry.terms.silos));
}

void print_selection(const LedgerCharge& charge, std::string_view seeded) {
  const SelectionTerms& terms = *charge.entry.selection;
  fmt::print("{}  {}  {}  epsilon {:.6g}{}\n", charge.utc_time, charge.entry.release_id, charge.entry.terms.method,
             terms.epsilon, seeded);
  fmt::print("    selection by {}: {} of {} candidates{}, sensitivity {}\n", to_string(terms.mechanism), terms.chosen,
             terms.candidates, terms.groups == 1 ? "" : fmt::format(" in each of {} groups", terms.groups),
             terms.sensitivity);
  print_silos(charge.entry);
}

void print_charge(const LedgerCharge& charge) {
  const LedgerEntry& entry = charge.entry;
  const std::string_view seeded = entry.terms.is_private ? "" : "  (seeded: not private)";
  if (entry.selection) return print_selection(charge, seeded);
  fmt::print("{}  {}  {}  mu {:.6g}{}{}\n", charge.utc_time, entry.release_id, entry.terms.method, entry.mu,
             of_sample(entry.sampling_rate), seeded);
  print_silos(entry);
  for (const LedgerBlock& block : entry.blocks) {
    fmt::print("    {:<14} {:>12} coordinates, sensitivity {:.9g}, sigma {:.9g}\n", block.name, block.elements,
               block.sensitivity, block.sigma);
  }
}

void print_remains(const Reservation& remains) {
  if (remains.is_empty()) fmt::print("    nothing\n");
  for (const ReservedRelease& release : remains.releases) {
    fmt::print("    {:<14} {:>12} {} of mu {:.6g}{}\n", release.name, release.rounds,
               release.rounds == 1 ? "round" : "rounds", release.mu, of_sample(release.sampling_rate));
  }
  for (const PlannedSelection& selection : remains.selections) {
    fmt::print("    {:<14} selection of epsilon {:.6g}\n", selection.name, selection.terms.epsilon);
  }
}

void print_sum(const LedgerState& state) {
  const std::vector<LedgerCharge>& charges = state.charges();
  const Spending spent = spending_of(charges, Adjacency::kAddRemove);
  fmt::print("{} releases", charges.size());
  if (!charges.empty()) fmt::print("; if all were about the same records: mu {:.6g} together", spent.mu);
  if (std::any_of(charges.begin(), charges.end(), [](const auto& charge) { return charge.entry.selection; })) {
    fmt::print(" (without selections), rho {:.6g} (with them)", rho_of(spent));
  }
  if (!spent.samples.empty()) {
    fmt::print(" (without sampled rounds), epsilon {:.6g} at delta {:g} (with everything)",
               epsilon_of(spent, kDeltaToTell), kDeltaToTell);
  }
  fmt::print("\n");
}

void print_text(const LedgerState& state) {
  for (const LedgerCharge& charge : state.charges()) print_charge(charge);
  print_sum(state);
  if (state.open_runs().empty()) return;
  fmt::print("open runs, and what they may still charge (alive, or ended early: resume those, or ledger release):\n");
  for (const auto& [run_id, run] : state.open_runs()) {
    fmt::print("{}  {}  {}{}\n", run.since, run_id, run.remains.terms.method,
               run.remains.terms.is_private ? "" : "  (seeded: not private)");
    print_remains(run.remains);
  }
}

// What the line says, without its place in the chain.
nlohmann::json fields_of(decltype(LedgerRecord::content) content, const std::string& utc_time) {
  nlohmann::json fields = nlohmann::json::parse(print_unsigned({std::move(content), utc_time, kNoPrevious}));
  for (const char* name : {"schema", "kind", "previous"}) fields.erase(name);
  return fields;
}

// What each run has charged, in the order of their first charges, and what it and all before it spent together.
// Epsilons of selections and samples are those of privacy loss distributions, which take time: of long ledgers only the
// last have one.
nlohmann::json runs_of(const LedgerState& state) {
  constexpr std::size_t kMostDistributions = 100;
  std::vector<std::pair<std::string, std::vector<LedgerCharge>>> runs;
  std::map<std::string, std::size_t> place;
  for (const LedgerCharge& charge : state.charges()) {
    const std::string run = run_of(charge.entry.release_id);
    const auto [found, is_new] = place.emplace(run, runs.size());
    if (is_new) runs.emplace_back(run, std::vector<LedgerCharge>{});
    runs[found->second].second.push_back(charge);
  }
  nlohmann::json json = nlohmann::json::array();
  Spending so_far;
  for (const auto& [run, charges] : runs) {
    so_far = composed(so_far, spending_of(charges, Adjacency::kAddRemove));
    const LedgerCharge& first = charges.front();
    const bool has_epsilon = so_far.is_gaussian() || json.size() + kMostDistributions >= runs.size();
    const double epsilon = has_epsilon ? epsilon_of(so_far, kDeltaToTell) : 0.0;
    json.push_back({{"run", run},
                    {"since", first.utc_time},
                    {"method", first.entry.terms.method},
                    {"private", first.entry.terms.is_private},
                    {"releases", charges.size()},
                    {"so_far",
                     {{"mu", so_far.mu},
                      {"rho", rho_of(so_far)},
                      {"epsilon", has_epsilon && std::isfinite(epsilon) ? nlohmann::json(epsilon) : nlohmann::json()},
                      {"delta", kDeltaToTell}}}});
  }
  return json;
}

}  // namespace

nlohmann::json json_of_ledger(const LedgerState& state) {
  nlohmann::json releases = nlohmann::json::array();
  for (const LedgerCharge& charge : state.charges()) {
    releases.push_back(fields_of(charge.entry, charge.utc_time));
    releases.back()["rounds"] = charge.entry.rounds;
  }
  nlohmann::json open_runs = nlohmann::json::array();
  for (const auto& [run_id, run] : state.open_runs()) {
    nlohmann::json fields = fields_of(run.remains, run.since);
    fields["since"] = fields["time"];
    fields.erase("time");
    open_runs.push_back(std::move(fields));
  }
  const Spending spent = spending_of(state.charges(), Adjacency::kAddRemove);
  nlohmann::json whole{{"releases", releases},
                       {"runs", runs_of(state)},
                       {"mu", spent.mu},
                       {"rho", rho_of(spent)},
                       {"open_runs", open_runs}};
  if (!spent.samples.empty()) {
    whole["epsilon"] = epsilon_of(spent, kDeltaToTell);
    whole["delta"] = kDeltaToTell;
  }
  return whole;
}

namespace {

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
    if (options.format == OutputFormat::kText) return print_text(state);
    fmt::print("{}\n", json_of_ledger(state).dump(2));
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

}  // namespace dpreduce
