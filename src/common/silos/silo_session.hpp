// A silo's side of a run: it answers the coordinator, in rounds that both count.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/silos/frame.hpp"
#include "common/silos/handshake.hpp"
#include "common/silos/masking_silo.hpp"
#include "common/silos/party_log.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

/// Entry of a party into a run.
struct SiloEntry {
  SiloTerms terms;
  std::optional<Roster> roster;  ///< none: identities as they come
  Identity identity;
  std::chrono::milliseconds timeout{};  ///< within which each message of a silo must come
  PartyLog* log = nullptr;              ///< of the party; outlives the session
  /// Time, at the coordinator, for which t other silos may wait for a silo in the whole run. None: without bound.
  std::optional<std::chrono::milliseconds> patience = std::nullopt;
  bool over_network = false;  ///< parties share no machine, as far as they know
};

/// All functions throw AggregationAborted if the coordinator is silent for kPatience timeouts, if a message of it is
/// refused, or if the run goes on without this silo; PeerFailed if the coordinator is gone, or the run has ended with
/// an error of another party. What others than party 0 send is not looked at.
///
/// A refusal is final. Once one of these has thrown, or this silo has said that it failed, nothing more is sent, and
/// every other call throws, whatever the coordinator says.
class SiloSession {
 public:
  static constexpr int kPatience = 4;
  /// Bytes of each piece of a broadcast but the last.
  static constexpr std::size_t kBroadcastPiece = std::size_t{1} << 20;

  /// `wire` outlives the session.
  SiloSession(Wire& wire, std::uint32_t number, SiloEntry entry);
  virtual ~SiloSession() = default;
  SiloSession(const SiloSession&) = delete;
  SiloSession& operator=(const SiloSession&) = delete;

  /// The handshake.
  void connect();

  /// Sends this silo's own verdict (common/base/error.hpp), and returns the one that all agree on. After a failure of
  /// its own it waits for no answer. Once this silo has ended with a failure it returns that one: never kNobodyFailed.
  std::int64_t agree(std::int64_t verdict);
  /// Throws PeerFailed where the run has failed elsewhere; does not wait.
  void check();

  /// Informs the coordinator, if it is still there, that this silo takes no part, but not why. The silo has then
  /// ended, with `code` of its own.
  void refuse(ExitCode code);

  /// Returns where the coordinator and every silo that is left, at least t, have made the noise plan of that digest
  /// themselves (handshake.hpp): from here on this silo sums with these alone.
  void agree_on_plan(const PublicKey& plan);

  /// A step that this silo takes in each attempt at a sum: after all silos have agreed on who takes part, and before
  /// its first masked word leaves it. It gets the values before they are masked. Where it throws, nothing leaves.
  using BeforeMasking = std::function<void(std::span<const std::uint64_t> values)>;
  void set_before_masking(BeforeMasking before_masking) { before_masking_ = std::move(before_masking); }

  /// Takes this silo's part in a masked sum. Throws also what the step before masking throws.
  void sum(std::span<const std::uint64_t> values);
  void receive_broadcast(std::span<std::byte> bytes);
  double largest(double value);

  /// The run that the handshake was for.
  const RunId& run() const { return run_; }

 protected:
  /// Seals a message and sends it to the coordinator.
  virtual void send(FrameKind kind, std::span<const std::byte> payload);

 private:
  // Runs `step`. Where it throws, this silo has ended.
  template <typename Step>
  void take_part(const Step& step);
  void end_with(std::int64_t failure);
  std::optional<Message> of_coordinator(WireClock::time_point until);
  WireClock::time_point end_of_patience() const { return WireClock::now() + kPatience * entry_.timeout; }
  OpenedMessage wait() { return wait(end_of_patience()); }
  OpenedMessage wait(WireClock::time_point until);
  void begin_run();
  void add_to_sum(std::span<const std::uint64_t> values);
  void refuse_run_end(const OpenedMessage& opened);
  void note_present(const std::vector<std::uint32_t>& silos);
  void send_pieces(SiloSum& sum, std::span<const std::uint64_t> values);

  Wire& wire_;
  SiloEntry entry_;
  SiloSelf self_;
  Roster roster_;  // of the run
  RunId run_{};
  std::uint64_t round_ = 0;
  Transcript transcript_;
  std::optional<Channel> channel_;
  std::optional<std::int64_t> ended_;   // the failure with which it has ended for this silo
  std::vector<std::uint32_t> present_;  // silos of the run, as far as this one knows
  BeforeMasking before_masking_;
};

}  // namespace dpreduce
