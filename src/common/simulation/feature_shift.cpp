#include "common/simulation/feature_shift.hpp"

#include "common/base/error.hpp"
#include "common/simulation/counter_random.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kPairStream = std::uint64_t{1} << 43;  // and the silo
constexpr std::uint64_t kSignStream = std::uint64_t{1} << 44;  // and the silo
constexpr double kDegrees = 360.0;                             // in a turn

}  // namespace

FeatureShift::FeatureShift(const ShiftSize& size, std::size_t dim, std::size_t silo, std::uint64_t seed)
    : translation_(dim) {
  DPREDUCE_ASSERT(dim >= 1 && size.rotation >= 0.0 && size.rotation <= kDegrees / 2.0);
  const auto [cosine, sine] = portable_cos_sin_turn(size.rotation / kDegrees);
  cosine_ = cosine;
  const IndexPermutation order(dim, seed, kPairStream + silo);
  const CounterRandom signs(seed, kSignStream + silo);
  const auto signed_by = [&](std::uint64_t k, double value) { return signs.bits(k) >> 63 != 0 ? value : -value; };
  for (std::size_t pair = 0; pair < dim / 2; ++pair) {
    turns_.push_back({order(2 * pair), order(2 * pair + 1), signed_by(pair, sine)});
  }
  for (std::size_t a = 0; a < dim; ++a) translation_[a] = signed_by(dim + a, size.offset);
}

void FeatureShift::apply(std::span<double> x) const {
  DPREDUCE_ASSERT(x.size() == translation_.size());
  for (const Turn& turn : turns_) {
    const double first = x[turn.first];
    const double second = x[turn.second];
    x[turn.first] = cosine_ * first - turn.sine * second;
    x[turn.second] = turn.sine * first + cosine_ * second;
  }
  for (std::size_t a = 0; a < x.size(); ++a) x[a] += translation_[a];
}

}  // namespace dpreduce
