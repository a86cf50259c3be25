// Silo 1 of three with a roster; coordinator and the other silos are in the test's hands.
#pragma once

#include <future>

#include "common/base/error.hpp"
#include "tests/common/silos/memory_wire.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

class OneHonestSilo {
 public:
  explicit OneHonestSilo(std::uint32_t threshold = 2) : terms_{3, threshold, 0}, queues_(4), wire_(queues_, 0) {
    for (std::uint32_t party = 0; party < 4; ++party) {
      identities_.push_back(Identity::generate());
      roster_.members[party].key = identities_[party].public_key();
    }
    save_new_identity(identities_[1], path_, "--identity");
    offer_ = {{}, terms_, roster_.digest(), roster_.members[0].key, key_.public_key(), {}};
  }
  ~OneHonestSilo() { queues_.post(1, {0, {}, true}); }

  /// Begins a run with the one offer that there is, of a sum, before which silo 1 shows the plan of zeros where
  /// `has_plan`. Returns silo 1's hello.
  Hello begin(bool has_plan = false) {
    refusal_ = std::async(std::launch::async, [this, has_plan] { return take_part(has_plan); });
    wire_.send(1, make_offer(offer_, identities_[0], 1));
    const Hello hello = open_hello(next(), offer_, 1, roster_);
    channel_.emplace(key_.agree(hello.key), offer_.run, 0, 1);
    return hello;
  }
  /// "members": that hello of silo 1, and silos 2 and 3, of which the coordinator changes what it likes.
  void name_members(const Hello& of_first, const std::function<void(std::uint32_t, Hello&)>& change = nullptr,
                    const std::vector<std::uint32_t>& present = {1, 2, 3}) {
    PayloadWriter members;
    members.numbers(present).plain(of_first);
    for (std::uint32_t silo = 2; silo <= 3; ++silo) {
      Hello hello = signed_hello(silo, identities_[silo]);
      if (change) change(silo, hello);
      members.plain(hello);
    }
    const std::vector<std::byte> payload = members.take();
    run_ = run_of(offer_, payload);
    wire_.send(1, channel_->seal(FrameKind::kMembers, 0, payload));
  }
  /// Of silo `silo`, by whoever has that identity.
  Hello signed_hello(std::uint32_t silo, const Identity& identity) const {
    const Hello unsigned_hello{identity.public_key(), AgreementKey::generate().public_key(), {}};
    return open_hello(make_hello(unsigned_hello, identity, offer_, silo), offer_, silo, std::nullopt);
  }
  const Identity& identity(std::uint32_t silo) const { return identities_[silo]; }

  /// "plan": that of silo 1, and these of the coordinator and of silos.
  void show_plans(const PublicKey& of_coordinator, const std::vector<std::pair<std::uint32_t, PublicKey>>& others) {
    const std::vector<std::byte> own = channel_->open(round_, next()).payload;
    std::vector<std::uint32_t> present{1};
    for (const auto& other : others) present.push_back(other.first);
    PayloadWriter plans;
    plans.numbers(present).bytes(make_signed_plan(identities_[0], run_, 0, of_coordinator)).bytes(own);
    for (const auto& [silo, plan] : others) plans.bytes(make_signed_plan(identities_[silo], run_, silo, plan));
    wire_.send(1, channel_->seal(FrameKind::kPlan, round_, plans.take()));
    ++round_;
  }
  /// "begin", and "keys" of these silos and silo 1.
  void sum_with(std::uint32_t attempt, const std::vector<std::uint32_t>& others) {
    send(FrameKind::kBegin, attempt, PayloadWriter().u64(kWords).take());
    std::vector<std::uint32_t> all{1};
    all.insert(all.end(), others.begin(), others.end());
    PayloadWriter keys;
    keys.numbers(all);
    const SumAttempt sum{run_, round_, attempt, kWords, terms_.threshold, terms_.colluding};
    for (const std::uint32_t silo : others) {
      Advertisement advertisement{AgreementKey::generate().public_key(), {}, {}};
      advertisement.signature = identities_[silo].sign(signed_part(sum, silo, advertisement));
      keys.plain(advertisement);
    }
    send(FrameKind::kKeys, attempt, keys.take());
  }
  FrameKind answer() { return channel_->open(round_, next()).kind; }
  /// Of a silo that was told nothing wrong: that the coordinator is gone.
  std::string refusal() {
    queues_.post(1, {0, {}, true});
    return refusal_.get();
  }

 private:
  static constexpr std::size_t kWords = 10;

  std::string take_part(bool has_plan) {
    MemoryWire wire(queues_, 1);
    try {
      SiloSession session(wire, 1,
                          {.terms = terms_,
                           .roster = roster_,
                           .identity = load_identity(path_, "--identity"),
                           .timeout = std::chrono::milliseconds(20000)});
      session.connect();
      if (has_plan) session.agree_on_plan({});
      session.sum(std::vector<std::uint64_t>(kWords, 1));
    } catch (const PeerFailed&) {
      return "the coordinator is gone";
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::vector<std::byte> next() { return wire_.receive(WireClock::now() + std::chrono::seconds(20)).value().bytes; }
  void send(FrameKind kind, std::uint32_t attempt, std::span<const std::byte> body) {
    wire_.send(1, channel_->seal(kind, round_, PayloadWriter().u32(attempt).bytes(body).take()));
  }

  SiloTerms terms_;
  MessageQueues queues_;
  MemoryWire wire_;
  std::vector<Identity> identities_;
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "1.key";
  Roster roster_{1, 2, std::vector<Member>(4)};
  AgreementKey key_ = AgreementKey::generate();
  Offer offer_;
  std::uint64_t round_ = 1;
  RunId run_{};
  std::optional<Channel> channel_;
  std::future<std::string> refusal_;
};

}  // namespace dpreduce
