#include "worker/statistics/registered_statistics.hpp"

#include <algorithm>
#include <array>

#include "common/base/error.hpp"

// One line for each statistic: STATISTIC(x) is x_entry, in the file of its kind.
// The release that the entry declares may have another name: ledgers, reports and noise depend on that one, so it stays
// as it first was.
#define DPREDUCE_STATISTICS(STATISTIC) \
  STATISTIC(center)                    \
  STATISTIC(class_means)               \
  STATISTIC(gram)                      \
  STATISTIC(least_squares)             \
  STATISTIC(class_least_squares)       \
  STATISTIC(gradient)                  \
  STATISTIC(pca)                       \
  STATISTIC(feature_sums)              \
  STATISTIC(class_variances)           \
  STATISTIC(hessians)                  \
  STATISTIC(centered_sums)             \
  STATISTIC(adaptive_gradient)         \
  STATISTIC(class_sizes)               \
  STATISTIC(isotropy)                  \
  STATISTIC(residual_sizes)            \
  STATISTIC(target_sizes)              \
  STATISTIC(target_places)             \
  STATISTIC(target_spreads)            \
  STATISTIC(feature_sizes)             \
  STATISTIC(feature_places)            \
  STATISTIC(feature_spreads)           \
  STATISTIC(row_sizes)                 \
  STATISTIC(row_zeros)                 \
  STATISTIC(evaluation)                \
  STATISTIC(positives)                 \
  STATISTIC(center_rest)

namespace dpreduce {

#define DPREDUCE_DECLARE(statistic) extern const StatisticEntry statistic##_entry;
DPREDUCE_STATISTICS(DPREDUCE_DECLARE)
#undef DPREDUCE_DECLARE

namespace {

#define DPREDUCE_ENTRY(statistic) &statistic##_entry,
constexpr std::array kStatistics{DPREDUCE_STATISTICS(DPREDUCE_ENTRY)};
#undef DPREDUCE_ENTRY

}  // namespace

ReleaseRequest StatisticEntry::request(const ReleaseTerms& terms, double share) const {
  ReleaseRequest made = declare(terms, share);
  made.name = name;
  made.dim = terms.dim;
  const auto counts = [](const BlockRequest& block) { return block.fraction_bits > 0; };
  made.clips_units = terms.clips_units && unit_form == UnitForm::kClipped && std::ranges::none_of(made.blocks, counts);
  return made;
}

std::span<const StatisticEntry* const> registered_statistics() {
  return kStatistics;
}

const StatisticEntry& registered_statistic(std::string_view release) {
  const auto found =
      std::ranges::find_if(kStatistics, [&](const StatisticEntry* statistic) { return statistic->name == release; });
  DPREDUCE_ASSERT(found != kStatistics.end());
  return **found;
}

}  // namespace dpreduce
