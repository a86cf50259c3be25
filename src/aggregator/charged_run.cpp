#include "dpreduce/aggregator/charged_run.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"

namespace dpreduce {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

// 128 random bits that name the run in the ledger.
std::string make_run_id() {
  std::array<std::byte, 16> bytes{};
  secure_bytes(bytes);
  return hex(bytes);
}

std::string release_id(const std::string& run_id, std::string_view release) {
  return fmt::format("{}/{}", run_id, release);
}

// Whether a charge on file is of this very release, but for the run that made it.
bool is_same_release(LedgerEntry on_file, const LedgerEntry& entry) {
  const auto release_of = [](const std::string& id) { return id.substr(id.find('/') + 1); };
  if (release_of(on_file.release_id) != release_of(entry.release_id)) return false;
  on_file.release_id = entry.release_id;
  return on_file == entry;
}

// The same, but for run and statistic.
bool has_same_terms(LedgerEntry on_file, const LedgerEntry& entry) {
  on_file.data_digest = entry.data_digest;
  return is_same_release(std::move(on_file), entry);
}

}  // namespace

ChargedRun::ChargedRun(NoisePlan plan, NoiseKey key, Charging charging, LedgerContext context)
    : plan_(std::move(plan)),
      key_(std::move(key)),
      run_id_(charging.run_id.empty() ? make_run_id() : charging.run_id),
      charging_(std::move(charging)),
      ledger_(charging_.ledger_path),
      context_(std::move(context)) {}

void ChargedRun::begin(const std::string& name, std::uint64_t planned_rounds) {
  const std::uint64_t round = ++rounds_begun_[name];
  DPREDUCE_ASSERT(round <= planned_rounds);
  current_ = name;
}

void ChargedRun::begin(const PlannedRelease& planned) {
  begin(planned.name, planned.rounds);
}

void ChargedRun::begin(const PlannedSelection& planned) {
  begin(planned.name, 1);
}

void ChargedRun::require_charged(std::span<const std::string> labels) const {
  std::set<std::string> on_file;
  for (const LedgerRecord& record : Ledger::read(charging_.ledger_path)) on_file.insert(record.entry.release_id);
  for (const std::string& label : labels) {
    const std::string id = release_id(run_id_, label);
    if (on_file.contains(id)) continue;
    throw ResumeMismatch(
        fmt::format("--ledger {}: has no line of release {}, which the run to resume has made; name "
                    "the ledger that it was charged on",
                    charging_.ledger_path, id));
  }
}

RandomStream ChargedRun::stream(std::string_view purpose, const std::string& context) const {
  return key_.stream(purpose, std::as_bytes(std::span(context)));
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

// Without its cost.
LedgerEntry ChargedRun::entry_of(const std::string& label, const std::string& fingerprint) const {
  std::array<std::byte, 32> data_digest{};
  stream("data digest", fingerprint).fill(data_digest);

  LedgerEntry entry;
  entry.release_id = release_id(run_id_, label);
  entry.method = context_.method;
  entry.adjacency = plan_.adjacency;
  entry.accountant = context_.accountant;
  entry.is_private = key_.is_private();
  entry.epsilon = context_.epsilon;
  entry.delta = context_.delta;
  entry.config_digest = context_.config_digest;
  entry.data_digest = hex(data_digest);
  entry.version = context_.version;
  entry.silos = silos_;
  return entry;
}

// Of the round that was begun.
LedgerEntry ChargedRun::entry_of(const PlannedRelease& planned, const std::string& fingerprint) const {
  LedgerEntry entry = entry_of(label_of_begun(planned), fingerprint);
  for (const PlannedBlock& block : planned.blocks) {
    entry.blocks.push_back({block.name, block.elements, block.sensitivity, block.sigma});
  }
  entry.sampling_rate = planned.sampling_rate;
  entry.mu = mu_of_rounds(planned, 1);
  return entry;
}

std::string ChargedRun::label_of_begun(const PlannedRelease& planned) const {
  return label_of_round(planned, rounds_begun_.at(planned.name));
}

std::string ChargedRun::charge(const PlannedRelease& planned, const std::string& fingerprint) {
  return charge(entry_of(planned, fingerprint), label_of_begun(planned), fingerprint);
}

std::vector<std::string> ChargedRun::sample_ids(const PlannedRelease& planned) const {
  const LedgerEntry entry = entry_of(planned, {});
  std::vector<std::string> ids;
  if (charging_.replay == Replay::kChargedBefore && !has_new_sample_) {
    const std::vector<LedgerRecord> records = Ledger::read(charging_.ledger_path);
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
      if (has_same_terms(record->entry, entry)) ids.push_back(record->entry.release_id);
    }
  }
  ids.push_back(entry.is_private ? entry.release_id : release_id("seeded", label_of_begun(planned)));
  return ids;
}

bool ChargedRun::is_on_file(const PlannedRelease& planned, const std::string& id,
                            const std::string& fingerprint) const {
  LedgerEntry entry = entry_of(planned, fingerprint);
  entry.release_id = id;
  const std::vector<LedgerRecord> records = Ledger::read(charging_.ledger_path);
  return std::any_of(records.begin(), records.end(), [&](const LedgerRecord& record) { return record.entry == entry; });
}

std::string ChargedRun::charge_new_sample(const PlannedRelease& planned, const std::string& fingerprint) {
  has_new_sample_ = true;
  return append(entry_of(planned, fingerprint), label_of_begun(planned), fingerprint);
}

std::string ChargedRun::charge(const PlannedSelection& planned, const std::string& fingerprint) {
  LedgerEntry entry = entry_of(planned.name, fingerprint);
  entry.selection = planned.terms;
  return charge(entry, planned.name, fingerprint);
}

std::string ChargedRun::charge(const LedgerEntry& entry, const std::string& label, const std::string& fingerprint) {
  if (charging_.replay == Replay::kChargedBefore) {
    const std::vector<LedgerRecord> records = Ledger::read(charging_.ledger_path);
    const auto charged = std::find_if(records.rbegin(), records.rend(),
                                      [&](const LedgerRecord& record) { return is_same_release(record.entry, entry); });
    if (charged != records.rend()) return fmt::format("{}/{}", charged->entry.release_id, fingerprint);
  }
  return append(entry, label, fingerprint);
}

std::string ChargedRun::append(const LedgerEntry& entry, const std::string& label, const std::string& fingerprint) {
  std::optional<Allowance> allowance;
  if (charging_.limit && entry.is_private) allowance = Allowance{*charging_.limit, plan_.adjacency, remaining()};
  ledger_.append(entry, allowance);
  // Under a seed randomness must not depend on the run's name, which is new every time.
  return fmt::format("{}/{}", entry.is_private ? entry.release_id : release_id("seeded", label), fingerprint);
}

// The round that was begun last counts: it is what the charge is for.
std::uint64_t ChargedRun::rounds_left(const std::string& name, std::uint64_t planned_rounds) const {
  const auto begun = rounds_begun_.find(name);
  if (begun == rounds_begun_.end()) return planned_rounds;
  return planned_rounds - begun->second + (name == current_ ? 1 : 0);
}

// What all that is still to be made will cost.
Spending ChargedRun::remaining() const {
  Spending rest;
  std::vector<double> mus;
  for (const PlannedRelease& planned : plan_.releases) {
    const std::uint64_t left = rounds_left(planned.name, planned.rounds);
    if (left == 0) continue;
    if (planned.is_sampled()) {
      rest.samples.push_back(sampled_rounds(mu_of_rounds(planned, 1), planned.sampling_rate, left));
    } else {
      mus.push_back(mu_of_rounds(planned, left));
    }
  }
  rest.mu = gdp_compose(mus);
  for (const PlannedSelection& planned : plan_.selections) {
    if (rounds_left(planned.name, 1) > 0) rest.selections.push_back({loss_of(planned.terms), 1});
  }
  return rest;
}

}  // namespace dpreduce
