#include "common/ledger/ledger_record.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "common/accounting/argument_checks.hpp"
#include "common/ledger/field_faults.hpp"

namespace dpreduce {
namespace {

std::string silos_fault(const LedgerSilos& silos) {
  const bool has_honest = silos.threshold >= 1 && silos.colluding < silos.threshold;
  if (has_honest && (silos.is_of_silo() ? silos.left == 0 : silos.threshold <= silos.left)) return {};
  return "silos: " + (silos.is_of_silo() ? "silo " + std::to_string(silos.silo) + ", " : "") +
         std::to_string(silos.left) + " left, threshold " + std::to_string(silos.threshold) + ", " +
         std::to_string(silos.colluding) + " colluding cannot be";
}

std::string release_fault(const ReservedRelease& release) {
  if (std::string fault = name_fault("a release's name", release.name); !fault.empty()) return fault;
  std::string fault = release.rounds == 0 ? "rounds = 0 must be at least 1" : "";
  if (fault.empty()) fault = mu_fault(release.mu);
  if (fault.empty()) fault = sampling_rate_fault(release.sampling_rate);
  return fault.empty() ? fault : "release " + release.name + ": " + fault;
}

std::string planned_selection_fault(const PlannedSelection& selection) {
  if (std::string fault = name_fault("a selection's name", selection.name); !fault.empty()) return fault;
  const std::string fault = fault_of(selection.terms);
  return fault.empty() ? fault : "selection " + selection.name + ": " + fault;
}

std::string label_of(const LedgerEntry& entry) {
  return entry.release_id.substr(std::min(entry.release_id.size(), run_of(entry.release_id).size() + 1));
}

// "name" or "name/3" (label_of_round).
bool is_round_of(std::string_view label, std::string_view name) {
  if (!label.starts_with(name)) return false;
  label.remove_prefix(name.size());
  return label.empty() || (label.size() > 1 && label.front() == '/' &&
                           label.substr(1).find_first_not_of("0123456789") == std::string_view::npos);
}

// First field in which the terms differ, except for the number of silos left, which may change on the way, and the
// requested method, which is for readers alone.
std::string difference(const RunTerms& reserved, const RunTerms& terms) {
  const auto lasting = [](std::optional<LedgerSilos> silos) {
    if (silos) silos->left = 0;
    return silos;
  };
  if (reserved.method != terms.method) return "method";
  if (reserved.adjacency != terms.adjacency) return "adjacency";
  if (reserved.accountant != terms.accountant) return "accountant";
  if (reserved.is_private != terms.is_private || reserved.forfeits != terms.forfeits) return "private";
  if (reserved.public_by_word != terms.public_by_word) return "public_by_word";
  if (reserved.unit != terms.unit) return "unit";
  if (reserved.epsilon != terms.epsilon) return "epsilon";
  if (reserved.delta != terms.delta) return "delta";
  if (reserved.config_digest != terms.config_digest) return "config digest";
  if (reserved.version != terms.version) return "version";
  if (lasting(reserved.silos) != lasting(terms.silos)) return "silos";
  return {};
}

// Release or selection that covers a charge of these terms; the end if none does.
auto release_for(std::vector<ReservedRelease>& releases, const LedgerEntry& entry) {
  const std::string label = label_of(entry);
  return std::find_if(releases.begin(), releases.end(), [&](const ReservedRelease& release) {
    return is_round_of(label, release.name) && release.sampling_rate == entry.sampling_rate && entry.mu <= release.mu;
  });
}

auto selection_for(std::vector<PlannedSelection>& selections, const LedgerEntry& entry) {
  const PlannedSelection wanted{label_of(entry), *entry.selection};
  return std::find(selections.begin(), selections.end(), wanted);
}

}  // namespace

std::string fault_of(const RunTerms& terms) {
  std::string fault = name_fault("method", terms.method);
  if (fault.empty() && !terms.asked.empty()) fault = name_fault("requested method", terms.asked);
  if (fault.empty()) fault = name_fault("version", terms.version);
  if (fault.empty() && !terms.data_set.empty()) fault = name_fault("data set", terms.data_set);
  if (fault.empty() && terms.epsilon.has_value() != terms.delta.has_value()) {
    fault = "epsilon and delta must be given together or not at all";
  }
  if (fault.empty() && terms.epsilon) fault = positive_fault("epsilon", *terms.epsilon);
  if (fault.empty() && terms.delta && !(*terms.delta > 0 && *terms.delta < 1)) {
    fault = "delta = " + print_number(*terms.delta) + " must be between 0 and 1";
  }
  if (fault.empty() && terms.is_private && !terms.forfeits.empty()) fault = "private, and forfeited, cannot be";
  if (fault.empty() && terms.silos) fault = silos_fault(*terms.silos);
  if (fault.empty()) fault = digest_fault("config digest", terms.config_digest);
  return fault;
}

std::string fault_of(const Reservation& reservation) {
  std::string fault = run_id_fault("run", reservation.run_id);
  if (fault.empty()) fault = fault_of(reservation.terms);
  if (fault.empty() && reservation.is_empty()) fault = "reserves nothing";
  std::set<std::string> names;
  const auto is_new = [&](const std::string& name) {
    if (!names.insert(name).second && fault.empty()) fault = "release " + name + ": is reserved twice";
  };
  for (const ReservedRelease& release : reservation.releases) {
    if (fault.empty()) fault = release_fault(release);
    is_new(release.name);
  }
  for (const PlannedSelection& selection : reservation.selections) {
    if (fault.empty()) fault = planned_selection_fault(selection);
    is_new(selection.name);
  }
  if (fault.empty() && !reservation.instead_of.empty()) {
    fault = run_id_fault("instead of", reservation.instead_of);
    if (reservation.instead_of == reservation.run_id) fault = "instead of: is the run itself";
  }
  return fault;
}

Reservation reservation_of(const NoisePlan& plan, std::string run_id, RunTerms terms) {
  Reservation reservation{.run_id = std::move(run_id), .terms = std::move(terms), .releases = {}, .selections = {}};
  for (const PlannedRelease& planned : plan.releases) {
    reservation.releases.push_back({.name = planned.name,
                                    .rounds = planned.rounds,
                                    .mu = mu_of_rounds(planned, 1),
                                    .sampling_rate = planned.sampling_rate});
  }
  reservation.selections = plan.selections;
  for (PlannedSelection& selection : reservation.selections) selection.fraction_bits = 0;  // no part of what is charged
  return reservation;
}

std::string uncovered(const Reservation& reservation, const LedgerEntry& entry) {
  if (const std::string field = difference(reservation.terms, entry.terms); !field.empty()) {
    return field + " is not that of the run's reservation";
  }
  Reservation rest = reservation;
  if (entry.selection) {
    if (selection_for(rest.selections, entry) != rest.selections.end()) return {};
  } else if (release_for(rest.releases, entry) != rest.releases.end()) {
    return {};
  }
  return "the run has reserved no (further) release of that name, mu and sampling rate";
}

void take_off(Reservation& reservation, const LedgerEntry& entry) {
  if (entry.selection) {
    reservation.selections.erase(selection_for(reservation.selections, entry));
    return;
  }
  const auto release = release_for(reservation.releases, entry);
  if (--release->rounds == 0) reservation.releases.erase(release);
}

namespace {

std::string block_fault(const LedgerBlock& block) {
  if (std::string fault = name_fault("a block's name", block.name); !fault.empty()) return fault;
  if (block.elements == 0) return "block " + block.name + ": has no elements";
  if (std::string fault = positive_fault("block " + block.name + ": sensitivity", block.sensitivity); !fault.empty()) {
    return fault;
  }
  return positive_fault("block " + block.name + ": sigma", block.sigma);
}

std::string gaussians_fault(const LedgerEntry& entry) {
  if (entry.blocks.empty()) return "blocks must not be empty";
  for (const LedgerBlock& block : entry.blocks) {
    if (std::string fault = block_fault(block); !fault.empty()) return fault;
  }
  if (std::string fault = sampling_rate_fault(entry.sampling_rate); !fault.empty()) {
    return fault;
  }
  return mu_fault(entry.mu);
}

std::string selection_fault(const LedgerEntry& entry) {
  if (!entry.blocks.empty()) return "a selection has no blocks";
  if (entry.mu != 0) return "mu = " + print_number(entry.mu) + ": a selection has none";
  if (entry.sampling_rate != 1) {
    return "sampling rate = " + print_number(entry.sampling_rate) + ": a selection has none";
  }
  const std::string fault = fault_of(*entry.selection);
  return fault.empty() ? fault : "selection: " + fault;
}

}  // namespace

std::string run_of(const std::string& release_id) {
  return release_id.substr(0, release_id.find('/'));
}

std::string fault_of(const LedgerEntry& entry) {
  std::string fault = name_fault("release id", entry.release_id);
  if (fault.empty()) fault = fault_of(entry.terms);
  if (fault.empty()) fault = entry.selection ? selection_fault(entry) : gaussians_fault(entry);
  return fault;
}

std::string fault_of(const RunEnd& end) {
  return run_id_fault("run", end.run_id);
}

std::string fault_of(const LedgerStart& start) {
  if (!is_lower_hex(start.public_key, 64, 64)) return "public key must be 64 lower-case hex digits";
  return name_fault("version", start.version);
}

}  // namespace dpreduce
