// A wire between the threads of one process, and a run of a coordinator and its silos on it.
#pragma once

#include <condition_variable>
#include <deque>
#include <latch>
#include <mutex>

#include "common/base/error.hpp"
#include "common/silos/coordinator_session.hpp"
#include "tests/attacks/lying_sessions.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

class MessageQueues {
 public:
  explicit MessageQueues(std::size_t parties) : queues_(parties) {}

  void post(std::uint32_t to, Message message) {
    const std::lock_guard lock(mutex_);
    if (seen_) seen_(to, message);
    queues_.at(to).push_back(std::move(message));
    arrived_.notify_all();
  }
  std::optional<Message> take(std::uint32_t of, WireClock::time_point until) {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_until(lock, until, [&] { return !queues_[of].empty(); })) return std::nullopt;
    Message message = std::move(queues_[of].front());
    queues_[of].pop_front();
    return message;
  }
  /// Shown every message, with the party that it goes to.
  void watch(std::function<void(std::uint32_t, const Message&)> seen) { seen_ = std::move(seen); }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::deque<Message>> queues_;
  std::function<void(std::uint32_t, const Message&)> seen_;
};

class MemoryWire final : public Wire {
 public:
  MemoryWire(MessageQueues& queues, std::uint32_t own) : queues_(queues), own_(own) {}
  void send(std::uint32_t to, std::vector<std::byte> bytes) override {
    queues_.post(to, {own_, std::move(bytes), false});
  }
  std::optional<Message> receive(WireClock::time_point until) override { return queues_.take(own_, until); }

 private:
  MessageQueues& queues_;
  std::uint32_t own_;
};

struct Killed {};

/// What a run came to.
struct SiloRunResult {
  std::string refusal;  ///< of the coordinator; empty where it ended well
  std::vector<std::vector<std::uint64_t>> sums;
  std::vector<std::vector<std::uint32_t>> summed;  ///< silos in each
  std::vector<LostSilo> lost;
  std::map<std::uint32_t, std::string> silo_refusals;
};

struct SiloRunPlan {
  SiloTerms terms;
  std::chrono::milliseconds timeout{5000};
  std::optional<std::chrono::milliseconds> of_silos = std::nullopt;  ///< their timeout, where it is another
  std::size_t rounds = 1;
  std::size_t words = 100;
  std::optional<Fault> fault = std::nullopt;
  std::function<void(std::uint32_t, const Message&)> watcher = nullptr;
  std::map<std::uint32_t, PublicKey> other_plans{};  ///< of noise, of parties that do not have the one of all others
  std::optional<std::pair<std::uint32_t, std::size_t>> failure = std::nullopt;  ///< of a silo's own rows, in a round
};

inline PublicKey noise_plan_of(const SiloRunPlan& plan, std::uint32_t party) {
  const auto other = plan.other_plans.find(party);
  return other == plan.other_plans.end() ? PublicKey{} : other->second;
}

/// The word that silo `silo` adds at that place of that round.
inline std::uint64_t addend(std::uint32_t silo, std::size_t round, std::size_t place) {
  return (silo + 1) * 0x9e3779b97f4a7c15U * (round + 1) + place * silo;
}

inline SiloEntry simulated_entry(const SiloRunPlan& plan) {
  return {.terms = plan.terms, .roster = std::nullopt, .identity = Identity::generate(), .timeout = plan.timeout};
}

/// The part of a silo: `told` gets the sums that it is told. All agree on the noise first. Each round is an agreement,
/// a sum and a broadcast.
inline void take_silos_part(Wire& wire, std::uint32_t silo, const SiloRunPlan& plan, SiloEntry entry,
                            std::vector<std::vector<std::uint64_t>>& told, const SessionMaker& maker = {}) {
  const std::unique_ptr<SiloSession> made = maker.silo(wire, silo, std::move(entry));
  SiloSession& session = *made;
  session.connect();
  session.agree_on_plan(noise_plan_of(plan, silo));
  std::vector<std::uint64_t> values(plan.words);
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    for (std::size_t w = 0; w < plan.words; ++w) values[w] = addend(silo, round, w);
    const bool fails = plan.failure == std::pair<std::uint32_t, std::size_t>(silo, round);
    const std::int64_t verdict = fails ? failure_of(silo, ExitCode::kBadInput) : kNobodyFailed;
    if (session.agree(verdict) != kNobodyFailed) {
      throw AggregationAborted(fails ? "a row of its own" : "failed elsewhere");
    }
    session.sum(values);
    std::vector<std::uint64_t> back(plan.words);
    session.receive_broadcast(std::as_writable_bytes(std::span(back)));
    told.push_back(std::move(back));
  }
  session.agree(kNobodyFailed);
}

/// The part of the coordinator: `result` gets what it comes to.
inline void take_coordinators_part(Wire& wire, const SiloRunPlan& plan, SiloEntry entry, SiloRunResult& result,
                                   const SessionMaker& maker = {}) {
  const std::unique_ptr<CoordinatorSession> made = maker.coordinator(wire, std::move(entry), nullptr);
  CoordinatorSession& session = *made;
  try {
    session.connect();
    session.agree_on_plan(noise_plan_of(plan, 0));
    for (std::size_t round = 0; round < plan.rounds; ++round) {
      std::vector<std::uint64_t> values(plan.words, 0);
      for (std::size_t w = 0; w < plan.words; ++w) values[w] = addend(0, round, w);
      if (session.agree(kNobodyFailed) != kNobodyFailed) throw AggregationAborted("a silo has failed");
      session.sum(values);
      session.broadcast(std::as_bytes(std::span(values)));
      result.sums.push_back(values);
      result.summed.push_back(session.last_summed());
    }
    session.agree(kNobodyFailed);
  } catch (const Killed&) {
    result.refusal = "the coordinator was killed";
  } catch (const Error& error) {
    result.refusal = error.what();
  }
  result.lost = session.lost();
}

/// One thread a party.
inline SiloRunResult run_silos(const SiloRunPlan& plan) {
  const std::uint32_t silos = plan.terms.silos;
  MessageQueues queues(silos + 1);
  if (plan.watcher) queues.watch(plan.watcher);
  SiloRunResult result;
  std::mutex results;
  // A silo hangs until the coordinator has ended, a coordinator until all silos have.
  std::latch coordinator_runs(1);
  std::latch silos_run(silos);
  const auto maker = [&](std::latch& awaited) {
    return LyingSessions(plan.fault, {[] { throw Killed(); },
                                      [&] {
                                        awaited.wait();
                                        throw Killed();
                                      }});
  };
  const auto take_part = [&](std::uint32_t silo) {
    MemoryWire plain(queues, silo);
    try {
      SiloEntry entry = simulated_entry(plan);
      entry.timeout = plan.of_silos.value_or(plan.timeout);
      std::vector<std::vector<std::uint64_t>> told;
      take_silos_part(plain, silo, plan, std::move(entry), told, maker(coordinator_runs));
    } catch (const Killed&) {
    } catch (const Error& error) {
      const std::lock_guard lock(results);
      result.silo_refusals[silo] = error.what();
    }
    queues.post(0, {silo, {}, true});
    silos_run.count_down();
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t silo = 1; silo <= silos; ++silo) threads.emplace_back(take_part, silo);
  MemoryWire plain(queues, 0);
  take_coordinators_part(plain, plan, simulated_entry(plan), result, maker(silos_run));
  coordinator_runs.count_down();
  for (std::uint32_t silo = 1; silo <= silos; ++silo) queues.post(silo, {0, {}, true});
  threads.clear();
  return result;
}

/// Whether each sum is that of the silos that it says it holds, and of the coordinator.
inline bool sums_are_right(const SiloRunResult& result, const SiloRunPlan& plan) {
  for (std::size_t round = 0; round < result.sums.size(); ++round) {
    for (std::size_t w = 0; w < plan.words; ++w) {
      std::uint64_t expected = addend(0, round, w);
      for (const std::uint32_t silo : result.summed[round]) expected += addend(silo, round, w);
      if (result.sums[round][w] != expected) return false;
    }
  }
  return true;
}

}  // namespace dpreduce
