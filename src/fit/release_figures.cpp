#include "fit/release_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "aggregator/solvers/gram_spectrum.hpp"
#include "common/kernels/vector_width.hpp"
#include "common/ledger/triangle.hpp"

namespace dpreduce {
namespace {

double norm_of(const ReleasedBlock& block) {
  const std::span<const std::int64_t> values = block.values();
  double sum = 0.0;
  run_at_full_width([&]<std::size_t width>(Doubles<width>) {
    EightDoubles<width> squares(0.0);
    std::size_t e = 0;
    for (; e + 8 <= values.size(); e += 8) {
      std::array<double, 8> entries;
      for (std::size_t lane = 0; lane < 8; ++lane) entries[lane] = to_double<width>(values[e + lane]);
      squares += EightDoubles<width>(entries.data()) * EightDoubles<width>(entries.data());
    }
    sum = squares.sum();
    for (; e < values.size(); ++e) sum += to_double<width>(values[e]) * to_double<width>(values[e]);
  });
  return std::sqrt(sum);
}

SpectrumFigures spectrum_of(const ReleasedBlock& block, const std::string& label, const Lattice& lattice) {
  const double unit = lattice.clip_norm * lattice.clip_norm;
  SpectrumFigures figures{label, block.name(), released_eigenvalues(block, lattice),
                          2.0 * noise_radius_of(block, lattice) / unit};
  std::ranges::reverse(figures.eigenvalues);
  for (double& eigenvalue : figures.eigenvalues) eigenvalue /= unit;
  return figures;
}

std::optional<ClassShares> shares_of(const ReleasedBlock& sizes) {
  ClassShares released{{}, sizes.sigma()};
  double rows = 0.0;
  for (const std::int64_t size : sizes.values()) {
    released.shares.push_back(std::max(static_cast<double>(size), 0.0));
    rows += released.shares.back();
  }
  if (rows <= 0.0) return std::nullopt;
  for (double& share : released.shares) share /= rows;
  released.noise /= rows;
  return released;
}

}  // namespace

double noise_norm(const PlannedBlock& block, double sigma) {
  auto variances = static_cast<double>(block.elements);
  if (block.noise == BlockNoise::kSymmetric) {
    const auto triangles = static_cast<double>(block.triangles);
    const auto order = static_cast<double>(triangle_order(block.elements / block.triangles).value());
    variances = triangles * (order + order * (order - 1.0) / 4.0);
  }
  return sigma * std::sqrt(variances);
}

std::span<const BlockFigures> ReleaseFigures::add(const WatchedRelease& watched) {
  spectra();
  const PlannedRelease& planned = plan_.release(watched.name);
  const std::string label = label_of_round(planned, ++rounds_[planned.name]);
  const std::size_t known = blocks_.size();
  for (const ReleasedBlock& block : watched.release.blocks()) {
    const PlannedBlock& of_plan = planned.block(block.name());
    if (block.name() == "class_counts" && !class_shares_) class_shares_ = shares_of(block);
    blocks_.push_back({label, block.name(), norm_of(block), noise_norm(of_plan, block.sigma())});
    const bool is_gram = of_plan.noise == BlockNoise::kSymmetric && of_plan.triangles == 1;
    const auto order = with_spectra_ && is_gram ? triangle_order(of_plan.elements) : std::nullopt;
    if (order && *order <= kLargestSpectrum && *order == watched.preprocessing.output_dim()) {
      const Lattice lattice{watched.preprocessing.clip_norm, *order};
      add_spectrum_ = [this, label, block, lattice] { spectra_.push_back(spectrum_of(block, label, lattice)); };
    }
  }
  return std::span(blocks_).subspan(known);
}

const std::vector<SpectrumFigures>& ReleaseFigures::spectra() {
  if (const auto add_spectrum = std::exchange(add_spectrum_, nullptr)) add_spectrum();
  return spectra_;
}

}  // namespace dpreduce
