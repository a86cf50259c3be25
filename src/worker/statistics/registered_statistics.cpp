#include "worker/statistics/registered_statistics.hpp"

#include <algorithm>
#include <vector>

#include "common/base/error.hpp"

namespace dpreduce {

// The entries, in the files of their kinds.
extern const std::span<const StatisticEntry> center_statistics;
extern const std::span<const StatisticEntry> class_statistics;
extern const std::span<const StatisticEntry> evaluation_statistics;
extern const std::span<const StatisticEntry> gradient_statistics;
extern const std::span<const StatisticEntry> gram_statistics;
extern const std::span<const StatisticEntry> size_statistics;

ReleaseRequest StatisticEntry::request(const ReleaseTerms& terms, double share) const {
  ReleaseRequest made = declare(terms, share);
  made.name = name;
  made.dim = terms.dim;
  const auto counts = [](const BlockRequest& block) { return block.fraction_bits > 0; };
  made.clips_units = terms.clips_units && unit_form == UnitForm::kClipped && std::ranges::none_of(made.blocks, counts);
  return made;
}

std::span<const StatisticEntry* const> registered_statistics() {
  static const std::vector<const StatisticEntry*> all = [] {
    std::vector<const StatisticEntry*> listed;
    for (const auto& of_kind : {center_statistics, class_statistics, evaluation_statistics, gradient_statistics,
                                gram_statistics, size_statistics}) {
      for (const StatisticEntry& statistic : of_kind) listed.push_back(&statistic);
    }
    return listed;
  }();
  return all;
}

const StatisticEntry& registered_statistic(std::string_view release) {
  const auto all = registered_statistics();
  const auto found = std::ranges::find(all, release, &StatisticEntry::name);
  DPREDUCE_ASSERT(found != all.end());
  return **found;
}

}  // namespace dpreduce
