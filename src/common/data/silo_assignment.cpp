#include "common/data/silo_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

// Streams of the counter-based generator.
constexpr std::uint64_t kDealStream = 11;
constexpr std::uint64_t kShareStream = std::uint64_t{1} << 41;  // and the stratum
constexpr std::uint64_t kPlaceStream = std::uint64_t{1} << 42;  // and the stratum
// Below, exp is 0 beside a largest share of at least 1 / k.
constexpr double kSmallestLog = -700.0;

using Counts = std::vector<std::uint64_t>;  // of each silo

// log of a gamma variate of that shape, numbers from *next on.
double log_gamma_variate(double shape, const CounterRandom& random, std::uint64_t* next) {
  const auto uniform = [&] { return (static_cast<double>(random.bits((*next)++) >> 11) + 1.0) * 0x1p-53; };
  if (shape < 1.0) {
    const double boost = portable_log(uniform()) / shape;
    return log_gamma_variate(shape + 1.0, random, next) + boost;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    // normals(m) is made of bits 2 m and 2 m + 1.
    *next += *next % 2;
    const double x = random.normals(*next / 2).first;
    *next += 2;
    const double u = uniform();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (portable_log(u) < 0.5 * x * x + d - d * v + d * portable_log(v)) return portable_log(d) + portable_log(v);
  }
}

// Rows spread as evenly as integers allow: the first holders have one row more than the last.
Counts even_counts(std::size_t silos, const std::vector<std::size_t>& holders, std::uint64_t rows) {
  Counts counts(silos, 0);
  for (std::size_t h = 0; h < holders.size(); ++h) {
    counts[holders[h]] = rows / holders.size() + (h < rows % holders.size() ? 1 : 0);
  }
  return counts;
}

// Each class with the silos that hold it.
std::vector<std::vector<std::size_t>> deal_classes(const SiloSpec& spec, std::size_t classes) {
  DPREDUCE_ASSERT(spec.classes_per_silo >= 1 && spec.classes_per_silo <= classes);
  DPREDUCE_ASSERT(spec.silos >= (classes + spec.classes_per_silo - 1) / spec.classes_per_silo);
  const IndexPermutation order(classes, spec.seed, kDealStream);
  std::vector<std::vector<std::size_t>> holders(classes);
  for (std::size_t silo = 0; silo < spec.silos; ++silo) {
    for (std::size_t j = 0; j < spec.classes_per_silo; ++j) {
      holders[order((silo * spec.classes_per_silo + j) % classes)].push_back(silo);
    }
  }
  return holders;
}

std::vector<Counts> planned_counts(const SiloSpec& spec, const std::vector<std::uint64_t>& strata) {
  std::vector<Counts> counts;
  if (spec.scheme == Partition::kDirichlet || spec.scheme == Partition::kQuantity) {
    for (std::size_t stratum = 0; stratum < strata.size(); ++stratum) {
      const CounterRandom random(spec.seed, kShareStream + stratum);
      Counts ends = ends_of_shares(dirichlet_shares(spec.silos, spec.alpha, random), strata[stratum]);
      std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
      counts.push_back(std::move(ends));
    }
    return counts;
  }
  std::vector<std::size_t> all(spec.silos);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const bool deals = spec.scheme == Partition::kClasses;
  const auto holders = deals ? deal_classes(spec, strata.size()) : std::vector<std::vector<std::size_t>>{all};
  for (std::size_t stratum = 0; stratum < strata.size(); ++stratum) {
    counts.push_back(even_counts(spec.silos, holders[stratum], strata[stratum]));
  }
  return counts;
}

Counts rows_of_silos(const std::vector<Counts>& counts, std::size_t silos) {
  Counts rows(silos, 0);
  for (const Counts& of_stratum : counts) {
    for (std::size_t silo = 0; silo < silos; ++silo) rows[silo] += of_stratum[silo];
  }
  return rows;
}

// A row for each silo without any, out of the largest stratum of the silo that has most. There are enough.
void fill_empty_silos(std::vector<Counts>& counts, Counts& rows) {
  for (std::size_t silo = 0; silo < rows.size(); ++silo) {
    if (rows[silo] > 0) continue;
    const auto donor = static_cast<std::size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin());
    Counts& stratum = *std::max_element(counts.begin(), counts.end(),
                                        [&](const Counts& a, const Counts& b) { return a[donor] < b[donor]; });
    --stratum[donor];
    --rows[donor];
    ++stratum[silo];
    ++rows[silo];
  }
}

}  // namespace

bool is_label_skew(Partition scheme) {
  return scheme == Partition::kDirichlet || scheme == Partition::kClasses;
}

std::vector<double> dirichlet_shares(std::size_t count, double alpha, const CounterRandom& random) {
  DPREDUCE_ASSERT(count >= 1 && alpha > 0.0 && std::isfinite(alpha));
  std::vector<double> shares(count);
  std::uint64_t next = 0;
  for (double& share : shares) share = log_gamma_variate(alpha, random, &next);
  const double largest = *std::max_element(shares.begin(), shares.end());
  double total = 0.0;
  for (double& share : shares) {
    share = share - largest < kSmallestLog ? 0.0 : portable_exp(share - largest);
    total += share;
  }
  for (double& share : shares) share /= total;
  return shares;
}

std::vector<std::uint64_t> ends_of_shares(const std::vector<double>& shares, std::uint64_t rows) {
  std::vector<std::uint64_t> ends(shares.size());
  double sum = 0.0;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    sum += shares[part];
    ends[part] = std::min(rows, static_cast<std::uint64_t>(static_cast<double>(rows) * sum + 0.5));
  }
  ends.back() = rows;
  return ends;
}

SiloAssignment::SiloAssignment(const SiloSpec& spec, const std::vector<std::uint64_t>& class_counts) {
  DPREDUCE_ASSERT(spec.silos >= 1 && !class_counts.empty());
  DPREDUCE_ASSERT(is_label_skew(spec.scheme) || class_counts.size() == 1);
  const std::uint64_t rows = std::accumulate(class_counts.begin(), class_counts.end(), std::uint64_t{0});
  if (rows < spec.silos) {
    throw UsageError("--silos {}: there are {} rows; give at most one silo a row", spec.silos, rows);
  }
  std::vector<Counts> counts = planned_counts(spec, class_counts);
  rows_ = rows_of_silos(counts, spec.silos);
  if (spec.scheme == Partition::kClasses) {
    const auto empty = std::find(rows_.begin(), rows_.end(), 0u);
    if (empty != rows_.end()) {
      throw UsageError(
          "--silos {0}: the classes of silo {1} of {0} have too few rows for all silos that hold them; "
          "give fewer silos or more --classes-per-silo",
          spec.silos, empty - rows_.begin() + 1);
    }
  }
  fill_empty_silos(counts, rows_);
  for (std::size_t stratum = 0; stratum < counts.size(); ++stratum) {
    Counts ends(spec.silos);
    std::partial_sum(counts[stratum].begin(), counts[stratum].end(), ends.begin());
    strata_.push_back({std::move(ends), IndexPermutation(class_counts[stratum], spec.seed, kPlaceStream + stratum), 0});
  }
}

std::size_t SiloAssignment::next(std::size_t stratum) {
  DPREDUCE_ASSERT(stratum < strata_.size());
  Stratum& of = strata_[stratum];
  DPREDUCE_ASSERT(of.next_row < of.ends.back());
  const std::uint64_t place = of.place(of.next_row++);
  return static_cast<std::size_t>(std::upper_bound(of.ends.begin(), of.ends.end(), place) - of.ends.begin());
}

void SiloAssignment::rewind() {
  for (Stratum& stratum : strata_) stratum.next_row = 0;
}

}  // namespace dpreduce
