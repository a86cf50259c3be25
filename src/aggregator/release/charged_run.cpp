#include "aggregator/release/charged_run.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/text.hpp"
#include "common/ranks/lifetime.hpp"

namespace dpreduce {

ChargedRun::ChargedRun(NoisePlan plan, RunFile file, Charging charging, RunTerms terms)
    : plan_(std::move(plan)),
      file_(std::move(file)),
      charging_(std::move(charging)),
      ledger_(charging_.ledger_path),
      terms_(std::move(terms)),
      saved_(file_.records().size()) {
  terms_.adjacency = plan_.adjacency;
  terms_.is_private = !charging_.seed && terms_.forfeits.empty();
}

ChargedRun::~ChargedRun() {
  report_when_ended({});
  if (has_finished_) return;
  try {
    if (has_reserved_) ledger_.end(run_id(), RunOutcome::kStopped);
    const bool has_charged_nothing = has_reserved_ && charged_ == 0 && charged_before() == 0;
    if (has_charged_nothing || !file_.saves() || (!has_reserved_ && file_.is_new())) file_.remove();
  } catch (const std::exception&) {  // the reservation stays, and `ledger show` lists it
  }
}

std::vector<std::string> ChargedRun::runs_before() const {
  return {file_.run_ids().begin(), file_.run_ids().end() - 1};
}

void ChargedRun::open() {
  try {
    const LedgerState& state = ledger_.current();
    ledger_before_ = state.head();
    check_saved(state);
    const Reservation reservation = rest();
    was_reserved_ = !reservation.instead_of.empty();
    if (!reservation.is_empty()) ledger_.check(reservation, charging_.limit);
  } catch (...) {
    if (file_.is_new()) file_.remove();
    throw;
  }
}

// Also notes what was charged and is not there.
void ChargedRun::check_saved(const LedgerState& state) {
  std::set<std::string> saved;
  for (const RunFile::Record& record : file_.records()) {
    if (record.line_sha256.empty()) continue;
    const LedgerCharge* const charge = state.charge(record.release_id());
    if (charge == nullptr || state.line_sha256()[charge->line] != record.line_sha256) {
      throw ResumeMismatch(
          "--ledger {}: has no line for release {} as it was made; give the ledger on which it was "
          "charged, or start a new run without --resume",
          charging_.ledger_path, record.release_id());
    }
    saved.insert(record.release_id());
  }
  for (const LedgerCharge& charge : state.charges()) {
    const std::string& id = charge.entry.release_id;
    const std::string run = run_of(id);
    if (run != run_id() && file_.has_run(run) && !saved.contains(id)) lost_.push_back(id.substr(run.size() + 1));
  }
}

void ChargedRun::reserve() {
  if (has_reserved_) return;
  file_.announce_run();
  ledger_.reserve(rest(), charging_.limit);
  has_reserved_ = true;
  require_most_mu();
}

// Throws unless this run stays within most_mu. Its reservation is on the ledger: of runs that reserve at the same time,
// the later one sees the other.
void ChargedRun::require_most_mu() {
  constexpr double kRoundings = 1 + 1e-12;
  if (!charging_.most_mu) return;
  const LedgerState& state = ledger_.current();
  const double mu = mu_of(spending_of_all(state, strictest_adjacency(state, plan_.adjacency)));
  if (mu <= *charging_.most_mu * kRoundings) return;
  throw BudgetRefused(
      "{}: with the reservations and charges of other runs mu is now {}, above the {} that [consent] allows",
      charging_.ledger_path, upper_figure(mu), lower_figure(*charging_.most_mu));
}

void ChargedRun::finish() {
  if (has_finished_) return;
  DPREDUCE_ASSERT(begun_ == planned_charges() && !is_to_be_charged_ && taken_ == saved_);
  for (const std::string& run : file_.run_ids()) ledger_.end(run, RunOutcome::kFinished);
  file_.remove();
  has_finished_ = true;
  report_when_ended({});
}

std::uint64_t ChargedRun::planned_charges() const {
  std::uint64_t planned = plan_.selections.size();
  for (const PlannedRelease& release : plan_.releases) planned += release.rounds;
  return planned;
}

std::uint64_t ChargedRun::charged_before() const {
  const auto saved = std::ranges::count_if(file_.records(), [&](const RunFile::Record& record) {
    return !record.line_sha256.empty() && record.run_id != run_id();
  });
  return static_cast<std::uint64_t>(saved) + lost_.size();
}

void ChargedRun::begin(const std::string& name, std::string label, std::uint64_t planned_rounds) {
  const std::uint64_t round = ++rounds_begun_[name];
  DPREDUCE_ASSERT(round <= planned_rounds);
  current_ = name;
  label_ = std::move(label);
  is_to_be_charged_ = true;
  ++begun_;
}

std::string ChargedRun::next_label(const PlannedRelease& planned) const {
  const auto begun = rounds_begun_.find(planned.name);
  return label_of_round(planned, begun == rounds_begun_.end() ? 1 : begun->second + 1);
}

LedgerEntry ChargedRun::entry_of_begun() const {
  LedgerEntry entry;
  entry.release_id = fmt::format("{}/{}", run_id(), label_);
  entry.terms = terms_;
  const auto selection = std::ranges::find(plan_.selections, current_, &PlannedSelection::name);
  if (selection != plan_.selections.end()) {
    entry.selection = selection->terms;
    return entry;
  }
  const PlannedRelease& planned = plan_.release(current_);
  for (const PlannedBlock& block : planned.blocks) {
    entry.blocks.push_back({block.name, block.elements, block.sensitivity, block.sigma});
  }
  entry.sampling_rate = planned.sampling_rate;
  entry.mu = mu_of_rounds(planned, 1);
  return entry;
}

std::string ChargedRun::charge() {
  DPREDUCE_ASSERT(is_to_be_charged_);
  reserve();
  const std::uint64_t before = charged_before() + charged_;
  report_when_ended(way_to_go_on("may have charged", before + 1, kRestStays));
  std::string line = ledger_.append(entry_of_begun());
  is_to_be_charged_ = false;
  ++charged_;
  report_when_ended(way_to_go_on("has charged", before + 1, kRestStays));
  return line;
}

std::optional<LedgerEntry> ChargedRun::charge_begun() {
  DPREDUCE_ASSERT(begun_ > 0);
  if (!is_to_be_charged_) return std::nullopt;
  charge();
  return entry_of_begun();
}

NamedIntegers ChargedRun::take_saved(const std::string& label) {
  DPREDUCE_ASSERT(taken_ < saved_);
  const RunFile::Record& record = file_.records()[taken_];
  if (record.label != label) {
    throw BadInput("{}.{}.releases: has {} where {} is expected; remove the file, and start a new run",
                   charging_.ledger_path, file_.run_ids().front(), record.label, label);
  }
  if (!record.line_sha256.empty()) is_to_be_charged_ = false;
  ++taken_;
  return file_.values_of(record);
}

// Only what has written on the ledger here ends there with this process.
std::string ChargedRun::way_to_resume() const {
  return way_to_go_on("has charged", charged_before() + charged_,
                      has_reserved_   ? "; the reservation of the others is released"
                      : was_reserved_ ? kRestStays
                                      : "");
}

// `rest` says what becomes of the reservation of releases that are not charged, if there are any.
std::string ChargedRun::way_to_go_on(std::string_view has_charged, std::uint64_t charged, std::string_view rest) const {
  const std::uint64_t planned = planned_charges();
  const std::string reserved = charged >= planned ? "" : fmt::format(" of {}{}", planned, rest);
  return fmt::format("run {0} {6} {1} release{2}{3}: {5}`dpreduce ledger release {0} --ledger {4}`",
                     file_.announced_run_id(), charged, charged == 1 ? "" : "s", reserved, charging_.ledger_path,
                     file_.saves() && charged > 0
                         ? "resume it with the same command and --resume, which charges only the rest, or give it up: "
                         : "it cannot be resumed; give it up: ",
                     has_charged);
}

bool ChargedRun::is_saved(const std::string& label) const {
  return std::ranges::any_of(file_.records(), [&](const RunFile::Record& record) {
    return !record.line_sha256.empty() && record.label == label;
  });
}

// All that this run may charge, in the place of what the run that it goes on from has reserved.
Reservation ChargedRun::rest() {
  Reservation rest = reservation_of(plan_, run_id(), terms_);
  for (ReservedRelease& release : rest.releases) {
    const PlannedRelease& planned = plan_.release(release.name);
    for (std::uint64_t round = 1; round <= planned.rounds; ++round) {
      if (is_saved(label_of_round(planned, round))) --release.rounds;
    }
  }
  std::erase_if(rest.releases, [](const ReservedRelease& release) { return release.rounds == 0; });
  std::erase_if(rest.selections, [&](const PlannedSelection& selection) { return is_saved(selection.name); });
  for (const std::string& before : runs_before()) {
    if (ledger_.current().open_run(before) != nullptr) rest.instead_of = before;
  }
  return rest;
}

namespace {

std::string noise_text(const LedgerSilos& silos) {
  if (silos.noise == NoiseSource::kCentral) return "central noise, not against the coordinator";
  return fmt::format("distributed noise, {} honest shares at least{}", silos.threshold - silos.colluding,
                     silos.is_ephemeral ? ", of silos with ephemeral identities" : "");
}

}  // namespace

SiloAccount::SiloAccount(SiloJob& job, ChargedRun& run) : job_(job), run_(run) {
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
  PartyLog* const log = job_.entry().log;
  if (!charged || log == nullptr) return;
  const std::string cost = charged->selection ? "a choice of epsilon " + upper_figure(charged->selection->epsilon)
                                              : "mu " + upper_figure(charged->mu);
  log->line(fmt::format("account: charges {}: {}, {}", charged->release_id, cost, noise_text(*charged->terms.silos)));
}

void SiloAccount::log_balance(const std::string& what) const {
  PartyLog* const log = job_.entry().log;
  if (log == nullptr) return;
  // A log that is kept elsewhere shows a ledger that is older than it.
  log->line(fmt::format("account: run {} {}; on the ledger {}; it has {}", run_.run_id(), what,
                        balance_text(run_.ledger(), run_.plan().adjacency, run_.limit()),
                        text_of(run_.ledger().head())));
}

}  // namespace dpreduce
