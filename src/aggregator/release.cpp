#include "dpreduce/aggregator/release.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dpreduce/aggregator/statistic_fingerprint.hpp"
#include "dpreduce/config/error.hpp"
#include "dpreduce/privacy/gaussian_dp.hpp"
#include "dpreduce/privacy/triangle.hpp"
#include "dpreduce/randomness/rounded_gaussian.hpp"

namespace dpreduce {
namespace {

// Noise is drawn and added in pieces of this many coordinates: 512 KiB, in the second-level cache.
constexpr std::size_t kNoisePiece = std::size_t{1} << 16;

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

// What so many rounds of a release cost.
double mu_of_rounds(const PlannedRelease& planned, std::uint64_t rounds) {
  std::vector<double> sigmas;
  for (const PlannedBlock& block : planned.blocks) sigmas.push_back(block.sigma);
  return realised_mu(sigmas, planned.profiles, rounds);
}

// Whether a charge on file is of this very release, but for the run that made it.
bool is_same_release(LedgerEntry on_file, const LedgerEntry& entry) {
  const auto release_of = [](const std::string& id) { return id.substr(id.find('/') + 1); };
  if (release_of(on_file.release_id) != release_of(entry.release_id)) return false;
  on_file.release_id = entry.release_id;
  return on_file == entry;
}

}  // namespace

const ReleasedBlock& Release::block(std::string_view name) const {
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& block) { return block.name() == name; });
  DPREDUCE_ASSERT(found != blocks_.end());
  return *found;
}

Releaser::Releaser(Communicator& ranks) : ranks_(ranks) {}

Releaser::Releaser(Communicator& ranks, NoisePlan plan, NoiseKey key, Charging charging, LedgerContext context)
    : ranks_(ranks) {
  std::string run_id = make_run_id();
  Ledger ledger(charging.ledger_path);
  noise_.emplace(Noise{std::move(plan), std::move(key), std::move(run_id), std::move(ledger), std::move(charging),
                       std::move(context)});
}

// Of the statistic over all ranks; on the coordinator. Collective.
std::string Releaser::fingerprint(std::string_view name, const Statistic& local) {
  SecretVector<std::byte> secret(32);
  if (ranks_.is_coordinator()) {
    noise_->key.stream("fingerprint key", std::as_bytes(std::span(name))).fill(secret);
  }
  ranks_.broadcast(std::span<std::byte>(secret));
  const NoiseKey coefficients = NoiseKey::from_bytes(std::span<const std::byte, 32>(secret));
  RandomStream stream = coefficients.stream("coefficients", {});
  FingerprintPart part = fingerprint_part(local, stream);
  ranks_.sum_to_coordinator(part);
  return fingerprint_of(part);
}

LedgerEntry Releaser::entry_of(const PlannedRelease& planned, const std::string& fingerprint) const {
  std::array<std::byte, 32> data_digest{};
  noise_->key.stream("data digest", std::as_bytes(std::span(fingerprint))).fill(data_digest);

  const LedgerContext& context = noise_->context;
  LedgerEntry entry;
  entry.release_id = release_id(noise_->run_id, label_of_round(planned, rounds_made_.at(planned.name)));
  entry.method = context.method;
  entry.adjacency = noise_->plan.adjacency;
  entry.accountant = context.accountant;
  entry.is_private = noise_->key.is_private();
  entry.rounds = 1;
  for (const PlannedBlock& block : planned.blocks) {
    entry.blocks.push_back({block.name, block.elements, block.sensitivity, block.sigma});
  }
  entry.mu = mu_of_rounds(planned, 1);
  entry.epsilon = context.epsilon;
  entry.delta = context.delta;
  entry.config_digest = context.config_digest;
  entry.data_digest = hex(data_digest);
  entry.version = context.version;
  return entry;
}

// Returns the id that the release's noise is drawn under.
std::string Releaser::charge(const PlannedRelease& planned, const std::string& fingerprint) {
  const LedgerEntry entry = entry_of(planned, fingerprint);
  if (noise_->charging.replay == Replay::kChargedBefore) {
    const std::vector<LedgerRecord> records = Ledger::read(noise_->charging.ledger_path);
    const auto charged = std::find_if(records.rbegin(), records.rend(),
                                      [&](const LedgerRecord& record) { return is_same_release(record.entry, entry); });
    if (charged != records.rend()) return charged->entry.release_id;
  }
  std::optional<Allowance> allowance;
  if (noise_->charging.limit_mu && entry.is_private) {
    allowance = Allowance{*noise_->charging.limit_mu, remaining_mu(planned)};
  }
  noise_->ledger.append(entry, allowance);
  // Under a seed the noise must not depend on the run's name, which is new every time.
  return entry.is_private ? entry.release_id
                          : release_id("seeded", label_of_round(planned, rounds_made_.at(planned.name)));
}

// mu of all rounds that are still to be made, the current one included.
double Releaser::remaining_mu(const PlannedRelease& current) const {
  std::vector<double> mus;
  for (const PlannedRelease& planned : noise_->plan.releases) {
    const auto made = rounds_made_.find(planned.name);
    const std::uint64_t begun = made == rounds_made_.end() ? 0 : made->second;
    const std::uint64_t left = planned.rounds - begun + (planned.name == current.name ? 1 : 0);
    if (left > 0) mus.push_back(mu_of_rounds(planned, left));
  }
  return gdp_compose(mus);
}

void Releaser::add_noise(const PlannedBlock& block, const std::string& noise_id, std::span<std::int64_t> values) const {
  const auto add_stream = [&](const std::string& part, double sigma, std::span<std::int64_t> elements) {
    const std::string context = fmt::format("{}/{}", noise_id, part);
    RandomStream stream = noise_->key.stream("noise", std::as_bytes(std::span(context)));
    std::vector<std::int64_t> piece;
    for (std::size_t first = 0; first < elements.size(); first += kNoisePiece) {
      piece.resize(std::min(kNoisePiece, elements.size() - first));
      fill_rounded_gaussian(stream, sigma, piece);
      for (std::size_t e = 0; e < piece.size(); ++e) {
        std::int64_t& element = elements[first + e];
        element = static_cast<std::int64_t>(static_cast<std::uint64_t>(element) + static_cast<std::uint64_t>(piece[e]));
      }
    }
    cleanse(piece.data(), piece.size() * sizeof(std::int64_t));
  };
  if (block.noise == BlockNoise::kEqual) {
    add_stream(block.name, block.sigma, values);
    return;
  }
  const std::uint64_t order = triangle_order(values.size()).value();
  SecretVector<std::int64_t> diagonal(order);
  for (std::uint64_t i = 0; i < order; ++i) diagonal[i] = values[triangle_row(i, order)];
  add_stream(block.name + "/diagonal", block.sigma, diagonal);
  add_stream(block.name, off_diagonal_sigma(block.sigma), values);
  for (std::uint64_t i = 0; i < order; ++i) values[triangle_row(i, order)] = diagonal[i];
}

Release Releaser::release(std::string_view name, Statistic local) {
  const PlannedRelease* planned = noise_ ? &noise_->plan.release(name) : nullptr;
  const std::uint64_t round = ++rounds_made_[std::string(name)];
  DPREDUCE_ASSERT(planned == nullptr || round <= planned->rounds);
  if (planned != nullptr) {
    const std::string whole = fingerprint(name, local);
    ranks_.together([&] {
      if (!ranks_.is_coordinator()) return;
      const std::string id = charge(*planned, whole);
      for (const PlannedBlock& block : planned->blocks) {
        add_noise(block, fmt::format("{}/{}", id, whole), local.block(local.index_of(block.name)));
      }
    });
  }
  ranks_.sum_to_coordinator(local.words());

  std::vector<ReleasedBlock> blocks;
  if (ranks_.is_coordinator()) {
    for (std::size_t b = 0; b < local.shape().size(); ++b) {
      const std::string& block_name = local.shape()[b].name;
      const auto values = local.block(b);
      blocks.emplace_back(block_name, std::vector<std::int64_t>(values.begin(), values.end()),
                          planned == nullptr ? 0.0 : planned->block(block_name).sigma);
    }
  }
  return Release(std::move(blocks));
}

}  // namespace dpreduce
