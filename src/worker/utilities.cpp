#include "worker/utilities.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/kernels/class_sums.hpp"
#include "common/kernels/integer_kernel.hpp"
#include "common/kernels/thread_team.hpp"
#include "worker/chunk_residuals.hpp"
#include "worker/lattice_stream.hpp"
#include "worker/residuals.hpp"
#include "worker/unit_norms.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::int64_t kDigitBase = 2 * kLatticeNorm + 1;
constexpr std::int64_t kSquaredRowNorm = kLatticeNorm * kLatticeNorm;
// Candidates that a thread sums up at a time: their sums stay in the first-level cache.
constexpr std::size_t kCandidatesOfStep = 1024;

// K x m utilities, of which a chunk of public rows takes some columns.
struct UtilityTable {
  std::span<std::int64_t> values;
  std::size_t candidates;  // m

  std::int64_t* at(std::size_t label, std::size_t candidate) const {
    return values.data() + label * candidates + candidate;
  }
};

// Balanced digits of `numbers`, digit 0 of all of them, then digit 1, ...; as many as the longest has.
SecretVector<std::int16_t> balanced_digits(SecretVector<std::int64_t> numbers) {
  SecretVector<std::int16_t> digits;
  while (std::any_of(numbers.begin(), numbers.end(), [](std::int64_t number) { return number != 0; })) {
    digits.reserve(digits.size() + numbers.size());
    for (std::int64_t& number : numbers) {
      std::int64_t digit = number % kDigitBase;
      if (digit > kLatticeNorm) digit -= kDigitBase;
      if (digit < -kLatticeNorm) digit += kDigitBase;
      digits.push_back(static_cast<std::int16_t>(digit));
      number = (number - digit) / kDigitBase;
    }
  }
  return digits;
}

// Calls visit(chunk, index of its first row) for all public rows.
template <typename Visit>
void for_each_candidate_chunk(const StatisticInputs& candidates, const Visit& visit) {
  std::size_t first = 0;
  for_each_chunk(candidates, [&](const LatticeRows& chunk) {
    visit(chunk, first);
    first += chunk.rows();
  });
}

// ||b_c||^2 < 2^96, and so |<b_c, z>| < 2^48 S < 2^63, for all c.
void require_sums(std::span<const std::int64_t> sums, std::size_t dim) {
  constexpr WideSum kBound = WideSum{1} << 96;
  for (std::size_t first = 0; first < sums.size(); first += dim) {
    WideSum squared = 0;
    for (const std::int64_t sum : sums.subspan(first, dim)) {
      squared += WideSum{sum} * sum;  // at most 2^126 above the bound
      if (squared >= kBound) {
        throw BadInput(
            "--method public: utilities of that many rows in a class may not fit into 64 bits; train on fewer rows");
      }
    }
  }
}

void add_products_with_sums(const UtilityTable& utilities, SecretVector<std::int64_t> sums,
                            const StatisticInputs& candidates) {
  const std::size_t classes = candidates.plan.classes;
  const std::size_t dim = candidates.transform.output_dim();
  DPREDUCE_ASSERT(sums.size() == classes * dim);
  require_sums(sums, dim);
  const SecretVector<std::int16_t> digits = balanced_digits(std::move(sums));
  if (digits.empty()) return;
  const Int16View factors{digits.data(), digits.size() / dim, dim, dim};

  SecretVector<std::int64_t> products;
  for_each_candidate_chunk(candidates, [&](const LatticeRows& chunk, std::size_t first) {
    const std::size_t count = chunk.rows();
    products.assign(factors.rows * count, 0);
    select_kernel().accumulate_row_products(factors, view_of(chunk), {products.data(), factors.rows, count, count},
                                            candidates.plan.threads);
    // u_cz += sum_l 65535^l <b_cl, z>, mod 2^64
    std::uint64_t power = 1;
    for (std::size_t row = 0; row < factors.rows; ++row) {
      const std::size_t label = row % classes;
      if (row > 0 && label == 0) power *= static_cast<std::uint64_t>(kDigitBase);
      std::int64_t* const out = utilities.at(label, first);
      const std::int64_t* const product = products.data() + row * count;
      for (std::size_t z = 0; z < count; ++z) {
        out[z] = ring_sum(out[z], static_cast<std::int64_t>(power * static_cast<std::uint64_t>(product[z])));
      }
    }
  });
}

// Some rows of the worker, and their clipped products with all public rows.
class RowsOfPairs {
 public:
  RowsOfPairs(const UtilityTable& utilities, const CosineClip& clip, const StatisticInputs& inputs,
              const StatisticInputs& candidates, std::size_t capacity)
      : utilities_(utilities),
        least_(static_cast<std::int32_t>(clip.lower - kSquaredRowNorm)),
        most_(static_cast<std::int32_t>(clip.upper - kSquaredRowNorm)),
        candidates_(candidates),
        dim_(inputs.transform.output_dim()),
        capacity_(capacity),
        team_(inputs.plan.threads) {
    rows_.reserve(capacity * dim_);
    labels_.reserve(capacity);
  }

  // Takes the rows of the chunk that have a class; adds up pairs whenever memory is full.
  void append(const LatticeRows& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::span<const std::int32_t> classes = chunk.classes_of(row);
      if (classes.empty()) continue;
      rows_.insert(rows_.end(), chunk.row(row).begin(), chunk.row(row).end());
      labels_.push_back(classes.front());
      weights_.push_back(chunk.weight(row));
      if (labels_.size() == capacity_) add_up();
    }
  }

  // u_cz += sum over the rows taken; drops them. A pass over the public rows.
  void add_up() {
    if (labels_.empty()) return;
    std::vector<std::size_t> by_class(labels_.size());
    std::iota(by_class.begin(), by_class.end(), std::size_t{0});
    std::ranges::stable_sort(by_class, {}, [&](std::size_t row) { return labels_[row]; });
    for_each_candidate_chunk(candidates_, [&](const LatticeRows& chunk, std::size_t first) {
      for (std::size_t begin = 0; begin < by_class.size(); begin += kRowsOfPairs) {
        const std::size_t count = std::min(kRowsOfPairs, by_class.size() - begin);
        add_block(std::span(by_class).subspan(begin, count), chunk, first);
      }
    });
    rows_.clear();
    labels_.clear();
    weights_.clear();
  }

 private:
  void add_block(std::span<const std::size_t> rows, const LatticeRows& chunk, std::size_t first) {
    block_.resize(rows.size() * dim_);
    for (std::size_t place = 0; place < rows.size(); ++place) {
      std::copy_n(rows_.data() + rows[place] * dim_, dim_, block_.data() + place * dim_);
    }
    const std::size_t count = chunk.rows();
    products_.assign(rows.size() * count, 0);
    select_kernel().accumulate_row_products({block_.data(), rows.size(), dim_, dim_}, view_of(chunk),
                                            {products_.data(), rows.size(), count, count},
                                            static_cast<unsigned>(team_.size()));
    const std::size_t steps = (count + kCandidatesOfStep - 1) / kCandidatesOfStep;
    team_.for_each(steps, [&](std::size_t step) {
      const std::size_t begin = step * kCandidatesOfStep;
      const std::size_t width = std::min(kCandidatesOfStep, count - begin);
      for (std::size_t place = 0; place < rows.size(); ++place) {
        const auto label = static_cast<std::size_t>(labels_[rows[place]]);
        add_clipped({products_.data() + place * count + begin, width}, weights_[rows[place]],
                    utilities_.at(label, first + begin));
      }
    });
  }

  // clip(S^2 + p, lower, upper) - lower = clip(p, lower - S^2, upper - S^2) - (lower - S^2), all of it within 2 S^2: in
  // 32 bits, which any processor compares several at a time.
  void add_clipped(std::span<const std::int64_t> products, RowWeight weight, std::int64_t* utilities) const {
    static_assert(2 * kSquaredRowNorm <= std::numeric_limits<std::int32_t>::max());
    if (weight != kWholeRow) {
      for (std::size_t z = 0; z < products.size(); ++z) {
        const auto product = static_cast<std::int32_t>(products[z]);
        utilities[z] += weighed(std::min(std::max(product, least_), most_) - least_, weight);
      }
      return;
    }
    for (std::size_t z = 0; z < products.size(); ++z) {
      const auto product = static_cast<std::int32_t>(products[z]);
      utilities[z] += std::min(std::max(product, least_), most_) - least_;
    }
  }

  UtilityTable utilities_;
  std::int32_t least_;
  std::int32_t most_;
  const StatisticInputs& candidates_;
  std::size_t dim_;
  std::size_t capacity_;
  ThreadTeam team_;
  SecretVector<std::int16_t> rows_;
  std::vector<std::int32_t> labels_;
  std::vector<RowWeight> weights_;
  SecretVector<std::int16_t> block_;
  SecretVector<std::int64_t> products_;
};

// Half of the memory for rows, a quarter each for the two streams.
void add_pairs(const UtilityTable& utilities, const CosineClip& clip, const StatisticInputs& inputs,
               const StatisticInputs& candidates) {
  StreamPlan plan = inputs.plan;
  plan.memory_bytes /= 4;
  const StatisticInputs stream{{inputs.rows, inputs.transform, plan, inputs.on_chunk}};
  const StatisticInputs candidate_stream{{candidates.rows, candidates.transform, plan, candidates.on_chunk}};
  const std::size_t row_bytes = sizeof(std::int16_t) * inputs.transform.output_dim() + sizeof(std::int32_t);
  const std::size_t capacity =
      std::clamp<std::size_t>(inputs.rows.range().count, 1, 1 + 2 * plan.memory_bytes / row_bytes);
  RowsOfPairs pairs(utilities, clip, stream, candidate_stream, capacity);
  for_each_chunk(stream, [&](const LatticeRows& chunk) { pairs.append(chunk); });
  pairs.add_up();
}

// Rows of the chunk whose class is the one that the candidate gives them.
std::int64_t correct_rows(const LatticeRows& chunk, const LatticeWeights& candidate, const RowFactors& weights,
                          const std::optional<ChunkPriors>& priors, ThreadTeam& team) {
  const std::size_t classes = candidate.classes();
  const unsigned count_bits = chunk.has_weights() ? kWeightBits : 0;
  std::atomic<std::int64_t> correct{0};
  weights.visit(view_of(chunk), team, [&](std::size_t first, const Int64View& products) {
    std::vector<double> scores(classes);
    std::int64_t of_block = 0;
    for (std::size_t row = 0; row < products.rows; ++row) {
      class_probabilities({products.row(row), classes}, candidate.factors(), priors ? Loss::kSoftmax : Loss::kSquare,
                          scores);
      if (priors) std::ranges::transform(scores, priors->of_row(first + row), scores.begin(), std::plus());
      const auto predicted = static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
      const std::span<const std::int32_t> classes_of_row = chunk.classes_of(first + row);
      if (std::ranges::find(classes_of_row, predicted) == classes_of_row.end()) continue;
      of_block += count_of_row(chunk, first + row, count_bits);
    }
    correct += of_block;
  });
  return correct;
}

}  // namespace

PlannedSelection prototype_selection(std::size_t classes, std::uint64_t candidates, std::uint64_t chosen,
                                     const CosineClip& clip, double epsilon) {
  return {"prototypes",
          {.mechanism = SelectionMechanism::kExponential,
           .epsilon = epsilon,
           .sensitivity = clip.range(),
           .candidates = candidates,
           .groups = classes,
           .chosen = chosen}};
}

Statistic prototype_utilities(const PlannedSelection& selection, const CosineClip& clip, const StatisticInputs& inputs,
                              const StatisticInputs& candidates) {
  DPREDUCE_ASSERT(inputs.plan.labels_per_row == 1 && &inputs.transform == &candidates.transform);
  DPREDUCE_ASSERT(selection.terms.groups == inputs.plan.classes);
  DPREDUCE_ASSERT(selection.terms.candidates == candidates.rows.range().count);
  Statistic statistic = empty_utilities(selection);
  const UtilityTable utilities{statistic.block(0), selection.terms.candidates};
  if (!clip.is_active()) {
    add_products_with_sums(utilities, exact_class_sums(inputs), candidates);
    return statistic;
  }
  add_pairs(utilities, clip, inputs, candidates);
  return statistic;
}

SecretVector<std::int64_t> exact_class_sums(const StatisticInputs& inputs) {
  const std::size_t classes = inputs.plan.classes;
  const std::size_t dim = inputs.transform.output_dim();
  SecretVector<std::int64_t> sums(classes * dim, 0);
  WeightedRows weighted(WeightPower::kWhole);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    accumulate_class_sums(weighted.of(chunk, inputs.plan.threads), chunk.labels(), {sums.data(), classes, dim, dim},
                          inputs.plan.threads);
  });
  return sums;
}

SecretVector<std::int64_t> utilities_by_class_sums(SecretVector<std::int64_t> sums, const StatisticInputs& candidates) {
  const std::size_t count = candidates.rows.range().count;
  SecretVector<std::int64_t> utilities(candidates.plan.classes * count, 0);
  add_products_with_sums({utilities, count}, std::move(sums), candidates);
  return utilities;
}

Statistic correct_counts(std::span<const LatticeWeights> candidates, const StatisticInputs& inputs,
                         const Prior& prior) {
  std::vector<std::unique_ptr<const RowFactors>> weights;
  for (const LatticeWeights& candidate : candidates) {
    DPREDUCE_ASSERT(candidate.dim() == inputs.transform.output_dim() && candidate.classes() == inputs.plan.classes);
    weights.push_back(select_kernel().row_factors(candidate.view()));
  }
  Statistic counts({{"utilities", candidates.size(), inputs.rows.has_weights() ? kWeightBits : 0}});
  const std::span<std::int64_t> utilities = counts.block(0);
  ThreadTeam team(inputs.plan.threads);
  std::optional<ChunkPriors> priors;
  if (prior.directions) priors.emplace(prior);
  for_each_chunk(inputs, [&](const LatticeRows& chunk) {
    if (priors) priors->assign(chunk, team);
    for (std::size_t m = 0; m < candidates.size(); ++m) {
      utilities[m] += correct_rows(chunk, candidates[m], *weights[m], priors, team);
    }
  });
  return counts;
}

}  // namespace dpreduce
