// Why the result is exact. Every decision below is a comparison of uniform reals whose binary digits are drawn when the
// comparison needs them, or a choice among m equally likely integers. No number is ever rounded, so that each algorithm
// has exactly the probability that [karney2016] proves:
//
//   Algorithm H  true with probability exp(-1/2): the length n of the longest run 1/2 > U_1 > U_2 > ... > U_n satisfies
//                P(n >= j) = (1/2)^j / j!, and n is even with probability sum_j (-1)^j P(n >= j) = exp(-1/2).
//   Algorithm B  true with probability exp(-x(2k + x)/(2k + 2)): the same alternating sum, where each step of the run
//                also has to pass a coin of probability (2k + x)/(2k + 2).
//   Algorithm N  k >= 0 with probability proportional to exp(-k^2/2), x uniform in [0, 1), accepted with probability
//                exp(-x(2k + x)/2): the density of (k, x) is proportional to exp(-(k + x)^2/2), so that k + x is |X|.
//
// Rounding: sigma * (k + x) lies in a half-open interval that shrinks with every further digit of x; it is rounded
// once the whole interval rounds alike. The sign comes last: round(-y) = -round(y) except on halves, which have
// probability zero.
#include "common/randomness/karney_gaussian.hpp"

#include <limits>
#include <utility>

#include "common/base/error.hpp"
#include "common/randomness/exact_rounding.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostDigits = 16;          // 1024 bits: nothing random is undecided for that long
constexpr std::uint64_t kLargestInteger = 2048;  // exceeded with probability exp(-1024)

// A uniform real in [0, 1), of which the first digits in base 2^64 are known.
class LazyUniform {
 public:
  explicit LazyUniform(RandomStream& stream) : stream_(&stream) {}

  std::uint64_t digit(std::size_t place) {
    while (digits_.size() <= place) {
      if (digits_.size() == kMostDigits) throw_not_random();
      digits_.push_back(stream_->next_u64());
    }
    return digits_[place];
  }

  bool less_than(LazyUniform& other) {
    for (std::size_t place = 0;; ++place) {
      const std::uint64_t mine = digit(place);  // always drawn before the other's
      const std::uint64_t others = other.digit(place);
      if (mine != others) return mine < others;
    }
  }

  bool less_than_half() { return digit(0) < std::uint64_t{1} << 63; }

 private:
  RandomStream* stream_;
  SecretVector<std::uint64_t> digits_;
};

// Uniform in {0, ..., count - 1}: words in the last, incomplete group of `count` are drawn again.
std::uint64_t uniform_below(RandomStream& stream, std::uint64_t count) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t incomplete = (kLast % count + 1) % count;  // 2^64 mod count
  std::uint64_t word = 0;
  do {
    word = stream.next_u64();
  } while (word > kLast - incomplete);
  return word % count;
}

// Algorithm H: true with probability exp(-1/2).
bool bernoulli_exp_minus_half(RandomStream& stream) {
  LazyUniform previous(stream);
  if (!previous.less_than_half()) return true;
  for (bool run_is_even = false;; run_is_even = !run_is_even) {
    LazyUniform next(stream);
    if (!next.less_than(previous)) return run_is_even;
    previous = std::move(next);
  }
}

// True with probability (2k + x)/(2k + 2): one of 2k + 2 equal parts is x's, one is lost, the others are won.
bool bernoulli_fraction(RandomStream& stream, std::uint64_t k, LazyUniform& x) {
  const std::uint64_t part = uniform_below(stream, 2 * k + 2);
  if (part == 0) return false;
  if (part > 1) return true;
  LazyUniform coin(stream);
  return coin.less_than(x);
}

// Algorithm B: true with probability exp(-x(2k + x)/(2k + 2)).
bool bernoulli_exp_minus_share(RandomStream& stream, std::uint64_t k, LazyUniform& x) {
  LazyUniform last(stream);
  LazyUniform* previous = &x;  // x itself, not a copy: digits drawn here are digits of x from now on
  for (bool run_is_even = true;; run_is_even = !run_is_even) {
    LazyUniform next(stream);
    if (!next.less_than(*previous)) return run_is_even;
    if (!bernoulli_fraction(stream, k, x)) return run_is_even;
    last = std::move(next);
    previous = &last;
  }
}

// Steps N1 and N2: k with probability proportional to exp(-k^2/2) = exp(-k/2) exp(-k(k-1)/2).
std::uint64_t integer_part(RandomStream& stream) {
  for (;;) {
    std::uint64_t k = 0;
    while (bernoulli_exp_minus_half(stream)) {
      if (++k > kLargestInteger) throw_not_random();
    }
    std::uint64_t coins = k * (k - 1);
    while (coins > 0 && bernoulli_exp_minus_half(stream)) --coins;
    if (coins == 0) return k;
  }
}

std::int64_t rounded(RandomStream& stream, const ExactSigma& sigma) {
  for (;;) {
    const std::uint64_t k = integer_part(stream);
    LazyUniform x(stream);
    std::uint64_t coins = k + 1;
    while (coins > 0 && bernoulli_exp_minus_share(stream, k, x)) --coins;
    if (coins > 0) continue;

    BigInteger known = k;
    for (std::size_t place = 0;; ++place) {
      known = (known << 64) + x.digit(place);
      const auto scale_bits = static_cast<unsigned>(64 * (place + 1));
      if (const auto magnitude = round_product(sigma, known, known + 1, scale_bits)) {
        return stream.next_u64() >> 63 == 0 ? *magnitude : -*magnitude;
      }
    }
  }
}

}  // namespace

void fill_rounded_gaussian_by_karney(RandomStream& stream, double sigma, std::span<std::int64_t> out) {
  const ExactSigma exact = exact_sigma(sigma);
  for (std::int64_t& sample : out) sample = rounded(stream, exact);
}

}  // namespace dpreduce
