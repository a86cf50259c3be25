#include "aggregator/release/block_noise.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "common/accounting/high_precision.hpp"
#include "common/base/error.hpp"
#include "common/ledger/triangle.hpp"
#include "common/randomness/rounded_gaussian.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
void add_noise(ReleaseKey& key, const PlannedBlock& block, const std::string& part, std::span<std::int64_t> values,
               NoisePieces pieces) {
  const auto add_stream = [&](const std::string& name, double sigma, std::span<std::int64_t> elements) {
    std::vector<std::int64_t> piece;
    for (std::size_t number = pieces.first; number * kNoisePiece < elements.size(); number += pieces.step) {
      const std::string whole = fmt::format("{}/{}", block.name, name);
      RandomStream stream = key.stream(number == 0 ? whole : fmt::format("{}/{}", whole, number));
      const std::size_t first = number * kNoisePiece;
      piece.resize(std::min(kNoisePiece, elements.size() - first));
      if (block.fraction_bits == 0) {
        fill_rounded_gaussian(stream, sigma, piece);
      } else {
        fill_floored_gaussian(stream, sigma, block.fraction_bits, piece);
      }
      for (std::size_t e = 0; e < piece.size(); ++e) {
        std::int64_t& element = elements[first + e];
        element = static_cast<std::int64_t>(static_cast<std::uint64_t>(element) + static_cast<std::uint64_t>(piece[e]));
      }
    }
    cleanse(piece.data(), piece.size() * sizeof(std::int64_t));
  };
  if (block.noise == BlockNoise::kEqual) {
    add_stream(part, block.sigma, values);
    return;
  }
  DPREDUCE_ASSERT(block.fraction_bits == 0);
  const std::uint64_t triangle = block.elements / block.triangles;
  const std::uint64_t order = triangle_order(triangle).value();
  DPREDUCE_ASSERT(values.size() % triangle == 0);
  const auto on_diagonal = [&](std::uint64_t i) -> std::int64_t& {
    return values[i / order * triangle + triangle_row(i % order, order)];
  };
  SecretVector<std::int64_t> diagonal(values.size() / triangle * order);
  for (std::uint64_t i = 0; i < diagonal.size(); ++i) diagonal[i] = on_diagonal(i);
  add_stream(part + "/diagonal", block.sigma, diagonal);
  add_stream(part, off_diagonal_sigma(block.sigma), values);
  for (std::uint64_t i = 0; i < diagonal.size(); ++i) on_diagonal(i) = diagonal[i];
}

void round_to_units(std::span<std::int64_t> values, unsigned fraction_bits) {
  if (fraction_bits == 0) return;
  const std::int64_t half = std::int64_t{1} << (fraction_bits - 1);
  for (std::int64_t& value : values) value = (value >> fraction_bits) + ((value & (2 * half - 1)) >= half ? 1 : 0);
}

namespace {

// Below the rounding of share_sigma, so that the share of a guaranteed sigma is that share again.
constexpr double kBelowRounding = 1.0 - 8.0 * std::numeric_limits<double>::epsilon();

}  // namespace

NoisePlan NoiseShares::guaranteed(NoisePlan plan) const {
  HighPrecision squared_mu = 0;
  for (PlannedRelease& release : plan.releases) {
    std::vector<double> sigmas;
    for (PlannedBlock& block : release.blocks) {
      const double together = std::sqrt(static_cast<double>(honest)) * share_sigma(block.sigma, block.noise);
      if (together * kBelowRounding > block.sigma) {
        block.sigma = together * kBelowRounding;
        block.mu = round_up(release.rows_per_unit * sqrt(HighPrecision(block.squared_sensitivity)) / block.sigma);
      }
      sigmas.push_back(block.sigma);
    }
    release.mu = realized_mu(sigmas, release.profiles, release.rounds, release.rows_per_unit);
    squared_mu += HighPrecision(release.mu) * release.mu;
  }
  plan.mu = round_up(sqrt(squared_mu));
  return plan;
}

double sigma_of_sum(const PlannedBlock& block, const std::optional<NoiseShares>& shares, const Communicator& ranks) {
  if (!shares || !ranks.is_coordinator()) return block.sigma;
  const std::size_t silos = ranks.silos()->coordinator()->last_summed().size();
  return shares->share_sigma(block.sigma, block.noise) * std::sqrt(static_cast<double>(silos));
}

}  // namespace dpreduce
