#include "dpreduce/privacy/ledger.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dpreduce/commands/commands.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/guarantee.hpp"
#include "dpreduce/privacy/spending.hpp"

namespace dpreduce {
namespace {

// An absent ledger is an empty one to a run that will write it; to somebody who asks for it, it is a wrong path.
void require_file(const std::string& path) {
  if (!std::filesystem::exists(path)) throw BadInput(path + ": no such ledger; check the path");
}

void print_selection(const LedgerRecord& record, std::string_view seeded) {
  const SelectionTerms& terms = *record.entry.selection;
  fmt::print("{}  {}  {}  epsilon {:.6g}{}\n", record.utc_time, record.entry.release_id, record.entry.method,
             terms.epsilon, seeded);
  fmt::print("    selection by {}: {} of {} candidates{}, sensitivity {}\n", to_string(terms.mechanism), terms.chosen,
             terms.candidates, terms.groups == 1 ? "" : fmt::format(" in each of {} groups", terms.groups),
             terms.sensitivity);
}

void print_text(const std::vector<LedgerRecord>& records) {
  for (const LedgerRecord& record : records) {
    const LedgerEntry& entry = record.entry;
    const std::string_view seeded = entry.is_private ? "" : "  (seeded: not private)";
    if (entry.selection) {
      print_selection(record, seeded);
      continue;
    }
    fmt::print(
        "{}  {}  {}  mu {:.6g}{}{}\n", record.utc_time, entry.release_id, entry.method, entry.mu,
        entry.sampling_rate < 1.0 ? fmt::format(" of a row that is drawn (probability {:g})", entry.sampling_rate) : "",
        seeded);
    if (entry.silos) {
      fmt::print("    among silos: noise {}, {} left when charged, at least {} to the end, {} colluding\n",
                 to_string(entry.silos->noise), entry.silos->left, entry.silos->threshold, entry.silos->colluding);
    }
    for (const LedgerBlock& block : entry.blocks) {
      fmt::print("    {:<14} {:>12} coordinates, sensitivity {:.9g}, sigma {:.9g}\n", block.name, block.elements,
                 block.sensitivity, block.sigma);
    }
  }
  const Spending spent = spending_of(records, Adjacency::kAddRemove);
  fmt::print("{} releases", records.size());
  if (!records.empty()) fmt::print("; if all were about the same records: mu {:.6g} together", composed_mu(records));
  if (std::any_of(records.begin(), records.end(), [](const auto& record) { return record.entry.selection; })) {
    fmt::print(" (without selections), rho {:.6g} (with them)", composed_rho(records));
  }
  if (!spent.samples.empty()) {
    fmt::print(" (without sampled rounds), epsilon {:.6g} at delta {:g} (with everything)",
               epsilon_of(spent, kDeltaToTell), kDeltaToTell);
  }
  fmt::print("\n");
}

}  // namespace

void run_command(const LedgerShowOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_file(options.ledger);
    const std::vector<LedgerRecord> records = Ledger::read(options.ledger);
    if (options.format == OutputFormat::kText) return print_text(records);
    nlohmann::json releases = nlohmann::json::array();
    for (const LedgerRecord& record : records) releases.push_back(nlohmann::json::parse(print_record(record)));
    nlohmann::json json{{"releases", releases}, {"mu", composed_mu(records)}, {"rho", composed_rho(records)}};
    const Spending spent = spending_of(records, Adjacency::kAddRemove);
    if (!spent.samples.empty()) {
      json["epsilon"] = epsilon_of(spent, kDeltaToTell);
      json["delta"] = kDeltaToTell;
    }
    fmt::print("{}\n", json.dump(2));
  });
}

void run_command(const LedgerVerifyOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    require_file(options.ledger);
    fmt::print("{}: {} lines, intact (a cut at the end cannot be told from the chain alone)\n", options.ledger,
               Ledger::verify(options.ledger));
  });
}

}  // namespace dpreduce
