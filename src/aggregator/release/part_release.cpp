#include "aggregator/release/part_release.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

PartRelease::Pending PartRelease::start(std::string_view block, std::span<const Part> parts) {
  const std::string name(block);
  const PlannedBlock* planned = planned_ ? &planned_->block(block) : nullptr;
  for (const Part& part : parts) {
    const bool is_new = made_.emplace(name, part.number).second;
    elements_made_[name] += part.local.size();
    DPREDUCE_ASSERT(is_new && (planned == nullptr || elements_made_[name] <= planned->elements));
  }
  ranks_.together([&] {
    if (planned == nullptr) return;
    const PlannedBlock drawn = shares_ ? shares_->share_of(*planned) : *planned;
    for (const Part& part : parts) {
      if (shares_ ? ranks_.is_coordinator() : part.owner != ranks_.rank()) continue;
      add_noise(*key_, drawn, fmt::format("{}", part.number), part.local);
    }
  });
  Pending pending;
  pending.block_ = name;
  for (const Part& part : parts) {
    // A signed integer type may be read as its unsigned counterpart.
    const std::span words(reinterpret_cast<std::uint64_t*>(part.local.data()), part.local.size());
    pending.sums_.push_back({part, part.owner == ranks_.rank(), ranks_.start_sum_to(part.owner, words)});
    double& largest = sigmas_[name];  // among silos a sum is made when it has started
    if (planned != nullptr) largest = std::max(largest, sigma_of_sum(*planned, shares_, ranks_));
  }
  pending.sigma_ = sigma(name);
  return pending;
}

void PartRelease::Pending::advance() {
  for (const Sum& sum : sums_) sum.pending->advance();
}

PartRelease::Owned PartRelease::Pending::finish() {
  Owned owned;
  for (const Sum& sum : sums_) {
    sum.pending->wait();
    if (!sum.is_own) continue;
    owned.emplace_back(sum.part.number, ReleasedBlock(block_, {sum.part.local.begin(), sum.part.local.end()}, sigma_));
  }
  sums_.clear();
  return owned;
}

}  // namespace dpreduce
