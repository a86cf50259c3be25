#include "common/silos/shamir.hpp"

#include <set>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLimbBytes = 7;
using Polynomial = SecretVector<std::uint64_t>;

bool are_holders(std::span<const std::uint32_t> holders) {
  const std::set<std::uint32_t> different(holders.begin(), holders.end());
  return different.size() == holders.size() && !different.contains(0);
}

std::size_t limb_end(std::size_t limb) {
  return limb + 1 == kLimbs ? kSecretBytes : (limb + 1) * kLimbBytes;
}

std::uint64_t limb_of(std::span<const std::byte> secret, std::size_t limb) {
  std::uint64_t value = 0;
  for (std::size_t place = limb_end(limb); place-- > limb * kLimbBytes;) {
    value = value << 8 | std::to_integer<std::uint64_t>(secret[place]);
  }
  return value;
}

// Uniform in 0 .. p - 1: of 61 bits, but for the one value p, which is drawn again.
std::uint64_t uniform_element() {
  std::uint64_t value = FieldElement::kPrime;
  while (value == FieldElement::kPrime) {
    secure_bytes(std::as_writable_bytes(std::span(&value, 1)));
    value &= FieldElement::kPrime;
  }
  return value;
}

// f(at), by Horner's rule.
std::uint64_t evaluate(const Polynomial& polynomial, std::uint32_t at) {
  const FieldElement x(at);
  FieldElement result;
  for (std::size_t power = polynomial.size(); power-- > 0;) result = result * x + FieldElement(polynomial[power]);
  return result.value();
}

// Weight of the value at holder `of` in the value at 0: prod_{h != of} h / (h - of).
FieldElement lagrange_weight(std::span<const Share> shares, std::uint32_t of) {
  FieldElement above(1);
  FieldElement below(1);
  for (const Share& share : shares) {
    if (share.holder == of) continue;
    above = above * FieldElement(share.holder);
    below = below * (FieldElement(share.holder) - FieldElement(of));
  }
  return above * below.inverse();
}

}  // namespace

std::vector<Share> share_secret(std::span<const std::byte> secret, std::uint32_t threshold,
                                std::span<const std::uint32_t> holders) {
  DPREDUCE_ASSERT(secret.size() == kSecretBytes && threshold >= 1 && threshold <= holders.size());
  DPREDUCE_ASSERT(are_holders(holders));
  std::vector<Share> shares(holders.size());
  for (std::size_t place = 0; place < holders.size(); ++place) shares[place].holder = holders[place];
  Polynomial polynomial(threshold);
  for (std::size_t limb = 0; limb < kLimbs; ++limb) {
    polynomial[0] = limb_of(secret, limb);
    for (std::size_t power = 1; power < threshold; ++power) polynomial[power] = uniform_element();
    for (Share& share : shares) share.values[limb] = evaluate(polynomial, share.holder);
  }
  return shares;
}

SecretVector<std::byte> reconstruct_secret(std::span<const Share> shares) {
  DPREDUCE_ASSERT(!shares.empty());
  std::vector<std::uint32_t> holders;
  for (const Share& share : shares) holders.push_back(share.holder);
  DPREDUCE_ASSERT(are_holders(holders));
  std::vector<FieldElement> weights;
  for (const std::uint32_t holder : holders) weights.push_back(lagrange_weight(shares, holder));
  SecretVector<std::byte> secret(kSecretBytes);
  for (std::size_t limb = 0; limb < kLimbs; ++limb) {
    FieldElement sum;
    for (std::size_t place = 0; place < shares.size(); ++place) {
      sum = sum + weights[place] * FieldElement(shares[place].values[limb]);
    }
    std::uint64_t value = sum.value();
    for (std::size_t place = limb * kLimbBytes; place < limb_end(limb); ++place, value >>= 8) {
      secret[place] = static_cast<std::byte>(value);
    }
    if (value != 0) return {};
  }
  return secret;
}

}  // namespace dpreduce
