#include "common/silos/silo_session.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

[[noreturn]] void throw_gone() {
  throw PeerFailed(ExitCode::kAggregationAborted, 0);
}

}  // namespace

SiloSession::SiloSession(Wire& wire, std::uint32_t number, SiloEntry entry) : wire_(wire), entry_(std::move(entry)) {
  DPREDUCE_ASSERT(number >= 1 && number <= entry_.terms.silos);
  self_.number = number;
  self_.identity = &entry_.identity;
  self_.roster = &roster_;
}

template <typename Step>
void SiloSession::take_part(const Step& step) {
  if (ended_) {
    throw AggregationAborted("silo {} has already ended with exit code {}, and takes no further part in this run",
                             self_.number, static_cast<int>(code_of(*ended_)));
  }
  try {
    step();
  } catch (const PeerFailed& failure) {
    end_with(failure_of(failure.rank, failure.code()));
    throw;
  } catch (const Error& error) {
    end_with(failure_of(self_.number, error.code()));
    throw;
  } catch (...) {
    end_with(failure_of(self_.number, ExitCode::kInternal));
    throw;
  }
}

void SiloSession::end_with(std::int64_t failure) {
  ended_ = failure;
  self_.pair_secrets.clear();
}

// The others' word counts for nothing here: not even that they end.
std::optional<Message> SiloSession::of_coordinator(WireClock::time_point until) {
  for (;;) {
    std::optional<Message> message = wire_.receive(until);
    if (!message || message->from == 0) return message;
    if (WireClock::now() > until) return std::nullopt;
  }
}

void SiloSession::connect() {
  take_part([&] {
    const std::optional<Message> message = of_coordinator(end_of_patience());
    if (!message) throw AggregationAborted("the coordinator does not begin the run");
    if (message->is_farewell) throw_gone();
    const Offer offer = open_offer(message->bytes, self_.number, entry_.terms, entry_.roster, wire_.binding(0));
    const AgreementKey key = AgreementKey::generate();
    const Hello hello{entry_.identity.public_key(), key.public_key(), wire_.binding(0), {}};
    channel_.emplace(key.agree(offer.key), offer.run, self_.number, 0);
    wire_.send(0, make_hello(hello, entry_.identity, offer, self_.number));

    const OpenedMessage opened = wait();
    PayloadReader reader(opened.payload);
    const std::vector<std::uint32_t> present = reader.numbers();
    if (opened.kind != FrameKind::kMembers || !is_rising(present) || present.empty() ||
        present.back() > entry_.terms.silos || present.size() < entry_.terms.threshold) {
      throw AggregationAborted("the coordinator names impossible members of this run");
    }
    roster_ = entry_.roster.value_or(Roster{0, 0, std::vector<Member>(entry_.terms.silos + 1)});
    roster_.members[0].key = offer.identity;
    bool is_own_there = false;  // with the key that was just made, so that this is no replay of an earlier run
    for (const std::uint32_t silo : present) {
      const Hello other = reader.plain<Hello>();
      if ((entry_.roster && roster_.members[silo].key != other.identity) || !verifies(other, offer, silo)) {
        throw AggregationAborted("the key of silo {} is not signed by it", silo);
      }
      roster_.members[silo].key = other.identity;
      is_own_there = is_own_there || (silo == self_.number && other.key == hello.key);
      if (silo != self_.number) self_.pair_secrets.emplace(silo, key.agree(other.key));
    }
    reader.end();
    if (!is_own_there) throw AggregationAborted("the coordinator names members of another run than this silo's");
    run_ = run_of(offer, opened.payload);
    present_ = present;
    if (entry_.log != nullptr) {
      entry_.log->line(fmt::format("run {} of coordinator {}, silos {}", short_hex(run_), short_hex(offer.identity),
                                   fmt::join(present, " ")));
    }
  });
}

// Notes which silos the coordinator names no more: all that a silo learns of the others.
void SiloSession::note_present(const std::vector<std::uint32_t>& silos) {
  std::vector<std::uint32_t> gone;
  std::set_difference(present_.begin(), present_.end(), silos.begin(), silos.end(), std::back_inserter(gone));
  if (gone.empty()) return;
  present_ = silos;
  if (entry_.log == nullptr) return;
  for (const std::uint32_t silo : gone) {
    entry_.log->line(fmt::format("round {}: without {} from here on", round_, roster_.party_text(silo)));
  }
}

void SiloSession::send(FrameKind kind, std::span<const std::byte> payload) {
  wire_.send(0, channel_->seal(kind, round_, payload));
}

void SiloSession::refuse_run_end(const OpenedMessage& opened) {
  PayloadReader reader(opened.payload);
  if (opened.kind == FrameKind::kDropped) {
    const std::string_view reason = text_in(reader.rest());
    throw AggregationAborted("the run goes on without silo {}: {}", self_.number, shown_text(reason, reason.size()));
  }
  if (opened.kind != FrameKind::kVerdict) return;
  const std::int64_t told = received_failure(static_cast<std::int64_t>(reader.u64()), entry_.terms.silos);
  reader.end();
  if (told == kNobodyFailed) return;
  // This silo knows itself whether it has failed. About another party it believes the end of the run, and no exit code.
  const int party = failed_party(told) == static_cast<int>(self_.number) ? 0 : failed_party(told);
  throw PeerFailed(ExitCode::kAggregationAborted, party);
}

OpenedMessage SiloSession::wait(WireClock::time_point until) {
  const std::optional<Message> message = of_coordinator(until);
  if (!message) throw AggregationAborted("silo {}: the coordinator is silent", self_.number);
  if (message->is_farewell) throw_gone();
  OpenedMessage opened = channel_->open(round_, message->bytes);
  refuse_run_end(opened);
  return opened;
}

void SiloSession::check() {
  take_part([&] {
    const std::optional<Message> message = of_coordinator(WireClock::now());
    if (!message) return;
    if (message->is_farewell) throw_gone();
    refuse_run_end(channel_->open(round_ + 1, message->bytes));  // the next round is that of `agree`
    throw AggregationAborted("the coordinator is ahead of this silo");
  });
}

std::int64_t SiloSession::agree(std::int64_t verdict) {
  if (ended_) return *ended_;
  try {
    take_part([&] {
      ++round_;
      send(FrameKind::kStatus, PayloadWriter().u64(static_cast<std::uint64_t>(verdict)).take());
      if (verdict != kNobodyFailed) return end_with(verdict);
      if (wait().kind != FrameKind::kVerdict) throw AggregationAborted("the coordinator sends no verdict");
    });
  } catch (const PeerFailed&) {  // told by what is returned
  }
  return ended_.value_or(kNobodyFailed);
}

void SiloSession::send_pieces(SiloSum& sum, std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> piece;
  for (std::size_t first = 0; first < values.size(); first += kWordsPerPiece) {
    const auto part = values.subspan(first, std::min(kWordsPerPiece, values.size() - first));
    piece.assign(part.begin(), part.end());
    sum.mask(first, piece);
    const auto masked = std::as_bytes(std::span(piece));
    send(FrameKind::kMasked, PayloadWriter().u32(sum.attempt()).u64(first).bytes(masked).take());
  }
}

void SiloSession::sum(std::span<const std::uint64_t> values) {
  take_part([&] {
    ++round_;
    SiloSum sum(self_,
                {run_, round_, 0, values.size(), entry_.terms.threshold, entry_.terms.colluding, transcript_.digest()},
                present_);
    for (;;) {
      const OpenedMessage opened = wait();
      PayloadReader reader(opened.payload);
      const std::uint32_t attempt = reader.u32();
      const OpenedMessage due = sum.take(opened.kind, attempt, reader);
      if (due.kind == FrameKind::kDone) return;
      if (due.kind == FrameKind::kMasked) {
        // Nothing of this silo's statistic has left it until here: every check that can make it refuse the sum has come
        // before.
        if (before_masking_) before_masking_(values);
        send_pieces(sum, values);
      } else {
        send(due.kind, PayloadWriter().u32(attempt).bytes(due.payload).take());
        note_present(sum.present());
      }
    }
  });
}

// However it is cut, it has to be there in time. The cut is fixed: pieces are no way to keep a silo waiting.
void SiloSession::receive_broadcast(std::span<std::byte> bytes) {
  take_part([&] {
    ++round_;
    const auto until = end_of_patience();
    for (std::span<std::byte> due = bytes; !due.empty();) {
      const std::size_t length = std::min(kBroadcastPiece, due.size());
      const OpenedMessage opened = wait(until);
      if (opened.kind != FrameKind::kBroadcast || opened.payload.size() != length) {
        throw AggregationAborted("the coordinator broadcasts something else than this silo expects");
      }
      std::copy(opened.payload.begin(), opened.payload.end(), due.begin());
      due = due.subspan(length);
    }
    transcript_.add(FrameKind::kBroadcast, round_, bytes);
  });
}

void SiloSession::refuse(ExitCode code) {
  take_part([&] {
    ++round_;
    end_with(failure_of(self_.number, code));
    try {
      send(FrameKind::kRefusal, {});
    } catch (const Error&) {  // the line is gone, and nobody is left to be told
    }
  });
}

void SiloSession::agree_on_plan(const PublicKey& plan) {
  take_part([&] {
    ++round_;
    send(FrameKind::kPlan, make_signed_plan(entry_.identity, run_, self_.number, plan));
    const OpenedMessage opened = wait();
    PayloadReader reader(opened.payload);
    const std::vector<std::uint32_t> present = reader.numbers();
    if (opened.kind != FrameKind::kPlan || !is_rising(present) || !is_subset(present, present_) ||
        present.size() < entry_.terms.threshold || !std::binary_search(present.begin(), present.end(), self_.number)) {
      throw AggregationAborted("the coordinator does not show the noise plans of silos that this run can have");
    }
    take_signed_plan(reader, roster_.members[0].key, run_, 0, plan, roster_.party_text(0));
    for (const std::uint32_t silo : present) {
      take_signed_plan(reader, roster_.members[silo].key, run_, silo, plan, roster_.party_text(silo));
    }
    reader.end();
    transcript_.add(FrameKind::kPlan, round_, opened.payload);
    note_present(present);
  });
}

double SiloSession::largest(double value) {
  take_part([&] {
    ++round_;
    send(FrameKind::kNumber, PayloadWriter().u64(std::bit_cast<std::uint64_t>(value)).take());
    const OpenedMessage opened = wait();
    if (opened.kind != FrameKind::kNumber) throw AggregationAborted("the coordinator sends no number");
    PayloadReader reader(opened.payload);
    value = reader.whole_number("the coordinator's");
    reader.end();
    transcript_.add(FrameKind::kNumber, round_, opened.payload);
  });
  return value;
}

}  // namespace dpreduce
