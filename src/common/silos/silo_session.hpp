// Silo's side of a run: it answers the coordinator, in rounds that both count.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
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
  std::optional<Roster> roster;  ///< absent: any identity is accepted
  Identity identity;
  std::chrono::milliseconds timeout{};  ///< within which each message of a silo must come
  PartyLog* log = nullptr;              ///< of the party; outlives the session
  /// Time, at the coordinator, for which t other silos may wait for a silo in the whole run. If absent: no bound.
  std::optional<std::chrono::milliseconds> patience = std::nullopt;
  bool over_network = false;  ///< parties share no machine, as far as they know
};

/// Takes part in one run. All functions throw AggregationAborted if the coordinator is silent for kPatience timeouts,
/// if one of its messages is refused, or if the run goes on without this silo; PeerFailed if the coordinator is gone,
/// or the run has ended with an error of another party. Messages of parties other than 0 are ignored.
///
/// A refusal is final. Once a function has thrown, or this silo has reported that it failed, nothing more is sent, and
/// every other call throws, whatever the coordinator sends.
class SiloSession {
 public:
  static constexpr int kPatience = 4;
  /// Bytes of each piece of a broadcast, except the last.
  static constexpr std::size_t kBroadcastPiece = std::size_t{1} << 20;

  /// `wire` outlives the session.
  SiloSession(Wire& wire, std::uint32_t number, SiloEntry entry);
  virtual ~SiloSession() = default;
  SiloSession(const SiloSession&) = delete;
  SiloSession& operator=(const SiloSession&) = delete;

  /// Makes the handshake.
  void connect();

  /// Sends this silo's own verdict (common/base/error.hpp), and returns the one that all agree on. After a failure of
  /// its own the silo waits for no answer. Once the silo has ended with a failure, that failure is returned: never
  /// kNobodyFailed.
  std::int64_t agree(std::int64_t verdict);
  /// Throws PeerFailed if the run has failed elsewhere; does not wait.
  void check();

  /// Informs the coordinator, if it is still there, that this silo takes no part, without the reason. The silo has then
  /// ended, with its own `code`.
  void refuse(ExitCode code);

  /// Returns if the coordinator and every silo that is left, at least t, have made the noise plan with this digest
  /// themselves (handshake.hpp). From here on this silo sums with these silos alone.
  void agree_on_plan(const PublicKey& plan);

  /// Step that this silo runs in each attempt at a sum: after all silos have agreed on the participants, and before its
  /// first masked word is sent. The step receives the values before they are masked. If the step throws, nothing is
  /// sent.
  using BeforeMasking = std::function<void(std::span<const std::uint64_t> values)>;
  void set_before_masking(BeforeMasking before_masking) { before_masking_ = std::move(before_masking); }

  /// Adds `values` to a masked sum, as this silo's part. Throws also the exceptions of the step before masking.
  void sum(std::span<const std::uint64_t> values);
  void receive_broadcast(std::span<std::byte> bytes);
  double largest(double value);

  const SiloEntry& entry() const { return entry_; }
  /// Run that the handshake was for.
  const RunId& run() const { return run_; }

 protected:
  /// Seals a message and sends it to the coordinator.
  virtual void send(FrameKind kind, std::span<const std::byte> payload);

 private:
  // Runs `step`. If it throws, this silo has ended.
  template <typename Step>
  void take_part(const Step& step);
  void end_with(std::int64_t failure);
  std::optional<Message> of_coordinator(WireClock::time_point until);
  WireClock::time_point end_of_patience() const { return WireClock::now() + kPatience * entry_.timeout; }
  OpenedMessage wait() { return wait(end_of_patience()); }
  OpenedMessage wait(WireClock::time_point until);
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
  std::optional<std::int64_t> ended_;   // failure with which the run has ended for this silo
  std::vector<std::uint32_t> present_;  // silos of the run, as far as this one knows
  BeforeMasking before_masking_;
};

}  // namespace dpreduce
