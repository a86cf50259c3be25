#include "aggregator/release/silo_account.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/number_text.hpp"
#include "common/base/privacy_terms.hpp"

namespace dpreduce {
namespace {

std::string noise_text(const LedgerSilos& silos) {
  if (silos.noise == NoiseSource::kCentral) return "central noise, not against the coordinator";
  return fmt::format("distributed noise, {} honest shares at least{}", silos.threshold - silos.colluding,
                     silos.is_ephemeral ? ", of silos with ephemeral identities" : "");
}

std::string cost_text(const LedgerEntry& entry) {
  return entry.selection ? "a choice of epsilon " + upper_figure(entry.selection->epsilon)
                         : "mu " + upper_figure(entry.mu);
}

}  // namespace

SiloAccount::SiloAccount(SiloJob& job, ChargedRun& run, std::optional<DataSetBudget> limit)
    : job_(job), run_(run), limit_(limit) {
  run_.open();
  log_balance("has room for what it may charge");
  job_.set_before_masking([this](std::span<const std::uint64_t> values) { charge(values); });
}

SiloAccount::~SiloAccount() {
  job_.set_before_masking(nullptr);
  if (has_finished_) return;
  try {
    log_balance("ends early; the rest of its reservation is released");
  } catch (const std::exception&) {  // the ledger shows it all the same
  }
}

void SiloAccount::finish() {
  close_release();
  run_.finish();
  has_finished_ = true;
  log_balance("has ended");
}

// Sums over public rows or the coordinator's rows, of which a silo has none, belong to no release. A silo's values in
// them are zeros.
void SiloAccount::charge(std::span<const std::uint64_t> values) {
  if (run_.rounds_begun() == closed_) {
    const bool is_nothing = std::all_of(values.begin(), values.end(), [](std::uint64_t value) { return value == 0; });
    DPREDUCE_ASSERT(is_nothing);
    return;
  }
  charge_begun();
}

void SiloAccount::charge_unmade() {
  charge_begun();
  close_release();
}

void SiloAccount::charge_begun() {
  const std::optional<LedgerEntry> charged = run_.charge_begun();
  PartyLog* const log = job_.log();
  if (!charged || log == nullptr) return;
  log->line(fmt::format("account: charges {}: {}, {}", charged->release_id, cost_text(*charged),
                        noise_text(*charged->terms.silos)));
}

void SiloAccount::log_balance(const std::string& what) const {
  PartyLog* const log = job_.log();
  if (log == nullptr) return;
  // A log that is kept elsewhere shows a ledger that is older than it.
  log->line(fmt::format("account: run {} {}; on the ledger {}; it has {}", run_.run_id(), what,
                        balance_text(run_.ledger(), run_.plan().adjacency, limit_), text_of(run_.ledger().head())));
}

}  // namespace dpreduce
