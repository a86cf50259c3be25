// Parties that deviate on purpose: one party does one wrong thing at one message.
//
//     SILO:KIND@MESSAGE[#N]      e.g. 3:kill@masked, 2:slow=5@shares#2, 0:corrupt@keys#4
//     0:overrule                 at every verdict
//
// SILO sends the message (0: the coordinator), MESSAGE is its kind (frame.hpp), N counts them from 1 (of equivocate:
// the sums, or the broadcasts that are not empty). A fault changes only this process and what it sends. It never helps
// to open a sum.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ranks/silo_job.hpp"
#include "common/silos/frame.hpp"
#include "common/silos/wire.hpp"

namespace dpreduce {

enum class FaultKind {
  kKill,        ///< the process is killed, the message is not sent
  kHang,        ///< it stops, until it is woken or killed
  kSlow,        ///< it waits for some seconds first
  kCorrupt,     ///< one bit of the payload is changed
  kTruncate,    ///< the last byte is missing
  kReplay,      ///< the message before is sent again instead
  kReflect,     ///< the last message that came is sent back instead
  kWrongKey,    ///< every byte of the payload is another: as sealed with a foreign key; a hello is of another identity
  kLie,         ///< a silo reveals another share than it was given; the wire itself is sound
  kEquivocate,  ///< the coordinator sends contradictory lists or values; the wire itself is sound
  kOverrule     ///< the coordinator tells all that nobody has failed, whoever has; the wire itself is sound
};

struct Fault {
  std::uint32_t party = 0;
  FaultKind kind = FaultKind::kKill;
  FrameKind at = FrameKind::kHello;
  std::uint32_t number = 1;
  double seconds = 0.0;  ///< kSlow
};

/// Throws UsageError with the text and the form, and where a lie is told elsewhere than at "reveal", or contradictory
/// lists or values elsewhere than by the coordinator at "broadcast", "delivery" or "unmask", or somebody else
/// overrules.
Fault parse_fault(const std::string& text);

/// How a process kills or stops itself; tests have other ways.
struct SelfHarm {
  std::function<void()> kill;
  std::function<void()> hang;
};
SelfHarm harm_of_this_process();

/// A wire that behaves as if its owner had that fault.
class FaultyWire final : public Wire {
 public:
  FaultyWire(Wire& wire, Fault fault, SelfHarm harm) : wire_(wire), fault_(fault), harm_(std::move(harm)) {}
  void send(std::uint32_t to, std::vector<std::byte> bytes) override;
  std::optional<Message> receive(WireClock::time_point until) override;
  LineBinding binding(std::uint32_t peer) const override { return wire_.binding(peer); }

 private:
  Wire& wire_;
  Fault fault_;
  SelfHarm harm_;
  std::uint32_t seen_ = 0;
  std::vector<std::byte> last_sent_;
  std::vector<std::byte> last_received_;
};

/// Makes the sessions of a run in which one party has that fault, and all others none; no fault: none has.
class LyingSessions final : public SessionMaker {
 public:
  explicit LyingSessions(std::optional<Fault> fault, SelfHarm harm = harm_of_this_process())
      : fault_(fault), harm_(std::move(harm)) {}
  std::unique_ptr<CoordinatorSession> coordinator(Wire& wire, SiloEntry entry,
                                                  CoordinatorSession::OnLost on_lost) const override;
  std::unique_ptr<SiloSession> silo(Wire& wire, std::uint32_t number, SiloEntry entry) const override;

 private:
  std::optional<Fault> fault_;
  SelfHarm harm_;
};

/// Takes `--fault FAULT` out of the words, the last where there are several. Throws UsageError as parse_fault.
std::optional<Fault> take_fault(std::vector<std::string>& words);

}  // namespace dpreduce
