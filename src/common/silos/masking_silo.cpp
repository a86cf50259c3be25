#include "dpreduce/silos/masking_silo.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/silos/sealed_box.hpp"

namespace dpreduce {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw AggregationAborted("the coordinator's messages do not fit together: " + what);
}

// The key for shares from one silo to another in this attempt; it seals one message.
SealingKey sharing_key(const SiloSelf& self, const SumAttempt& attempt, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t other = from == self.number ? to : from;
  const auto found = self.pair_secrets.find(other);
  if (found == self.pair_secrets.end()) refuse(fmt::format("silo {} is not of this run", other));
  return SealingKey(derive_key(found->second, attempt.context("shares", from, to)));
}

std::array<std::byte, 8> parties(std::uint32_t from, std::uint32_t to) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t place = 0; place < 4; ++place) {
    bytes[place] = static_cast<std::byte>(from >> (8 * place));
    bytes[4 + place] = static_cast<std::byte>(to >> (8 * place));
  }
  return bytes;
}

}  // namespace

MaskingSilo::MaskingSilo(const SiloSelf& self, const SumAttempt& attempt)
    : self_(self), attempt_(attempt), mask_key_(AgreementKey::generate()), self_secret_(kSecretBytes) {
  secure_bytes(self_secret_);
}

void MaskingSilo::expect(State state, State next) {
  if (state_ != state) refuse("a phase comes before its turn, or twice");
  state_ = next;
}

std::vector<std::byte> MaskingSilo::advertise() {
  expect(State::kNew, State::kAdvertised);
  Advertisement advertisement{mask_key_.public_key(), self_mask_commitment(attempt_, self_.number, self_secret_), {}};
  advertisement.signature = self_.identity->sign(signed_part(attempt_, self_.number, advertisement));
  PayloadWriter writer;
  write(writer, advertisement);
  return writer.take();
}

std::vector<std::byte> MaskingSilo::take_keys(PayloadReader& keys) {
  expect(State::kAdvertised, State::kShared);
  const std::vector<std::uint32_t> participants = keys.numbers();
  if (!is_rising(participants) || participants.size() < attempt_.threshold || participants.size() < 2) {
    refuse(fmt::format("{} silos take part, where {} must", participants.size(), attempt_.threshold));
  }
  graph_.emplace(participants, attempt_.threshold, attempt_.colluding);
  if (!graph_->contains(self_.number)) refuse("this silo has no part in the sum");
  for (const std::uint32_t neighbour : graph_->neighbours(self_.number)) {
    const Advertisement advertisement = read_advertisement(keys);
    if (neighbour >= self_.roster->members.size() ||
        !verifies(self_.roster->members[neighbour].key, signed_part(attempt_, neighbour, advertisement),
                  advertisement.signature)) {
      refuse(fmt::format("the mask key of silo {} is not signed by it", neighbour));
    }
    neighbour_keys_.emplace(neighbour, advertisement.mask_key);
  }
  keys.end();

  const std::vector<std::uint32_t> holders = graph_->holders(self_.number);
  const std::vector<Share> of_self_mask = share_secret(self_secret_, graph_->share_threshold(), holders);
  const std::vector<Share> of_mask_key = share_secret(mask_key_.secret(), graph_->share_threshold(), holders);
  PayloadWriter shares;
  for (std::size_t place = 0; place < holders.size(); ++place) {
    const std::uint32_t holder = holders[place];
    if (holder == self_.number) {
      held_.emplace(holder, HeldShares{of_self_mask[place], of_mask_key[place]});
      continue;
    }
    PayloadWriter plain;
    write(plain, of_self_mask[place]);
    write(plain, of_mask_key[place]);
    std::vector<std::byte> both = plain.take();
    std::array<std::byte, kSealedSharesBytes> sealed{};
    sharing_key(self_, attempt_, self_.number, holder).seal(0, parties(self_.number, holder), both, sealed);
    cleanse(both.data(), both.size());
    shares.bytes(sealed);
  }
  return shares.take();
}

void MaskingSilo::take_delivery(PayloadReader& delivery) {
  expect(State::kShared, State::kMasking);
  sharing_ = delivery.numbers();
  if (!is_rising(sharing_) || !is_subset(sharing_, graph_->participants()) || sharing_.size() < attempt_.threshold ||
      !std::binary_search(sharing_.begin(), sharing_.end(), self_.number)) {
    refuse("the silos that have shared their secrets are not those that took part");
  }
  for (const std::uint32_t neighbour : sharing_) {
    if (!graph_->are_neighbours(self_.number, neighbour)) continue;
    const auto sealed = delivery.bytes(kSealedSharesBytes);
    std::array<std::byte, 2 * kShareBytes> plain{};
    if (!sharing_key(self_, attempt_, neighbour, self_.number)
             .open(0, parties(neighbour, self_.number), sealed, plain)) {
      refuse(fmt::format("the shares from silo {} fail their authentication", neighbour));
    }
    PayloadReader reader(plain);
    const Share of_self_mask = read_share(reader, self_.number);
    const Share of_mask_key = read_share(reader, self_.number);
    cleanse(plain.data(), plain.size());
    held_.emplace(neighbour, HeldShares{of_self_mask, of_mask_key});
    masks_.add(pair_mask_key(attempt_, self_.number, neighbour, mask_key_, neighbour_keys_.at(neighbour)),
               self_.number < neighbour ? MaskSign::kAdd : MaskSign::kSubtract);
  }
  delivery.end();
  masks_.add(self_mask_key(attempt_, self_.number, self_secret_), MaskSign::kAdd);
}

void MaskingSilo::mask(std::uint64_t first_word, std::span<std::uint64_t> words) {
  DPREDUCE_ASSERT(state_ == State::kMasking);
  masks_.apply(first_word, words);
}

std::vector<std::byte> MaskingSilo::take_unmask(PayloadReader& unmask) {
  expect(State::kMasking, State::kRevealed);
  const std::vector<std::uint32_t> summed = unmask.numbers();
  unmask.end();
  if (!is_rising(summed) || !is_subset(summed, sharing_) ||
      !std::binary_search(summed.begin(), summed.end(), self_.number)) {
    refuse("the silos that are summed are not those that shared their secrets");
  }
  if (summed.size() < attempt_.threshold) {
    refuse(fmt::format("{} silos are summed, where {} must be", summed.size(), attempt_.threshold));
  }
  // One secret of each, and never another: `expect` lets this happen once.
  PayloadWriter reveal;
  for (const auto& [silo, shares] : held_) {
    const bool is_summed = std::binary_search(summed.begin(), summed.end(), silo);
    reveal.u32(silo).u32(static_cast<std::uint32_t>(is_summed ? SecretKind::kSelfMask : SecretKind::kMaskKey));
    write(reveal, is_summed ? shares.self_mask : shares.mask_key);
  }
  masks_ = MaskStreams();
  held_.clear();
  return reveal.take();
}

}  // namespace dpreduce
