#include "common/silos/silo_sum.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce {

SiloSum::SiloSum(const SiloSelf& self, const SumAttempt& sum, std::vector<std::uint32_t> present)
    : self_(self), attempt_(sum), attempts_left_(present.size()), present_(std::move(present)) {
  attempt_.attempt = 0;
}

SiloSum::Due SiloSum::begin(std::uint32_t attempt, PayloadReader& body) {
  const std::uint64_t words = body.u64();
  body.end();
  if (attempt <= attempt_.attempt || is_opened_) {
    throw AggregationAborted("the coordinator asks for a sum again that this silo has helped to open");
  }
  if (attempts_left_ == 0) throw AggregationAborted("the coordinator tries a sum more often than there are silos");
  --attempts_left_;
  if (words != attempt_.words) throw AggregationAborted("the coordinator sums another statistic than this silo");
  attempt_.attempt = attempt;
  masking_.emplace(self_, attempt_);
  may_mask_ = false;
  return {Step::kAnswer, FrameKind::kAdvertise, masking_->advertise()};
}

SiloSum::Due SiloSum::take(FrameKind kind, std::uint32_t attempt, PayloadReader& body) {
  if (kind == FrameKind::kBegin) return begin(attempt, body);
  if (!masking_ || attempt != attempt_.attempt) {
    throw AggregationAborted("the coordinator mixes up attempts at a sum");
  }
  switch (kind) {
    case FrameKind::kKeys: {
      std::vector<std::byte> shares = masking_->take_keys(body);
      if (!is_subset(masking_->lists().participants, present_)) {
        throw AggregationAborted("the coordinator names a silo that is not of this run, or no more");
      }
      present_ = masking_->lists().participants;
      return {Step::kAnswer, FrameKind::kShares, std::move(shares)};
    }
    case FrameKind::kDelivery:
      return {Step::kAnswer, FrameKind::kConsent, masking_->take_delivery(body)};
    case FrameKind::kUnmask: {
      std::vector<std::byte> consent = masking_->take_unmask(body);
      is_opened_ = true;
      present_ = masking_->lists().summed;
      return {Step::kAnswer, FrameKind::kConsent, std::move(consent)};
    }
    case FrameKind::kQuorum: {
      if (may_mask_) {
        std::vector<std::byte> reveal = masking_->take_summed_quorum(body);
        has_revealed_ = true;
        return {Step::kAnswer, FrameKind::kReveal, std::move(reveal)};
      }
      masking_->take_sharing_quorum(body);
      may_mask_ = true;
      return {Step::kMask, FrameKind::kMasked, {}};
    }
    case FrameKind::kDone:
      if (!has_revealed_) throw AggregationAborted("the coordinator ends a sum before it can be made");
      body.end();
      return {};
    default:
      throw AggregationAborted(fmt::format("the coordinator sends \"{}\" in a sum", to_string(kind)));
  }
}

void SiloSum::mask(std::uint64_t first_word, std::span<std::uint64_t> words) {
  DPREDUCE_ASSERT(may_mask_);
  masking_->mask(first_word, words);
}

}  // namespace dpreduce
