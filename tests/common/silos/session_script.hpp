// A silo's session as a state machine: one script of all that it can be asked, against a coordinator that may say
// anything at any point. What must hold whatever it says is checked here.
#pragma once

#include "common/base/error.hpp"
#include "tests/common/silos/lying_coordinator.hpp"

namespace dpreduce {

struct SessionEnd {
  std::string refusal;          ///< empty: the script was played to its end
  std::string broken_promise;   ///< empty: none
  std::vector<FrameKind> sent;  ///< by the silo
};

inline constexpr std::size_t kScriptWords = 5;

/// Two rounds of agreement, number, sum (in so many attempts) and broadcast.
inline SessionEnd play_session(const LyingCoordinator::Change& change, std::uint32_t attempts = 1,
                               bool silo_2_talks = false) {
  LyingCoordinator coordinator({}, change);
  coordinator.sum_after_number(kScriptWords, attempts);
  if (silo_2_talks) coordinator.let_silo_2_talk();
  SiloSession session(coordinator, 1, LyingCoordinator::entry());
  const std::vector<std::uint64_t> values(kScriptWords, 5);
  std::size_t before_masking = 0;
  session.set_before_masking([&](std::span<const std::uint64_t>) { ++before_masking; });
  const auto ask_all = [&] {
    session.connect();
    session.agree_on_plan({});
    for (int round = 0; round < 2; ++round) {
      session.check();
      if (session.agree(kNobodyFailed) != kNobodyFailed) throw AggregationAborted("a verdict");
      session.largest(1.0);
      session.sum(values);
      std::vector<std::byte> told(sizeof(std::uint64_t));
      session.receive_broadcast(told);
    }
    if (session.agree(kNobodyFailed) != kNobodyFailed) throw AggregationAborted("a verdict");
  };
  SessionEnd end;
  try {
    ask_all();
  } catch (const Error& error) {  // AggregationAborted, or PeerFailed: nothing else may come of a message
    end.refusal = error.what();
    if (error.code() == ExitCode::kDone) end.broken_promise = "a refusal has the exit code of success";
  }
  end.sent = coordinator.sent();
  const auto sent = [&](FrameKind kind) {
    return static_cast<std::size_t>(std::count(end.sent.begin(), end.sent.end(), kind));
  };
  if (sent(FrameKind::kMasked) != before_masking) end.broken_promise = "it masks without the step before";
  if (sent(FrameKind::kReveal) > sent(FrameKind::kMasked)) end.broken_promise = "it reveals what it has not masked";
  if (sent(FrameKind::kMasked) > sent(FrameKind::kConsent)) end.broken_promise = "it masks without a signature";
  if (end.refusal.empty()) {
    if (coordinator.result() != values) end.broken_promise = "another sum";
    return end;
  }
  // A refusal is final.
  std::vector<std::byte> told(sizeof(std::uint64_t));
  const std::function<void()> more[] = {
      [&] { session.connect(); },   [&] { session.agree_on_plan({}); },       [&] { session.largest(1.0); },
      [&] { session.sum(values); }, [&] { session.receive_broadcast(told); }, [&] { session.check(); }};
  for (const auto& call : more) {
    try {
      call();
      end.broken_promise = "it goes on after a refusal";
    } catch (const Error&) {
    }
  }
  if (session.agree(kNobodyFailed) == kNobodyFailed) end.broken_promise = "it agrees after a refusal";
  if (coordinator.sent().size() != end.sent.size()) end.broken_promise = "it sends after a refusal";
  return end;
}

}  // namespace dpreduce
