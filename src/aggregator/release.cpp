#include "dpreduce/aggregator/release.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/randomness/rounded_gaussian.hpp"

namespace dpreduce {
namespace {

// Noise is drawn and added in pieces of this many coordinates: 512 KiB, in the second-level cache.
constexpr std::size_t kNoisePiece = std::size_t{1} << 16;

// 128 random bits that name the run in the ledger.
std::string make_run_id() {
  std::array<std::byte, 16> bytes{};
  secure_bytes(bytes);
  std::string id;
  for (const std::byte byte : bytes) id += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return id;
}

std::string release_id(const std::string& run_id, std::string_view release) {
  return fmt::format("{}/{}", run_id, release);
}

}  // namespace

const ReleasedBlock& Release::block(std::string_view name) const {
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& block) { return block.name() == name; });
  DPREDUCE_ASSERT(found != blocks_.end());
  return *found;
}

Releaser::Releaser(Communicator& ranks) : ranks_(ranks) {}

Releaser::Releaser(Communicator& ranks, NoisePlan plan, NoiseKey key, std::string ledger_path, LedgerContext context)
    : ranks_(ranks) {
  // Under a seed the noise must not depend on the name, which is new in every run.
  std::string run_id = make_run_id();
  std::string noise_id = key.is_private() ? run_id : "seeded";
  noise_.emplace(Noise{std::move(plan), std::move(key), std::move(run_id), std::move(noise_id),
                       Ledger(std::move(ledger_path)), std::move(context)});
}

void Releaser::charge(const PlannedRelease& planned) {
  const LedgerContext& context = noise_->context;
  LedgerEntry entry{.release_id = release_id(noise_->run_id, planned.name),
                    .method = context.method,
                    .adjacency = noise_->plan.adjacency,
                    .accountant = context.accountant,
                    .is_private = noise_->key.is_private(),
                    .rounds = planned.rounds,
                    .blocks = {},
                    .mu = planned.mu,
                    .epsilon = context.epsilon,
                    .delta = context.delta,
                    .config_digest = context.config_digest,
                    .data_digest = context.data_digest,
                    .version = context.version};
  for (const PlannedBlock& block : planned.blocks) {
    entry.blocks.push_back({block.name, block.elements, block.sensitivity, block.sigma});
  }
  noise_->ledger.append(entry);
}

void Releaser::add_noise(const PlannedRelease& planned, Statistic& statistic) {
  std::vector<std::int64_t> piece;
  for (const PlannedBlock& block : planned.blocks) {
    const std::string context = fmt::format("{}/{}", release_id(noise_->noise_id, planned.name), block.name);
    RandomStream stream = noise_->key.stream("noise", std::as_bytes(std::span(context)));
    const std::span<std::int64_t> values = statistic.block(statistic.index_of(block.name));
    for (std::size_t first = 0; first < values.size(); first += kNoisePiece) {
      piece.resize(std::min(kNoisePiece, values.size() - first));
      fill_rounded_gaussian(stream, block.sigma, piece);
      for (std::size_t e = 0; e < piece.size(); ++e) {
        std::int64_t& value = values[first + e];
        value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(piece[e]));
      }
    }
  }
  cleanse(piece.data(), piece.size() * sizeof(piece[0]));
}

Release Releaser::release(std::string_view name, Statistic local) {
  DPREDUCE_ASSERT(std::find(made_.begin(), made_.end(), name) == made_.end());
  made_.emplace_back(name);

  const PlannedRelease* planned = noise_ ? &noise_->plan.release(name) : nullptr;
  ranks_.together([&] {
    if (planned == nullptr || !ranks_.is_coordinator()) return;
    charge(*planned);
    add_noise(*planned, local);
  });
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
