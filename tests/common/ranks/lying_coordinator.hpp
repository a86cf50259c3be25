// The wire of silo 1 of two, with a coordinator at its end that says what it likes, and silo 2 beside it. Nothing
// waits: where the silo waits for a message that does not come, it is told at once that its time is over.
#pragma once

#include <deque>

#include "common/base/verdict.hpp"
#include "common/silos/channel.hpp"
#include "common/silos/handshake.hpp"
#include "common/silos/silo_session.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

class LyingCoordinator final : public Wire {
 public:
  explicit LyingCoordinator(std::vector<std::int64_t> verdicts) : verdicts_(std::move(verdicts)) {
    offer_ = {{}, terms(), {}, identity_.public_key(), key_.public_key(), {}};
    post(make_offer(offer_, identity_, 1));
  }

  static SiloTerms terms() { return {2, 2, 0, {}}; }
  static SiloEntry entry() {
    return {.terms = terms(),
            .roster = std::nullopt,
            .identity = Identity::generate(),
            .timeout = std::chrono::milliseconds(1000)};
  }

  void post(std::vector<std::byte> bytes) { queue_.push_back({0, std::move(bytes), false}); }
  void post(Message message) { queue_.push_back(std::move(message)); }
  /// The next message of the channel, of the round that comes next.
  void post(FrameKind kind, std::span<const std::byte> payload) { post(channel_->seal(kind, round_ + 1, payload)); }

  /// What begins the sum that follows the agreement on the plan.
  void begin_after_plan(std::vector<std::byte> payload) { begin_ = std::move(payload); }

  /// Answers as a coordinator does, but for the verdicts.
  void send(std::uint32_t, std::vector<std::byte> bytes) override {
    if (!channel_) return welcome(open_hello(bytes, offer_, 1, std::nullopt));
    const FrameKind kind = claimed_header(bytes)->kind;
    sent_.push_back(kind);
    if (kind != FrameKind::kStatus && kind != FrameKind::kNumber && kind != FrameKind::kPlan) return;
    const OpenedMessage opened = channel_->open(++round_, bytes);
    --round_;  // `post` counts on
    if (kind == FrameKind::kNumber) {
      post(kind, opened.payload);
    } else if (kind == FrameKind::kPlan) {
      PayloadWriter plans;
      plans.numbers(std::vector<std::uint32_t>{1, 2}).bytes(make_signed_plan(identity_, run_, 0, {}));
      post(kind, plans.bytes(opened.payload).bytes(make_signed_plan(other_, run_, 2, {})).take());
    } else {
      const std::int64_t told = judged_ < verdicts_.size() ? verdicts_[judged_++] : kNobodyFailed;
      post(FrameKind::kVerdict, PayloadWriter().u64(static_cast<std::uint64_t>(told)).take());
    }
    ++round_;
    if (kind == FrameKind::kPlan) post(FrameKind::kBegin, begin_);
  }
  std::optional<Message> receive(WireClock::time_point) override {
    if (queue_.empty()) return std::nullopt;
    Message message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }

  /// The kinds of what has come from the silo, its hello left out.
  const std::vector<FrameKind>& sent() const { return sent_; }

 private:
  void welcome(const Hello& hello) {
    channel_.emplace(key_.agree(hello.key), offer_.run, 0, 1);
    const Hello other =
        open_hello(make_hello({other_.public_key(), AgreementKey::generate().public_key(), {}}, other_, offer_, 2),
                   offer_, 2, std::nullopt);
    PayloadWriter members;
    members.numbers(std::vector<std::uint32_t>{1, 2});
    for (const Hello& one : {hello, other}) write_hello(members, one);
    const std::vector<std::byte> payload = members.take();
    run_ = run_of(offer_, payload);
    post(channel_->seal(FrameKind::kMembers, 0, payload));
  }

  std::vector<std::int64_t> verdicts_;
  Identity identity_ = Identity::generate();
  Identity other_ = Identity::generate();
  AgreementKey key_ = AgreementKey::generate();
  Offer offer_;
  RunId run_{};
  std::vector<std::byte> begin_;
  std::optional<Channel> channel_;
  std::uint64_t round_ = 0;
  std::size_t judged_ = 0;
  std::deque<Message> queue_;
  std::vector<FrameKind> sent_;
};

}  // namespace dpreduce
