#include "common/silos/coordinator_session.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/silos/handshake.hpp"

namespace dpreduce {

CoordinatorSession::CoordinatorSession(Wire& wire, SiloEntry entry, OnLost on_lost)
    : wire_(wire), entry_(std::move(entry)), on_lost_(std::move(on_lost)), left_(entry_.terms.silos) {
  std::iota(left_.begin(), left_.end(), 1U);
  roster_ = entry_.roster.value_or(Roster{0, 0, std::vector<Member>(entry_.terms.silos + 1)});
  DPREDUCE_ASSERT(roster_.silos() == entry_.terms.silos);
}

void CoordinatorSession::require_enough(std::size_t silos) const {
  if (silos >= entry_.terms.threshold) return;
  std::string reasons;
  for (const LostSilo& lost : lost_) {
    reasons += fmt::format("{}{} ({}: {})", reasons.empty() ? "" : "; ", lost.name, lost.phase, lost.reason);
  }
  throw AggregationAborted("{} of {} silos are left, --threshold {} are needed; lost: {}", silos, entry_.terms.silos,
                           entry_.terms.threshold, reasons);
}

void CoordinatorSession::drop(std::uint32_t silo, FrameKind due, const std::string& reason) {
  std::erase(left_, silo);
  lost_.push_back({silo, name_of(silo), std::string(to_string(due)), round_, reason});
  if (const auto channel = channels_.find(silo); channel != channels_.end()) {
    wire_.send(silo, channel->second.seal(FrameKind::kDropped, round_, bytes_in(reason)));
    channels_.erase(channel);
  }
  if (on_lost_) on_lost_(lost_.back(), left_.size());
}

void CoordinatorSession::send(std::uint32_t silo, FrameKind kind, std::span<const std::byte> payload) {
  std::vector<std::byte> frame = channels_.at(silo).seal(kind, round_, payload);
  PhaseCost& cost = costs_[std::string(to_string(kind))];
  ++cost.messages;
  cost.bytes += frame.size();
  const auto began = WireClock::now();
  wire_.send(silo, std::move(frame));
  // A silo that takes its messages slowly keeps all others waiting: they get theirs later.
  if (left_.size() > entry_.terms.threshold) spend_patience(silo, WireClock::now() - began);
}

// A run that has ended with a failure is not gone on with.
template <typename Step>
void CoordinatorSession::lead(const Step& step) {
  if (is_over_) throw AggregationAborted("the run has already ended: its silos accept no more requests");
  is_over_ = true;  // where `step` throws
  step();
  is_over_ = false;
}

std::vector<std::uint32_t> CoordinatorSession::left_of(const std::vector<std::uint32_t>& silos) const {
  std::vector<std::uint32_t> both;
  std::set_intersection(left_.begin(), left_.end(), silos.begin(), silos.end(), std::back_inserter(both));
  return both;
}

void CoordinatorSession::take_message(FrameKind kind, const Message& message, std::vector<std::uint32_t>& awaited,
                                      const Take& take) {
  const std::uint32_t silo = message.from;
  if (!std::binary_search(left_.begin(), left_.end(), silo)) return;  // dropped, or nobody
  const auto not_awaited = [&] { std::erase(awaited, silo); };
  try {
    if (message.is_farewell) {
      throw AggregationAborted(message.bytes.empty() ? "its process has ended" : std::string(text_in(message.bytes)));
    }
    const bool is_awaited = std::binary_search(awaited.begin(), awaited.end(), silo);
    PhaseCost& cost = costs_[std::string(to_string(kind))];
    ++cost.messages;
    cost.bytes += message.bytes.size();
    if (kind == FrameKind::kHello) {
      if (!is_awaited) throw AggregationAborted("it sends hello twice");
      PayloadReader whole(message.bytes);
      if (take(silo, whole)) not_awaited();
      return;
    }
    const OpenedMessage opened = channels_.at(silo).open(round_, message.bytes);
    if (opened.kind == FrameKind::kRefusal) throw AggregationAborted("it refuses to take part, by its own [consent]");
    if (opened.kind != kind || !is_awaited) {
      // Pieces of an attempt that was given up may still be on their way.
      if (opened.kind == FrameKind::kMasked && kind != FrameKind::kMasked) return take_stale(silo);
      throw AggregationAborted("it sends \"{}\", but \"{}\" is expected", to_string(opened.kind),
                               is_awaited ? to_string(kind) : "nothing");
    }
    PayloadReader payload(opened.payload);
    if (take(silo, payload)) not_awaited();
  } catch (const AggregationAborted& refusal) {
    not_awaited();
    drop(silo, kind, refusal.what());
  }
}

// No silo is left out for anything that it computes, and so not for how long it computes: one person's rows may take
// most of its time. A silo that is alive and late ends the run for all. Messages that have come are still read when the
// time is over, for as long again at most.
void CoordinatorSession::gather(FrameKind kind, const std::vector<std::uint32_t>& from, const Take& take,
                                const std::function<bool()>& is_enough) {
  const auto began = WireClock::now();
  const auto until = began + entry_.timeout;
  std::vector<std::uint32_t> awaited = left_of(from);
  const auto goes_on = [&] { return !awaited.empty() && !(is_enough && is_enough()); };
  std::optional<WireClock::time_point> enough_at;  // have answered, and are left: from then on others are waited for
  while (goes_on() && WireClock::now() < until + entry_.timeout) {
    const std::size_t answered = left_of(from).size() - awaited.size();
    if (!enough_at && answered >= entry_.terms.threshold) enough_at = WireClock::now();
    const auto patient_until = enough_at && entry_.patience ? *enough_at + patience_left(awaited) : until;
    const std::optional<Message> message = wire_.receive(std::min(until, patient_until));
    if (!message) break;
    const auto is_awaited = [&] { return std::binary_search(awaited.begin(), awaited.end(), message->from); };
    const bool was_awaited = is_awaited();  // nobody waits for one that is lost, whatever it sends
    take_message(kind, *message, awaited, take);
    if (enough_at && was_awaited && !is_awaited()) spend_patience(message->from, WireClock::now() - *enough_at);
  }
  PhaseCost& cost = costs_[std::string(to_string(kind))];
  cost.seconds += seconds_of(WireClock::now() - began);
  ++cost.waits;
  if (enough_at) {
    for (const std::uint32_t silo : awaited) spend_patience(silo, WireClock::now() - *enough_at);
  }
  if (!goes_on()) return;
  std::string names;
  for (const std::uint32_t silo : awaited) names += (names.empty() ? "" : ", ") + name_of(silo);
  throw AggregationAborted(
      "{}: alive, but no \"{}\" came within --silo-timeout {} s. The run ends for all: the time that a "
      "silo takes may depend on a single person, so no silo is dropped for being late. Raise "
      "--silo-timeout: it must cover a pass over the rows of the slowest silo",
      names, to_string(kind), seconds_of(entry_.timeout));
}

// Remaining time for which all of them may be waited for, once t others have answered.
WireClock::duration CoordinatorSession::patience_left(const std::vector<std::uint32_t>& silos) const {
  WireClock::duration left = *entry_.patience;
  for (const std::uint32_t silo : silos) {
    const auto waited = waited_for_.find(silo);
    if (waited != waited_for_.end()) left = std::min(left, *entry_.patience - waited->second);
  }
  return left;
}

void CoordinatorSession::spend_patience(std::uint32_t silo, WireClock::duration waited) {
  WireClock::duration& whole = waited_for_[silo];
  whole += waited;
  if (!entry_.patience || whole < *entry_.patience) return;
  throw AggregationAborted(
      "{}: {} others have waited for it for {:.1f} s in total, --silo-patience is {:g} s. The run ends for "
      "all; raise it if this silo cannot compute faster",
      name_of(silo), entry_.terms.threshold, seconds_of(whole), seconds_of(*entry_.patience));
}

// Throws where it cannot be of an attempt that was given up.
void CoordinatorSession::take_stale(std::uint32_t silo) {
  std::size_t& left = stale_pieces_[silo];
  if (left == 0) throw AggregationAborted("it sends pieces that belong to no attempt at this sum");
  --left;
}

void CoordinatorSession::connect() {
  lead([&] {
    const AgreementKey key = AgreementKey::generate();
    Offer offer{{}, entry_.terms, digest_of(entry_.roster), entry_.identity.public_key(), key.public_key(), {}};
    secure_bytes(offer.run);
    roster_.members[0].key = offer.identity;
    for (const std::uint32_t silo : left_) {
      wire_.send(silo, make_offer(offer, entry_.identity, silo, wire_.binding(silo)));
    }

    std::map<std::uint32_t, Hello> hellos;
    gather(FrameKind::kHello, left_, [&](std::uint32_t silo, PayloadReader& whole) {
      const Hello hello = open_hello(whole.rest(), offer, silo, entry_.roster, wire_.binding(silo));
      channels_.emplace(silo, Channel(key.agree(hello.key), offer.run, 0, silo));
      roster_.members[silo].key = hello.identity;
      hellos.emplace(silo, hello);
      return true;
    });
    require_enough(left_.size());
    PayloadWriter members;
    members.numbers(left_);
    for (const std::uint32_t silo : left_) members.plain(hellos.at(silo));
    const std::vector<std::byte> payload = members.take();
    run_ = run_of(offer, payload);
    for (const std::uint32_t silo : left_) send(silo, FrameKind::kMembers, payload);
  });
}

std::int64_t CoordinatorSession::agree(std::int64_t verdict) {
  lead([&] {
    ++round_;
    const Take take = [&](std::uint32_t silo, PayloadReader& payload) {
      const std::int64_t told = received_failure(static_cast<std::int64_t>(payload.u64()), entry_.terms.silos);
      payload.end();
      if (told != kNobodyFailed) verdict = std::min(verdict, failure_received_from(silo, told));
      return true;
    };
    // A failure ends the run: the coordinator waits for no other silo.
    const auto has_failed = [&] { return verdict != kNobodyFailed; };
    if (!has_failed()) gather(FrameKind::kStatus, left_, take, has_failed);
    const std::int64_t told =
        has_failed() ? failure_of(failed_party(verdict), ExitCode::kAggregationAborted) : verdict;  // not why
    const std::vector<std::byte> payload = PayloadWriter().u64(static_cast<std::uint64_t>(told)).take();
    for (const std::uint32_t silo : left_) send(silo, FrameKind::kVerdict, payload);
    if (verdict == kNobodyFailed) require_enough(left_.size());
  });
  is_over_ = verdict != kNobodyFailed;
  return verdict;
}

std::int64_t CoordinatorSession::failure_received_from(std::uint32_t silo, std::int64_t told) {
  return failure_of(silo, code_of(told));
}

std::unique_ptr<MaskingCoordinator> CoordinatorSession::masking_of(const SumAttempt& attempt) {
  return std::make_unique<MaskingCoordinator>(roster_, attempt);
}

// Returns false if a silo has sent only a part of its masked vector: then the sum is tried again without it.
bool CoordinatorSession::gather_masked(MaskingCoordinator& masking, const SumAttempt& attempt,
                                       const std::vector<std::uint32_t>& sharing,
                                       const std::vector<std::uint32_t>& masking_silos) {
  gather(FrameKind::kMasked, masking_silos, [&](std::uint32_t silo, PayloadReader& payload) {
    if (payload.u32() != attempt.attempt) {
      take_stale(silo);
      return false;
    }
    masking.add_piece(silo, payload);
    return masking.has_masked_all(silo);
  });
  require_enough(left_.size());
  if (std::ranges::none_of(sharing, [&](std::uint32_t silo) { return masking.is_partial(silo); })) return true;
  for (const std::uint32_t silo : left_) stale_pieces_[silo] += (attempt.words + kWordsPerPiece - 1) / kWordsPerPiece;
  return false;
}

bool CoordinatorSession::try_sum(const SumAttempt& attempt, std::span<std::uint64_t> values) {
  const std::unique_ptr<MaskingCoordinator> made = masking_of(attempt);
  MaskingCoordinator& masking = *made;
  const auto send_each = [&](const std::vector<std::uint32_t>& silos, FrameKind kind, const auto& body_for) {
    for (const std::uint32_t silo : left_of(silos)) {
      send(silo, kind, PayloadWriter().u32(attempt.attempt).bytes(body_for(silo)).take());
    }
  };
  const auto gather_all = [&](FrameKind kind, const std::vector<std::uint32_t>& from, const auto& take) {
    gather(kind, from, [&](std::uint32_t silo, PayloadReader& payload) {
      if (payload.u32() != attempt.attempt) throw AggregationAborted("it mixes up attempts at a sum");
      std::invoke(take, masking, silo, payload);
      return true;
    });
  };
  // Asks silos to sign the list that they have received. Returns those that have signed and are left; each of these is
  // sent the signatures which show that they are enough.
  const auto agree_on_list = [&](ListStage stage, const std::vector<std::uint32_t>& silos) {
    gather_all(FrameKind::kConsent, silos, [&](MaskingCoordinator&, std::uint32_t silo, PayloadReader& consent) {
      masking.take_consent(silo, stage, consent);
    });
    const std::vector<std::uint32_t> consenting = masking.consenting(stage);
    require_enough(consenting.size());
    require_enough(left_.size());
    const std::vector<std::byte> quorum = masking.quorum(stage);
    send_each(consenting, FrameKind::kQuorum, [&](std::uint32_t) -> const std::vector<std::byte>& { return quorum; });
    return consenting;
  };

  send_each(left_, FrameKind::kBegin, [&](std::uint32_t) { return PayloadWriter().u64(attempt.words).take(); });
  gather_all(FrameKind::kAdvertise, left_, &MaskingCoordinator::take_advertisement);
  const std::vector<std::uint32_t> advertised = masking.close_advertising();
  require_enough(advertised.size());
  require_enough(left_.size());

  send_each(advertised, FrameKind::kKeys, [&](std::uint32_t silo) { return masking.keys_for(silo); });
  gather_all(FrameKind::kShares, advertised, &MaskingCoordinator::take_shares);
  const std::vector<std::uint32_t> sharing = masking.close_sharing();
  require_enough(sharing.size());
  require_enough(left_.size());

  send_each(sharing, FrameKind::kDelivery, [&](std::uint32_t silo) { return masking.delivery_for(silo); });
  const std::vector<std::uint32_t> masking_silos = agree_on_list(ListStage::kSharing, sharing);
  if (!gather_masked(masking, attempt, sharing, masking_silos)) return false;
  const std::vector<std::uint32_t> summed = masking.close_masking();
  require_enough(summed.size());

  send_each(summed, FrameKind::kUnmask, [&](std::uint32_t silo) { return masking.unmask_for(silo); });
  const std::vector<std::uint32_t> revealing = agree_on_list(ListStage::kSummed, summed);
  gather_all(FrameKind::kReveal, revealing, &MaskingCoordinator::take_reveal);
  require_enough(left_.size());
  if (!masking.can_unmask()) {
    throw AggregationAborted("too few neighbors of a silo are left to remove its mask; start the run again");
  }
  masking.add_sum_to(values);
  last_summed_ = summed;
  send_each(left_, FrameKind::kDone, [](std::uint32_t) { return std::vector<std::byte>(); });
  return true;
}

void CoordinatorSession::sum(std::span<std::uint64_t> values) {
  DPREDUCE_ASSERT(!values.empty() && values.size() <= kMostWords);
  lead([&] {
    ++round_;
    SumAttempt attempt{
        run_, round_, 0, values.size(), entry_.terms.threshold, entry_.terms.colluding, transcript_.digest()};
    do {
      ++attempt.attempt;
    } while (!try_sum(attempt, values));
  });
}

void CoordinatorSession::broadcast(std::span<const std::byte> bytes) {
  lead([&] { send_to_all(bytes); });
}

void CoordinatorSession::send_to_all(std::span<const std::byte> bytes) {
  ++round_;
  for (std::size_t first = 0; first < bytes.size(); first += SiloSession::kBroadcastPiece) {
    const std::size_t length = std::min(SiloSession::kBroadcastPiece, bytes.size() - first);
    for (const std::uint32_t silo : left_) send(silo, FrameKind::kBroadcast, bytes.subspan(first, length));
  }
  note(FrameKind::kBroadcast, bytes);
}

void CoordinatorSession::agree_on_plan(const PublicKey& plan) {
  lead([&] {
    ++round_;
    std::map<std::uint32_t, std::vector<std::byte>> of_silos;
    gather(FrameKind::kPlan, left_, [&](std::uint32_t silo, PayloadReader& payload) {
      of_silos[silo] = take_signed_plan(payload, roster_.members[silo].key, run_, silo, plan, "it");
      payload.end();
      return true;
    });
    require_enough(left_.size());
    PayloadWriter writer;
    writer.numbers(left_).bytes(make_signed_plan(entry_.identity, run_, 0, plan));
    for (const std::uint32_t silo : left_) writer.bytes(of_silos.at(silo));
    const std::vector<std::byte> payload = writer.take();
    for (const std::uint32_t silo : left_) send(silo, FrameKind::kPlan, payload);
    note(FrameKind::kPlan, payload);
  });
}

double CoordinatorSession::largest(double value) {
  lead([&] {
    ++round_;
    numbers_.clear();
    gather(FrameKind::kNumber, left_, [&](std::uint32_t silo, PayloadReader& payload) {
      const double number = payload.whole_number("its");
      payload.end();
      numbers_[silo] = static_cast<std::uint64_t>(number);
      value = std::max(value, number);
      return true;
    });
    require_enough(left_.size());
    const std::vector<std::byte> payload = PayloadWriter().u64(std::bit_cast<std::uint64_t>(value)).take();
    for (const std::uint32_t silo : left_) send(silo, FrameKind::kNumber, payload);
    note(FrameKind::kNumber, payload);
  });
  return value;
}

}  // namespace dpreduce
