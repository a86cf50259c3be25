#include "common/ledger/ledger_record.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

#include "common/accounting/argument_checks.hpp"

namespace dpreduce {
namespace {

// Checks of fields. Each returns the fault, naming the field, or an empty text.

// The first of these faults; empty if there is none.
std::string first_of(std::initializer_list<std::string> faults) {
  const auto fault = std::ranges::find_if_not(faults, &std::string::empty);
  return fault == faults.end() ? std::string() : *fault;
}

// The fault with what it is about ahead of it.
std::string fault_in(const std::string& what, const std::string& fault) {
  return fault.empty() ? fault : what + ": " + fault;
}

constexpr std::string_view kOfRunIds = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::string_view kOfNames = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+/@- ";

bool consists_of(std::string_view text, std::string_view allowed, std::size_t longest) {
  return !text.empty() && text.size() <= longest && text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string name_fault(const std::string& field, const std::string& value) {
  if (consists_of(value, kOfNames, 128)) return {};
  return field + " must be 1 to 128 letters, digits, spaces or . _ : + / @ -";
}

// Run ids name files, too.
std::string run_id_fault(const std::string& field, const std::string& value) {
  if (consists_of(value, kOfRunIds, 64) && value != "." && value != "..") return {};
  return field + " must be 1 to 64 letters, digits or . _ -";
}

std::string positive_fault(const std::string& field, double value) {
  if (value > 0 && std::isfinite(value)) return {};
  return field + " = " + print_number(value) + " must be a finite number greater than 0";
}

// mu and its rho.
std::string mu_fault(double mu) {
  return first_of({positive_fault("mu", mu), positive_fault("rho = mu^2 / 2", mu * mu / 2)});
}

std::string sampling_rate_fault(double rate) {
  if (rate >= kSmallestSamplingRate && rate <= 1) return {};
  return "sampling rate = " + print_number(rate) + " must be from " + print_number(kSmallestSamplingRate) + " to 1";
}

std::string silos_fault(const LedgerSilos& silos) {
  const bool has_honest = silos.threshold >= 1 && silos.colluding < silos.threshold;
  if (has_honest && (silos.is_of_silo() ? silos.left == 0 : silos.threshold <= silos.left)) return {};
  return "silos: " + (silos.is_of_silo() ? "silo " + std::to_string(silos.silo) + ", " : "") +
         std::to_string(silos.left) + " left, threshold " + std::to_string(silos.threshold) + ", " +
         std::to_string(silos.colluding) + " colluding cannot be";
}

std::string release_fault(const ReservedRelease& release) {
  const std::string fault = first_of({release.rounds == 0 ? "rounds = 0 must be at least 1" : "", mu_fault(release.mu),
                                      sampling_rate_fault(release.sampling_rate)});
  return first_of({name_fault("a release's name", release.name), fault_in("release " + release.name, fault)});
}

std::string planned_selection_fault(const PlannedSelection& selection) {
  return first_of({name_fault("a selection's name", selection.name),
                   fault_in("selection " + selection.name, fault_of(selection.terms))});
}

std::string block_fault(const LedgerBlock& block) {
  const std::string fault =
      first_of({block.elements == 0 ? "has no elements" : "", positive_fault("sensitivity", block.sensitivity),
                positive_fault("sigma", block.sigma)});
  return first_of({name_fault("a block's name", block.name), fault_in("block " + block.name, fault)});
}

std::string gaussians_fault(const LedgerEntry& entry) {
  if (entry.blocks.empty()) return "blocks must not be empty";
  for (const LedgerBlock& block : entry.blocks) {
    if (std::string fault = block_fault(block); !fault.empty()) return fault;
  }
  return first_of({sampling_rate_fault(entry.sampling_rate), mu_fault(entry.mu)});
}

std::string selection_fault(const LedgerEntry& entry) {
  const std::string rate = print_number(entry.sampling_rate);
  return first_of({entry.blocks.empty() ? "" : "a selection has no blocks",
                   entry.mu == 0 ? "" : "mu = " + print_number(entry.mu) + ": a selection has none",
                   entry.sampling_rate == 1 ? "" : "sampling rate = " + rate + ": a selection has none",
                   fault_in("selection", fault_of(*entry.selection))});
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
auto release_for(auto& releases, const LedgerEntry& entry) {
  const std::string label = label_of(entry);
  return std::ranges::find_if(releases, [&](const ReservedRelease& release) {
    return is_round_of(label, release.name) && release.sampling_rate == entry.sampling_rate && entry.mu <= release.mu;
  });
}

auto selection_for(auto& selections, const LedgerEntry& entry) {
  return std::ranges::find(selections, PlannedSelection{label_of(entry), *entry.selection});
}

}  // namespace

bool is_lower_hex(std::string_view text, std::size_t shortest, std::size_t longest) {
  return text.size() >= shortest && text.size() <= longest &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string fault_of(const RunTerms& terms) {
  const bool has_half_a_budget = terms.epsilon.has_value() != terms.delta.has_value();
  const bool is_delta_wrong = terms.delta && !(*terms.delta > 0 && *terms.delta < 1);
  return first_of(
      {name_fault("method", terms.method), terms.asked.empty() ? "" : name_fault("requested method", terms.asked),
       name_fault("version", terms.version), terms.data_set.empty() ? "" : name_fault("data set", terms.data_set),
       has_half_a_budget ? "epsilon and delta must be given together or not at all" : "",
       terms.epsilon ? positive_fault("epsilon", *terms.epsilon) : "",
       is_delta_wrong ? "delta = " + print_number(*terms.delta) + " must be between 0 and 1" : "",
       terms.is_private && !terms.forfeits.empty() ? "private, and forfeited, cannot be" : "",
       terms.silos ? silos_fault(*terms.silos) : "",
       is_lower_hex(terms.config_digest, 16, 128) ? "" : "config digest must be 16 to 128 lower-case hex digits"});
}

std::string fault_of(const Reservation& reservation) {
  std::string fault = first_of({run_id_fault("run", reservation.run_id), fault_of(reservation.terms),
                                reservation.is_empty() ? "reserves nothing" : ""});
  std::set<std::string> names;
  const auto add = [&](const std::string& name, const std::string& own) {
    const bool is_new = names.insert(name).second;
    fault = first_of({fault, own, is_new ? "" : "release " + name + ": is reserved twice"});
  };
  for (const ReservedRelease& release : reservation.releases) add(release.name, release_fault(release));
  for (const PlannedSelection& planned : reservation.selections) add(planned.name, planned_selection_fault(planned));
  if (reservation.instead_of.empty()) return fault;
  return first_of({fault, reservation.instead_of == reservation.run_id ? "instead of: is the run itself" : "",
                   run_id_fault("instead of", reservation.instead_of)});
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
  const bool is_covered = entry.selection ? selection_for(reservation.selections, entry) != reservation.selections.end()
                                          : release_for(reservation.releases, entry) != reservation.releases.end();
  return is_covered ? "" : "the run has reserved no (further) release of that name, mu and sampling rate";
}

void take_off(Reservation& reservation, const LedgerEntry& entry) {
  if (entry.selection) {
    reservation.selections.erase(selection_for(reservation.selections, entry));
    return;
  }
  const auto release = release_for(reservation.releases, entry);
  if (--release->rounds == 0) reservation.releases.erase(release);
}

std::string run_of(const std::string& release_id) {
  return release_id.substr(0, release_id.find('/'));
}

std::string fault_of(const LedgerEntry& entry) {
  return first_of({name_fault("release id", entry.release_id), fault_of(entry.terms),
                   entry.selection ? selection_fault(entry) : gaussians_fault(entry)});
}

std::string fault_of(const RunEnd& end) {
  return run_id_fault("run", end.run_id);
}

std::string fault_of(const LedgerStart& start) {
  if (!is_lower_hex(start.public_key, 64, 64)) return "public key must be 64 lower-case hex digits";
  return name_fault("version", start.version);
}

}  // namespace dpreduce
