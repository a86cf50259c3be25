// Coordinator's side of a run: it leads the silos through rounds, and goes on without those that dropped out.
//
// A silo has dropped out if its process ends, if its line is dead, or if one of its messages is refused. The silo is
// informed, and never comes back. The run ends if fewer than t silos are left. A silo that is alive but late does not
// drop out: the run ends for all. The run also ends if a silo is late again and again, provided that the entry bounds
// the total time for which a silo may keep t others waiting (SiloEntry::patience). Without that bound, a silo that
// answers just before each deadline holds up the run for as long as all deadlines are together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/silos/frame.hpp"
#include "common/silos/masking_coordinator.hpp"
#include "common/silos/silo_session.hpp"

namespace dpreduce {

struct LostSilo {
  std::uint32_t silo = 0;
  std::string name;   ///< in the roster; else "silo 3"
  std::string phase;  ///< kind of message that was due
  std::uint64_t round = 0;
  std::string reason;
};

/// Cost of one kind of message so far.
struct PhaseCost {
  double seconds = 0.0;     ///< for which the coordinator waited for messages of this kind
  std::uint64_t waits = 0;  ///< number of waits: one for all silos together, a round trip each
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< on the wire, in both directions
};

/// Leads one run. All functions throw AggregationAborted if fewer than t silos are left, naming the lost ones, or if a
/// silo is alive but late, naming it. After that, and after a failure that all have agreed on, the run is over: every
/// call throws.
class CoordinatorSession {
 public:
  using OnLost = std::function<void(const LostSilo& lost, std::size_t left)>;

  /// `wire` outlives the session.
  CoordinatorSession(Wire& wire, SiloEntry entry, OnLost on_lost = nullptr);
  virtual ~CoordinatorSession() = default;
  CoordinatorSession(const CoordinatorSession&) = delete;
  CoordinatorSession& operator=(const CoordinatorSession&) = delete;

  void connect();

  /// Returns the verdict that all agree on: the failure of the party with the smallest number, or none.
  std::int64_t agree(std::int64_t verdict);

  /// Goes on with the silos that have made the noise plan with this digest themselves (handshake.hpp).
  void agree_on_plan(const PublicKey& plan);

  /// values += sum over the silos that stay, mod 2^64.
  void sum(std::span<std::uint64_t> values);
  void broadcast(std::span<const std::byte> bytes);
  /// Largest of this value and those of all silos: whole numbers from 0 to 2^53.
  double largest(double value);
  /// Each silo's number in the last `largest`.
  const std::map<std::uint32_t, std::uint64_t>& numbers() const { return numbers_; }

  const SiloEntry& entry() const { return entry_; }
  /// Run that the handshake was for.
  const RunId& run() const { return run_; }
  const std::vector<std::uint32_t>& left() const { return left_; }
  const std::vector<LostSilo>& lost() const { return lost_; }
  /// Text "silo 3", or with the silo's name in the roster "silo 3 (north)".  @pre of the run, once it is connected.
  std::string name_of(std::uint32_t silo) const { return roster_.party_text(silo); }
  /// Silos whose statistics are in the last sum.
  const std::vector<std::uint32_t>& last_summed() const { return last_summed_; }
  /// Cost of each kind of message, by its name.
  const std::map<std::string, PhaseCost>& costs() const { return costs_; }

 protected:
  /// Seals a message and sends it to silo `silo`.
  virtual void send(std::uint32_t silo, FrameKind kind, std::span<const std::byte> payload);
  /// Sends public bytes to all that are left, in pieces, in a round of their own.
  virtual void send_to_all(std::span<const std::byte> bytes);
  /// Adds to the transcript the bytes that all remaining silos were sent in this round: later signatures cover them.
  virtual void note(FrameKind kind, std::span<const std::byte> bytes) { transcript_.add(kind, round_, bytes); }
  /// Failure that is recorded for the failure `told` that a silo has reported, or none.
  virtual std::int64_t failure_received_from(std::uint32_t silo, std::int64_t told);
  /// Goes on without silo `silo`, and sends it the reason.
  virtual void drop(std::uint32_t silo, FrameKind due, const std::string& reason);
  /// Coordinator's part of one attempt at a sum.
  virtual std::unique_ptr<MaskingCoordinator> masking_of(const SumAttempt& attempt);

  const Roster& roster() const { return roster_; }
  const Transcript& transcript() const { return transcript_; }
  std::uint64_t round() const { return round_; }

 private:
  // Takes a silo's message of the kind that is due. Returns whether this was the silo's last message of the phase.
  using Take = std::function<bool(std::uint32_t silo, PayloadReader& payload)>;

  template <typename Step>
  void lead(const Step& step);
  // Takes messages until those of all silos in `from` have come, or is_enough() is true.
  void gather(FrameKind kind, const std::vector<std::uint32_t>& from, const Take& take,
              const std::function<bool()>& is_enough = nullptr);
  void spend_patience(std::uint32_t silo, WireClock::duration waited);
  WireClock::duration patience_left(const std::vector<std::uint32_t>& silos) const;
  void take_stale(std::uint32_t silo);
  void take_message(FrameKind kind, const Message& message, std::vector<std::uint32_t>& awaited, const Take& take);
  void require_enough(std::size_t silos) const;
  bool try_sum(const SumAttempt& attempt, std::span<std::uint64_t> values);
  bool gather_masked(MaskingCoordinator& masking, const SumAttempt& attempt, const std::vector<std::uint32_t>& sharing,
                     const std::vector<std::uint32_t>& masking_silos);
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
  std::map<std::uint32_t, std::uint64_t> numbers_;
  std::map<std::string, PhaseCost> costs_;
  std::map<std::uint32_t, WireClock::duration> waited_for_;  // while t others had answered
  std::map<std::uint32_t, std::size_t> stale_pieces_;        // of attempts that were given up, which may still come
};

}  // namespace dpreduce
