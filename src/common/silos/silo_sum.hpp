// One sum as a silo sees it: attempts at it (masking_silo.hpp), one after the other, until one is done.
//
//     begin -> advertise      keys -> shares      delivery -> consent      quorum -> (the masked statistic)
//                             unmask -> consent   quorum -> reveal         done
//
// An attempt may be given up for another one at any time before this silo has signed who is summed (U3). A silo that
// has signed U3 takes part in no further attempt: two attempts that were both opened would give the difference of two
// sums. Each attempt that is given up has cost a silo its place, so there are no more of them than silos.
#pragma once

#include <optional>
#include <vector>

#include "common/silos/frame.hpp"
#include "common/silos/masking_silo.hpp"

namespace dpreduce {

class SiloSum {
 public:
  /// What a silo does next.
  enum class Step {
    kAnswer,  ///< it sends `kind` with `body`
    kMask,    ///< it sends its statistic, masked
    kEnd      ///< the sum is done
  };
  struct Due {
    Step step = Step::kEnd;
    FrameKind kind = FrameKind::kDone;
    std::vector<std::byte> body;
  };

  /// `self` outlives this; `sum` is what all attempts at it have in common; `present`: the silos of the run that are
  /// left, as far as this one knows. No attempt has begun.
  SiloSum(const SiloSelf& self, const SumAttempt& sum, std::vector<std::uint32_t> present);

  /// A message of the coordinator: of that attempt, with that body. Throws AggregationAborted where it does not fit,
  /// and as MaskingSilo does.
  Due take(FrameKind kind, std::uint32_t attempt, PayloadReader& body);

  /// words <- words + masks of the places from first_word on, of the attempt that is under way. Precondition
  /// (asserted): `kMask` was due in it.
  void mask(std::uint64_t first_word, std::span<std::uint64_t> words);

  /// The attempt under way; 0 before the first.
  std::uint32_t attempt() const { return attempt_.attempt; }
  /// The silos that are left, as far as this one knows.
  const std::vector<std::uint32_t>& present() const { return present_; }

 private:
  Due begin(std::uint32_t attempt, PayloadReader& body);

  const SiloSelf& self_;
  SumAttempt attempt_;
  std::size_t attempts_left_;
  std::vector<std::uint32_t> present_;
  std::optional<MaskingSilo> masking_;
  bool may_mask_ = false;   // in this attempt
  bool is_opened_ = false;  // it has signed, in any attempt, who is summed
  bool has_revealed_ = false;
};

}  // namespace dpreduce
