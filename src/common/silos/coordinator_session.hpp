// Coordinator's side of a run: it leads the silos through rounds, and goes on without those that dropped out.
//
// A silo has dropped out if its process ends, if its line is dead, or if a message of it is refused. It is informed,
// and never comes back. With fewer than t left the run ends. A silo that is alive and late is not lost: it ends the run
// for all. So does one that is late again and again, where the entry bounds for how long, in all, a silo may keep t
// others waiting: without that bound, one that answers just before each deadline holds a run for as long as all of them
// are together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/silos/frame.hpp"
#include "common/silos/masking_coordinator.hpp"
#include "common/silos/silo_session.hpp"

namespace dpreduce {

struct LostSilo {
  std::uint32_t silo = 0;
  std::string name;   ///< of the roster; else "silo 3"
  std::string phase;  ///< the kind of message that was due
  std::uint64_t round = 0;
  std::string reason;
};

/// Cost of one kind of message so far.
struct PhaseCost {
  double seconds = 0.0;     ///< for which the coordinator waited for it
  std::uint64_t waits = 0;  ///< how often it waited: once for all silos together, a round trip each time
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< on the wire, in both directions
};

/// All throw AggregationAborted where fewer than t silos are left, naming the lost ones, and where one is alive but
/// late, naming it. After that, and after a failure that all have agreed on, the run is over: all of them throw.
class CoordinatorSession {
 public:
  using OnLost = std::function<void(const LostSilo& lost, std::size_t left)>;

  /// `wire` outlives the session.
  CoordinatorSession(Wire& wire, SiloEntry entry, OnLost on_lost = nullptr);
  virtual ~CoordinatorSession() = default;
  CoordinatorSession(const CoordinatorSession&) = delete;
  CoordinatorSession& operator=(const CoordinatorSession&) = delete;

  void connect();

  /// Verdict that all agree on: the failure of the party with the smallest number, or none.
  std::int64_t agree(std::int64_t verdict);

  /// Goes on with the silos that have made the noise plan of that digest themselves (handshake.hpp).
  void agree_on_plan(const PublicKey& plan);

  /// values += sum over the silos that stay, mod 2^64.
  void sum(std::span<std::uint64_t> values);
  void broadcast(std::span<const std::byte> bytes);
  double largest(double value);

  /// The run that the handshake was for.
  const RunId& run() const { return run_; }
  const std::vector<std::uint32_t>& left() const { return left_; }
  const std::vector<LostSilo>& lost() const { return lost_; }
  /// "silo 3", with its name in the roster where it has one: "silo 3 (north)".  @pre of the run, once it is connected.
  std::string name_of(std::uint32_t silo) const { return roster_.party_text(silo); }
  /// The silos whose statistics the last sum holds.
  const std::vector<std::uint32_t>& last_summed() const { return last_summed_; }
  /// Cost of each kind of message, by its name.
  const std::map<std::string, PhaseCost>& costs() const { return costs_; }

 protected:
  /// Seals a message and sends it to that silo.
  virtual void send(std::uint32_t silo, FrameKind kind, std::span<const std::byte> payload);
  /// Sends public bytes to all that are left, in pieces, in a round of their own.
  virtual void send_to_all(std::span<const std::byte> bytes);
  /// Notes what all that are left were sent in this round: later signatures cover it.
  virtual void note(FrameKind kind, std::span<const std::byte> bytes) { transcript_.add(kind, round_, bytes); }
  /// Failure that counts for one that a silo has reported, or none.
  virtual std::int64_t failure_received_from(std::uint32_t silo, std::int64_t told);
  /// Goes on without the silo, and sends it the reason.
  virtual void drop(std::uint32_t silo, FrameKind due, const std::string& reason);
  /// The coordinator's part of one attempt at a sum.
  virtual std::unique_ptr<MaskingCoordinator> masking_of(const SumAttempt& attempt);

  const Roster& roster() const { return roster_; }
  const Transcript& transcript() const { return transcript_; }
  std::uint64_t round() const { return round_; }

 private:
  // Takes a silo's message of the kind that is due. Returns whether it was that silo's last message of the phase.
  using Take = std::function<bool(std::uint32_t silo, PayloadReader& payload)>;

  template <typename Step>
  void lead(const Step& step);
  void begin_run();
  // Takes messages until all of them have come, or `is_enough`.
  void gather(FrameKind kind, const std::vector<std::uint32_t>& from, const Take& take,
              const std::function<bool()>& is_enough = nullptr);
  void end_wait(FrameKind kind, WireClock::time_point began);
  void spend_patience(std::uint32_t silo, WireClock::duration waited);
  WireClock::duration patience_left(const std::vector<std::uint32_t>& silos) const;
  void take_stale(std::uint32_t silo);
  void take_message(FrameKind kind, const Message& message, std::vector<std::uint32_t>& awaited, const Take& take);
  void require_enough(std::size_t silos) const;
  bool try_sum(const SumAttempt& attempt, std::span<std::uint64_t> values);
  std::vector<std::uint32_t> left_of(const std::vector<std::uint32_t>& silos) const;

  Wire& wire_;
  SiloEntry entry_;
  OnLost on_lost_;
  Roster roster_;  // of the run
  RunId run_{};
  std::uint64_t round_ = 0;
  Transcript transcript_;
  std::map<std::uint32_t, Channel> channels_;
  std::vector<std::uint32_t> left_;
  std::vector<LostSilo> lost_;
  bool is_over_ = false;
  std::vector<std::uint32_t> last_summed_;
  std::map<std::string, PhaseCost> costs_;
  std::map<std::uint32_t, WireClock::duration> waited_for_;  // while t others had answered
  std::map<std::uint32_t, std::size_t> stale_pieces_;        // of attempts that were given up, which may still come
};

}  // namespace dpreduce
