#include "aggregator/release/charged_run.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/bound_text.hpp"
#include "common/base/error.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/lifetime.hpp"

namespace dpreduce {
namespace {

std::string release_id(const std::string& run_id, std::string_view release) {
  return fmt::format("{}/{}", run_id, release);
}

}  // namespace

ChargedRun::ChargedRun(NoisePlan plan, RunJournal journal, Charging charging, RunTerms terms)
    : plan_(std::move(plan)),
      journal_(std::move(journal)),
      charging_(std::move(charging)),
      ledger_(charging_.ledger_path),
      terms_(std::move(terms)),
      has_secret_noise_(journal_.secret().is_private()) {
  terms_.adjacency = plan_.adjacency;
  terms_.is_private = has_secret_noise_ && terms_.forfeits.empty();
}

ChargedRun::~ChargedRun() {
  say_when_ended({});
  if (has_finished_) return;
  try {
    if (has_written_) {
      stop();
    } else if (journal_.is_new()) {
      journal_.destroy();
    }
  } catch (const std::exception&) {  // the reservation stays, and `ledger show` lists it
  }
}

void ChargedRun::open() {
  if (journal_.has_ended()) return;
  try {
    const LedgerState& state = ledger_.current();
    if (journal_.is_on_disk()) RunJournal::destroy_ended(charging_.ledger_path, state);
    for (const LedgerCharge& charge : state.charges()) {
      if (journal_.has_run(run_of(charge.entry.release_id))) on_file_.emplace(charge.entry.release_id, charge.entry);
    }
    if (state.outcome(run_id()) == RunOutcome::kReleased) journal_.begin_run();
    was_reserved_ = state.open_run(run_id()) != nullptr;
    const Reservation reservation = rest();
    if (!is_reserved(reservation)) ledger_.check(reservation, charging_.limit);
  } catch (...) {
    if (journal_.is_new()) journal_.destroy();
    throw;
  }
}

// Whether nothing needs to be written for it.
bool ChargedRun::is_reserved(const Reservation& reservation) {
  const OpenRun* open = ledger_.current().open_run(run_id());
  return reservation.is_empty() || (open != nullptr && open->remains.releases == reservation.releases &&
                                    open->remains.selections == reservation.selections && !charging_.limit);
}

void ChargedRun::reserve() {
  if (has_reserved_) return;
  Reservation reservation = rest();
  if (!is_reserved(reservation)) {
    ledger_.reserve(std::move(reservation), charging_.limit);
    has_written_ = true;
    require_most_mu();
  }
  has_reserved_ = true;
}

// What this run has reserved stands on the ledger: of runs that reserve at the same time, the later one sees the other.
void ChargedRun::require_most_mu() {
  constexpr double kRoundings = 1 + 1e-12;
  if (!charging_.most_mu) return;
  const LedgerState& state = ledger_.current();
  const double mu = mu_of(spending_of_all(state, strictest_adjacency(state, plan_.adjacency)));
  if (mu <= *charging_.most_mu * kRoundings) return;
  throw BudgetRefused(fmt::format(
      "{}: with what other runs have reserved or charged meanwhile mu is {}, above the {} that [consent] allows",
      charging_.ledger_path, upper_figure(mu), lower_figure(*charging_.most_mu)));
}

void ChargedRun::finish() {
  if (journal_.has_ended() || has_finished_) return;
  DPREDUCE_ASSERT(has_charged_all());
  ledger_.end(run_id(), RunOutcome::kFinished);
  journal_.destroy();
  has_finished_ = true;
  say_when_ended({});
}

std::uint64_t ChargedRun::planned_charges() const {
  std::uint64_t planned = plan_.selections.size();
  for (const PlannedRelease& release : plan_.releases) planned += release.rounds;
  return planned;
}

// Returns whether the whole plan is begun, and its last round charged, under whichever id: a resumed run may have
// repeated what it charged before it began anew.
bool ChargedRun::has_charged_all() const {
  if (begun_ < planned_charges()) return false;
  if (begun_ == 0) return true;
  const bool is_selection =
      std::ranges::find(plan_.selections, current_, &PlannedSelection::name) != plan_.selections.end();
  const std::string label = is_selection ? current_ : label_of_begun(plan_.release(current_));
  return std::ranges::any_of(journal_.run_ids(),
                             [&](const std::string& run) { return on_file_.contains(release_id(run, label)); });
}

void ChargedRun::stop() {
  for (const std::string& run : journal_.run_ids()) ledger_.end(run, RunOutcome::kStopped);
  if (on_file_.empty()) journal_.destroy();
}

void ChargedRun::begin(const std::string& name, std::uint64_t planned_rounds) {
  const std::uint64_t round = ++rounds_begun_[name];
  DPREDUCE_ASSERT(round <= planned_rounds);
  current_ = name;
  ++begun_;
}

void ChargedRun::begin(const PlannedRelease& planned) {
  begin(planned.name, planned.rounds);
}

void ChargedRun::begin(const PlannedSelection& planned) {
  begin(planned.name, 1);
}

void ChargedRun::require_charged(std::span<const std::string> labels) {
  std::set<std::string> charged;  // labels
  for (const LedgerCharge& charge : ledger_.current().charges()) {
    const std::string& id = charge.entry.release_id;
    if (journal_.has_run(run_of(id))) charged.insert(id.substr(id.find('/') + 1));
  }
  for (const std::string& label : labels) {
    if (charged.contains(label)) continue;
    throw ResumeMismatch(
        fmt::format("--ledger {}: has no line of release {}, which the run to resume has made; name "
                    "the ledger that it was charged on",
                    charging_.ledger_path, release_id(run_id(), label)));
  }
}

void ChargedRun::require_same_rows(std::span<const std::uint64_t> digest) {
  RandomStream stream = this->stream("digest of rows", hex_words(digest));
  std::array<std::byte, 32> keyed{};
  stream.fill(keyed);
  const std::string digits = to_hex(keyed);
  if (!journal_.rows()) return journal_.add_rows(digits);
  if (*journal_.rows() == digits) return;
  throw ResumeMismatch(fmt::format(
      "--resume: run {} began with other training rows; resume with those rows, or name another --checkpoint folder",
      run_id()));
}

RandomStream ChargedRun::stream(std::string_view purpose, const std::string& context) const {
  return journal_.secret().stream(purpose, std::as_bytes(std::span(context)));
}

SecretVector<std::byte> ChargedRun::shared_secret(Communicator& ranks, std::string_view purpose,
                                                  const std::string& context) const {
  SecretVector<std::byte> secret(32);
  if (ranks.is_coordinator()) stream(purpose, context).fill(secret);
  ranks.broadcast(std::span<std::byte>(secret));
  return secret;
}

std::string ChargedRun::fingerprint(Communicator& ranks, std::string_view name, const Statistic& local) const {
  return fingerprint(ranks, name, [&](RandomStream& coefficients) { return fingerprint_part(local, coefficients); });
}

std::string ChargedRun::fingerprint(Communicator& ranks, std::string_view name,
                                    const std::function<FingerprintPart(RandomStream&)>& part_of) const {
  const SecretVector<std::byte> secret = shared_secret(ranks, "fingerprint key", std::string(name));
  const NoiseKey coefficients = NoiseKey::from_bytes(std::span<const std::byte, 32>(secret));
  RandomStream stream = coefficients.stream("coefficients", {});
  FingerprintPart part = part_of(stream);
  ranks.sum_to_coordinator(part);
  return fingerprint_of(part);
}

std::array<std::uint64_t, 4> ChargedRun::fingerprint_of_rank(Communicator& ranks, std::string_view name,
                                                             const Statistic& local) const {
  const SecretVector<std::byte> secret = shared_secret(ranks, "fingerprint key", std::string(name));
  const NoiseKey key = NoiseKey::from_bytes(std::span<const std::byte, 32>(secret));
  RandomStream coefficients = key.stream("coefficients", {});
  const FingerprintPart part = fingerprint_part(local, coefficients);
  std::array<std::uint64_t, 1 + std::tuple_size_v<FingerprintPart>> message{static_cast<std::uint64_t>(ranks.rank())};
  std::copy(part.begin(), part.end(), message.begin() + 1);
  RandomStream stream = key.stream("statistic of a rank", std::as_bytes(std::span(message)));
  std::array<std::uint64_t, 4> words{};
  for (std::uint64_t& word : words) word = stream.next_u64();
  return words;
}

// The ledger entry of that round, without its cost.
LedgerEntry ChargedRun::entry_of(const std::string& label) const {
  LedgerEntry entry;
  entry.release_id = release_id(run_id(), label);
  entry.terms = terms_;
  return entry;
}

// The ledger entry of the round that was begun.
LedgerEntry ChargedRun::entry_of(const PlannedRelease& planned) const {
  LedgerEntry entry = entry_of(label_of_begun(planned));
  for (const PlannedBlock& block : planned.blocks) {
    entry.blocks.push_back({block.name, block.elements, block.sensitivity, block.sigma});
  }
  entry.sampling_rate = planned.sampling_rate;
  entry.mu = mu_of_rounds(planned, 1);
  return entry;
}

LedgerEntry ChargedRun::entry_of(const PlannedSelection& planned) const {
  LedgerEntry entry = entry_of(planned.name);
  entry.selection = planned.terms;
  return entry;
}

std::string ChargedRun::label_of_begun(const PlannedRelease& planned) const {
  return label_of_round(planned, rounds_begun_.at(planned.name));
}

// Under a seed randomness must not depend on the run's name, which is new every time.
std::string ChargedRun::randomness_id(const std::string& run_id, const std::string& label) const {
  return release_id(has_secret_noise() ? run_id : "seeded", label);
}

bool ChargedRun::is_on_file(LedgerEntry entry, const std::string& run_id, const std::string& label) const {
  entry.release_id = release_id(run_id, label);
  const auto found = on_file_.find(entry.release_id);
  return found != on_file_.end() && found->second == entry;
}

void ChargedRun::require_not_ended(const std::string& label) const {
  if (!journal_.has_ended()) return;
  throw ResumeMismatch(
      fmt::format("--resume: run {} has ended, and its journal is gone: release {}, which its checkpoint has not, "
                  "cannot be repeated; begin a new run with another --checkpoint folder",
                  run_id(), label));
}

std::string ChargedRun::charge(const PlannedRelease& planned, const std::string& fingerprint) {
  return charge(entry_of(planned), label_of_begun(planned), fingerprint);
}

std::string ChargedRun::charge(const PlannedSelection& planned, const std::string& fingerprint) {
  return charge(entry_of(planned), planned.name, fingerprint);
}

std::optional<LedgerEntry> ChargedRun::charge_begun() {
  DPREDUCE_ASSERT(begun_ > 0);
  const auto is_current = [&](const PlannedSelection& planned) { return planned.name == current_; };
  const auto selection = std::find_if(plan_.selections.begin(), plan_.selections.end(), is_current);
  const LedgerEntry entry =
      selection != plan_.selections.end() ? entry_of(*selection) : entry_of(plan_.release(current_));
  if (on_file_.contains(entry.release_id)) return std::nullopt;
  append(entry, entry.release_id.substr(run_id().size() + 1), {});
  return entry;
}

std::string ChargedRun::charge(const LedgerEntry& entry, const std::string& label, const std::string& fingerprint) {
  require_not_ended(label);
  const auto& runs = journal_.run_ids();
  for (auto run = runs.rbegin(); run != runs.rend() && !has_new_release_; ++run) {
    const std::string* const known = journal_.fingerprint_of(*run, label);
    if (known == nullptr || *known != fingerprint || !is_on_file(entry, *run, label)) continue;
    return fmt::format("{}/{}", randomness_id(*run, label), fingerprint);
  }
  const std::string* const known = journal_.fingerprint_of(run_id(), label);
  const bool is_another = known != nullptr && *known != fingerprint;
  const bool is_charged = on_file_.contains(release_id(run_id(), label)) && (known == nullptr || has_new_release_);
  if (is_another || is_charged) begin_anew();
  return append(entry, label, fingerprint);
}

std::string ChargedRun::append(LedgerEntry entry, const std::string& label, const std::string& fingerprint) {
  reserve();
  has_new_release_ = true;
  entry.release_id = release_id(run_id(), label);
  journal_.add_charge(label, fingerprint);
  has_written_ = true;
  say_when_ended(way_to_go_on("may have charged", on_file_.size() + 1, Reserved::kKept));
  if (ledger_.append(entry) == Charge::kAlreadyOnFile && !on_file_.contains(entry.release_id)) {
    throw ResumeMismatch(
        fmt::format("--ledger {}: another process has charged release {} of this very run, from a copy of its journal; "
                    "end one of them, remove the copy, and start again",
                    charging_.ledger_path, entry.release_id));
  }
  on_file_.emplace(entry.release_id, entry);
  say_when_ended(way_to_go_on("has charged", on_file_.size(), Reserved::kKept));
  return fmt::format("{}/{}", randomness_id(run_id(), label), fingerprint);
}

// Only what has written on the ledger here ends there with this process.
std::string ChargedRun::way_to_resume() const {
  const Reserved rest = has_written_ ? Reserved::kGivenBack : was_reserved_ ? Reserved::kKept : Reserved::kNothing;
  return way_to_go_on("has charged", on_file_.size(), rest);
}

std::string ChargedRun::way_to_go_on(std::string_view has_charged, std::uint64_t charged, Reserved rest) const {
  const std::uint64_t planned = planned_charges();
  const std::string reserved = charged >= planned ? "" : fmt::format(" of {}{}", planned, [&] {
    switch (rest) {
      case Reserved::kNothing:
        return "";
      case Reserved::kKept:
        return ", and the others stay reserved";
      case Reserved::kGivenBack:
        break;
    }
    return ", and the others are given back";
  }());
  return fmt::format("run {0} {6} {1} release{2}{3}: {5}`dpreduce ledger release {0} --ledger {4}` gives the run up",
                     run_id(), charged, charged == 1 ? "" : "s", reserved, charging_.ledger_path,
                     journal_.is_on_disk() && charged > 0 && !terms_.silos
                         ? "the same command with --resume goes on and repeats them at no charge, "
                         : "it cannot be resumed; ",
                     has_charged);
}

std::vector<std::string> ChargedRun::runs_with_sample(const PlannedRelease& planned) const {
  if (has_new_release_) return {};
  const std::string label = label_of_begun(planned);
  std::vector<std::string> found;
  const auto& runs = journal_.run_ids();
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (journal_.fingerprint_of(*run, label) != nullptr) found.push_back(*run);
  }
  return found;
}

std::string ChargedRun::sample_id(const PlannedRelease& planned, const std::string& run_id) const {
  return randomness_id(run_id, label_of_begun(planned));
}

std::optional<std::string> ChargedRun::charge_again(const PlannedRelease& planned, const std::string& run,
                                                    const std::string& fingerprint) {
  const std::string label = label_of_begun(planned);
  if (*journal_.fingerprint_of(run, label) != fingerprint) return std::nullopt;
  const LedgerEntry entry = entry_of(planned);
  if (is_on_file(entry, run, label)) return fmt::format("{}/{}", randomness_id(run, label), fingerprint);
  if (run != run_id()) return std::nullopt;
  return append(entry, label, fingerprint);  // the run was killed before its line was written
}

std::string ChargedRun::run_of_new_sample(const PlannedRelease& planned) {
  const std::string label = label_of_begun(planned);
  require_not_ended(label);
  const bool is_drawn =
      journal_.fingerprint_of(run_id(), label) != nullptr || on_file_.contains(release_id(run_id(), label));
  if (is_drawn) begin_anew();
  return run_id();
}

std::string ChargedRun::charge_new_sample(const PlannedRelease& planned, const std::string& fingerprint) {
  return append(entry_of(planned), label_of_begun(planned), fingerprint);
}

// The first round that is not charged yet. Every round that was begun is charged, but for the one that was begun last.
std::uint64_t ChargedRun::first_round_left(const std::string& name) const {
  const auto begun = rounds_begun_.find(name);
  if (begun == rounds_begun_.end()) return 1;
  return begun->second + (name == current_ ? 0 : 1);
}

// All that this run may still charge, in the place of what it has reserved under an earlier id: a run that began anew,
// or was killed while it did, has that.
Reservation ChargedRun::rest() {
  Reservation all = reservation_of(plan_, run_id(), terms_);
  Reservation rest{.run_id = all.run_id, .terms = all.terms, .releases = {}, .selections = {}};
  for (std::size_t r = 0; r < plan_.releases.size(); ++r) {
    const PlannedRelease& planned = plan_.releases[r];
    std::uint64_t left = 0;
    for (std::uint64_t round = first_round_left(planned.name); round <= planned.rounds; ++round) {
      if (!on_file_.contains(release_id(run_id(), label_of_round(planned, round)))) ++left;
    }
    if (left == 0) continue;
    rest.releases.push_back(all.releases[r]);
    rest.releases.back().rounds = left;
  }
  for (const PlannedSelection& planned : plan_.selections) {
    const bool is_left = first_round_left(planned.name) == 1 && !on_file_.contains(release_id(run_id(), planned.name));
    if (is_left) rest.selections.push_back(planned);
  }
  for (const std::string& before : journal_.run_ids()) {
    if (before != run_id() && ledger_.current().open_run(before) != nullptr) rest.instead_of = before;
  }
  return rest;
}

// Called when the statistic is not the one that the run has charged: what follows is charged under another id.
void ChargedRun::begin_anew() {
  journal_.begin_run();
  has_reserved_ = false;
}

}  // namespace dpreduce
