// The wire of silo 1 of two, with a coordinator at its end that says what it likes, and silo 2 beside it. Nothing
// waits: where the silo waits for a message that does not come, it is told at once that its time is over.
#pragma once

#include <deque>

#include "common/base/error.hpp"
#include "common/silos/frame.hpp"
#include "common/silos/handshake.hpp"
#include "common/silos/masking_coordinator.hpp"
#include "common/silos/masking_silo.hpp"
#include "common/silos/silo_session.hpp"
#include "tests/common/silos/give.hpp"

namespace dpreduce {

class LyingCoordinator final : public Wire {
 public:
  /// Changes the message that is due, number 0 being "members". Returns whether it is sent at all.
  using Change = std::function<bool(std::size_t number, FrameKind& kind, std::vector<std::byte>& payload)>;

  /// Tells these verdicts, and then that all is well.
  explicit LyingCoordinator(std::vector<std::int64_t> verdicts, Change change = nullptr,
                            const LineBinding& binding = {})
      : verdicts_(std::move(verdicts)), change_(std::move(change)), binding_(binding) {
    offer_ = {{}, terms(), {}, identity_.public_key(), key_.public_key(), {}};
    post(make_offer(offer_, identity_, 1, binding_));
  }

  static SiloTerms terms() { return {2, 2, 0, {}}; }
  static SiloEntry entry() {
    return {.terms = terms(),
            .roster = std::nullopt,
            .identity = Identity::generate(),
            .timeout = std::chrono::milliseconds(1000)};
  }

  void post(std::vector<std::byte> bytes) {
    if (talks_between_) queue_.insert(queue_.end(), {{2, std::vector<std::byte>(1), false}, {2, {}, true}});
    queue_.push_back({0, std::move(bytes), false});
  }
  void post(Message message) { queue_.push_back(std::move(message)); }
  /// The next message of the channel, of that round.
  void post(FrameKind kind, std::uint64_t round, std::vector<std::byte> payload) {
    if (!change_ || change_(posted_++, kind, payload)) post(channel_->seal(kind, round, payload));
  }

  /// What begins the sum that follows the agreement on the plan; nothing more is said in it.
  void begin_after_plan(std::vector<std::byte> payload) { begin_ = std::move(payload); }
  /// The sum of so many words that follows a number: with silo 2, which adds zeros, to its end; then a broadcast of 8
  /// bytes. All attempts but the last, each of a number larger by 3, are given up once all is masked.
  void sum_after_number(std::size_t words, std::uint32_t attempts = 1) {
    words_ = words;
    attempts_ = attempts;
  }
  /// From here on silo 2 says something, and that it leaves, before each message.
  void let_silo_2_talk() { talks_between_ = true; }
  /// Shown each frame of the silo behind its hello before it is answered.
  void watch(std::function<void(std::span<const std::byte>)> seen) { seen_ = std::move(seen); }

  /// Answers as a coordinator does, but for the verdicts and changes.
  void send(std::uint32_t, std::vector<std::byte> bytes) override {
    if (!channel_) return welcome(open_hello(bytes, offer_, 1, std::nullopt, binding_));
    if (seen_) seen_(bytes);
    const FrameKind kind = claimed_header(bytes)->kind;
    sent_.push_back(kind);
    try {
      answer(kind, bytes);
    } catch (const AggregationAborted&) {  // of a silo that it has led astray
    }
  }
  std::optional<Message> receive(WireClock::time_point) override {
    if (queue_.empty()) return std::nullopt;
    Message message = std::move(queue_.front());
    queue_.pop_front();
    return message;
  }

  /// The kinds of what has come from the silo, its hello left out.
  const std::vector<FrameKind>& sent() const { return sent_; }
  /// The last sum that was made.
  const std::vector<std::uint64_t>& result() const { return result_; }

 private:
  void answer(FrameKind kind, std::span<const std::byte> bytes) {
    switch (kind) {
      case FrameKind::kStatus:
      case FrameKind::kNumber:
      case FrameKind::kPlan:
        return answer_agreement(kind, channel_->open(round_ + 1, bytes));
      default:
        if (sum_) answer_in_sum(kind, channel_->open(round_, bytes));
    }
  }

  void answer_agreement(FrameKind kind, OpenedMessage opened) {
    ++round_;
    if (kind == FrameKind::kNumber) {
      transcript_.add(kind, round_, opened.payload);
      post(kind, round_, std::move(opened.payload));
      if (words_ > 0) begin_sum();
    } else if (kind == FrameKind::kPlan) {
      PayloadWriter plans;
      plans.numbers(std::vector<std::uint32_t>{1, 2}).bytes(make_signed_plan(identity_, run_, 0, {}));
      plans.bytes(opened.payload).bytes(make_signed_plan(other_, run_, 2, {}));
      std::vector<std::byte> payload = plans.take();
      transcript_.add(kind, round_, payload);
      post(kind, round_, std::move(payload));
      if (words_ == 0) post(FrameKind::kBegin, round_ + 1, begin_);
    } else {
      const std::int64_t told = judged_ < verdicts_.size() ? verdicts_[judged_++] : kNobodyFailed;
      post(FrameKind::kVerdict, round_, PayloadWriter().u64(static_cast<std::uint64_t>(told)).take());
    }
  }

  void begin_sum() {
    ++round_;
    tried_ = 0;
    begin_attempt();
  }
  void begin_attempt() {
    attempt_ = 1 + 3 * tried_++;
    const SumAttempt attempt{run_, round_, attempt_, words_, 2, 0, transcript_.digest()};
    sum_.emplace(roster_, attempt);
    second_.emplace(second_self_, attempt);
    is_masked_ = false;
    post_in_sum(FrameKind::kBegin, PayloadWriter().u64(words_).take());
  }

  void post_in_sum(FrameKind kind, std::span<const std::byte> body) {
    post(kind, round_, PayloadWriter().u32(attempt_).bytes(body).take());
  }

  // Silo 2 gives its own message of each phase when silo 1 has.
  void answer_in_sum(FrameKind kind, const OpenedMessage& opened) {
    PayloadReader own(opened.payload);
    own.u32();  // attempt
    const auto take_both = [&](auto take, const std::vector<std::byte>& of_second, auto... stage) {
      std::invoke(take, *sum_, 1U, stage..., own);
      give(of_second, take, *sum_, 2U, stage...);
    };
    if (kind == FrameKind::kAdvertise) {
      take_both(&MaskingCoordinator::take_advertisement, second_->advertise());
      sum_->close_advertising();
      post_in_sum(FrameKind::kKeys, sum_->keys_for(1));
    } else if (kind == FrameKind::kShares) {
      take_both(&MaskingCoordinator::take_shares, give(sum_->keys_for(2), &MaskingSilo::take_keys, *second_));
      sum_->close_sharing();
      post_in_sum(FrameKind::kDelivery, sum_->delivery_for(1));
    } else if (kind == FrameKind::kConsent) {
      const ListStage stage = is_masked_ ? ListStage::kSummed : ListStage::kSharing;
      take_both(&MaskingCoordinator::take_consent,
                is_masked_ ? give(sum_->unmask_for(2), &MaskingSilo::take_unmask, *second_)
                           : give(sum_->delivery_for(2), &MaskingSilo::take_delivery, *second_),
                stage);
      const std::vector<std::byte> quorum = sum_->quorum(stage);
      if (is_masked_) {
        second_reveals_ = give(quorum, &MaskingSilo::take_summed_quorum, *second_);
      } else {
        give(quorum, &MaskingSilo::take_sharing_quorum, *second_);
      }
      post_in_sum(FrameKind::kQuorum, quorum);
    } else if (kind == FrameKind::kMasked) {
      sum_->add_piece(1, own);
      if (sum_->has_masked_all(1)) end_masking();
    } else if (kind == FrameKind::kReveal) {
      take_both(&MaskingCoordinator::take_reveal, second_reveals_);
      end_sum();
    }
  }

  void end_masking() {
    if (tried_ < attempts_) return begin_attempt();
    std::vector<std::uint64_t> zeros(words_, 0);
    second_->mask(0, zeros);
    give(PayloadWriter().u64(0).bytes(std::as_bytes(std::span(zeros))).take(), &MaskingCoordinator::add_piece, *sum_,
         2U);
    sum_->close_masking();
    is_masked_ = true;
    post_in_sum(FrameKind::kUnmask, sum_->unmask_for(1));
  }

  void end_sum() {
    result_.assign(words_, 0);
    sum_->add_sum_to(result_);
    sum_.reset();
    post_in_sum(FrameKind::kDone, {});
    ++round_;
    const std::vector<std::byte> told(sizeof(std::uint64_t), std::byte{7});
    transcript_.add(FrameKind::kBroadcast, round_, told);
    post(FrameKind::kBroadcast, round_, told);
  }

  void welcome(const Hello& hello) {
    channel_.emplace(key_.agree(hello.key), offer_.run, 0, 1);
    const AgreementKey second_key = AgreementKey::generate();
    const Hello other = open_hello(make_hello({other_.public_key(), second_key.public_key(), {}}, other_, offer_, 2),
                                   offer_, 2, std::nullopt);
    PayloadWriter members;
    members.numbers(std::vector<std::uint32_t>{1, 2});
    for (const Hello& one : {hello, other}) members.plain(one);
    std::vector<std::byte> payload = members.take();
    run_ = run_of(offer_, payload);
    roster_.members[0].key = identity_.public_key();
    roster_.members[1].key = hello.identity;
    roster_.members[2].key = other_.public_key();
    second_self_.number = 2;
    second_self_.identity = &other_;
    second_self_.roster = &roster_;
    second_self_.pair_secrets.emplace(1U, second_key.agree(hello.key));
    post(FrameKind::kMembers, 0, std::move(payload));
  }

  std::vector<std::int64_t> verdicts_;
  Change change_;
  LineBinding binding_;  // of the line to silo 1
  std::size_t posted_ = 0;
  Identity identity_ = Identity::generate();
  Identity other_ = Identity::generate();
  AgreementKey key_ = AgreementKey::generate();
  Offer offer_;
  RunId run_{};
  Roster roster_{0, 0, std::vector<Member>(3)};
  SiloSelf second_self_;
  std::vector<std::byte> begin_;
  std::size_t words_ = 0;
  std::uint32_t attempts_ = 1;
  std::uint32_t tried_ = 0;    // attempts at this sum
  std::uint32_t attempt_ = 0;  // the number of the last of them
  bool talks_between_ = false;
  std::function<void(std::span<const std::byte>)> seen_;
  std::optional<MaskingCoordinator> sum_;
  std::optional<MaskingSilo> second_;
  std::vector<std::byte> second_reveals_;
  std::vector<std::uint64_t> result_;
  bool is_masked_ = false;
  Transcript transcript_;
  std::optional<Channel> channel_;
  std::uint64_t round_ = 0;
  std::size_t judged_ = 0;
  std::deque<Message> queue_;
  std::vector<FrameKind> sent_;
};

}  // namespace dpreduce
