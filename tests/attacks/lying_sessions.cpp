#include "tests/attacks/lying_sessions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <map>
#include <regex>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/silos/masking_coordinator.hpp"

namespace dpreduce {

template <>
inline constexpr auto spellings<FaultKind> = spelled<FaultKind>("kill", "hang", "slow", "corrupt", "truncate", "replay",
                                                                "reflect", "wrong-key", "lie", "equivocate",
                                                                "overrule");

namespace {

constexpr std::string_view kOverrule = "0:overrule";
constexpr double kMostSeconds = 1e6;

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// In the payload of a reveal the shares follow the attempt, the number of the silo and the kind of its secret.
constexpr std::size_t kFirstShareAt = 12;

// A wire that lives as long as the session on it.
struct OwnWire {
  OwnWire(Wire& wire, const Fault& fault, const SelfHarm& harm) : faulty(wire, fault, harm) {}
  FaultyWire faulty;
};

template <typename Session>
struct Faulty : private OwnWire, public Session {
  template <typename... Others>
  Faulty(Wire& wire, const Fault& fault, const SelfHarm& harm, Others&&... others)
      : OwnWire(wire, fault, harm), Session(faulty, std::forward<Others>(others)...) {}
};

// Shows another share than it was given.
class LyingSilo final : public SiloSession {
 public:
  LyingSilo(Wire& wire, std::uint32_t number, SiloEntry entry, std::uint32_t lies_at)
      : SiloSession(wire, number, std::move(entry)), lies_at_(lies_at) {}

 protected:
  void send(FrameKind kind, std::span<const std::byte> payload) override {
    std::vector<std::byte> sent(payload.begin(), payload.end());
    if (kind == FrameKind::kReveal && ++reveals_ == lies_at_) sent[kFirstShareAt] ^= std::byte{1};
    SiloSession::send(kind, sent);
  }

 private:
  std::uint32_t lies_at_;
  std::uint32_t reveals_ = 0;
};

// The list that a coordinator would send to one silo in order to open its statistic: that silo and t - 1 others, its
// neighbors last, so that as few masks as possible are on the statistic. Where the true list has t silos only, one is
// left out.
std::vector<std::uint32_t> story_for(std::uint32_t silo, const std::vector<std::uint32_t>& truth,
                                     const NeighborGraph& graph, std::size_t threshold) {
  std::vector<std::uint32_t> story = truth;
  std::rotate(story.begin(), std::find(story.begin(), story.end(), silo), story.end());
  std::stable_partition(story.begin(), story.end(),
                        [&](std::uint32_t other) { return !graph.are_neighbors(silo, other); });
  story.resize(std::min(threshold, truth.size() - 1));
  std::sort(story.begin(), story.end());
  return story;
}

// A silo that has received other public values before, and their digest.
struct Misled {
  std::uint32_t silo = 0;  // 0: none
  Transcript transcript;
};

// Sends every silo another list at one stage, and takes what each silo signs of what it was sent.
class ContradictoryLists final : public MaskingCoordinator {
 public:
  ContradictoryLists(const Roster& roster, const SumAttempt& attempt, std::optional<ListStage> stage,
                     const Misled& misled)
      : MaskingCoordinator(roster, attempt), stage_(stage), threshold_(attempt.threshold), misled_(misled) {}

 protected:
  SumLists lists_for(std::uint32_t silo, ListStage stage) const override {
    SumLists lists = MaskingCoordinator::lists_for(silo, stage);
    if (stage_ != stage) return lists;
    std::vector<std::uint32_t>& list = stage == ListStage::kSharing ? lists.sharing : lists.summed;
    list = story_for(silo, list, graph(), threshold_);
    return lists;
  }
  SumAttempt attempt_of(std::uint32_t silo) const override {
    SumAttempt attempt = MaskingCoordinator::attempt_of(silo);
    if (silo == misled_.silo) attempt.broadcast_digest = misled_.transcript.digest();
    return attempt;
  }

 private:
  std::optional<ListStage> stage_;
  std::size_t threshold_;
  Misled misled_;
};

// Tells contradictory lists, or one silo another value than the others.
class EquivocatingCoordinator final : public CoordinatorSession {
 public:
  EquivocatingCoordinator(Wire& wire, SiloEntry entry, OnLost on_lost, const Fault& fault)
      : CoordinatorSession(wire, std::move(entry), std::move(on_lost)), fault_(fault) {}

 protected:
  void send_to_all(std::span<const std::byte> bytes) override {
    lies_now_ = !bytes.empty() && fault_.at == FrameKind::kBroadcast && ++broadcasts_ == fault_.number;
    if (lies_now_) misled_ = {left().front(), transcript()};
    has_lied_ = false;
    CoordinatorSession::send_to_all(bytes);
    lies_now_ = false;
  }
  void send(std::uint32_t silo, FrameKind kind, std::span<const std::byte> payload) override {
    if (!lies_now_ || silo != misled_.silo || has_lied_) return CoordinatorSession::send(silo, kind, payload);
    has_lied_ = true;  // in the first piece
    CoordinatorSession::send(silo, kind, other(payload));
  }
  void note(FrameKind kind, std::span<const std::byte> bytes) override {
    CoordinatorSession::note(kind, bytes);
    if (misled_.silo == 0) return;
    const std::vector<std::byte> lie = lies_now_ ? other(bytes) : std::vector<std::byte>(bytes.begin(), bytes.end());
    misled_.transcript.add(kind, round(), lie);
  }
  std::unique_ptr<MaskingCoordinator> masking_of(const SumAttempt& attempt) override {
    if (attempt.attempt == 1) ++sums_;
    std::optional<ListStage> stage;
    if (sums_ == fault_.number && fault_.at == FrameKind::kDelivery) stage = ListStage::kSharing;
    if (sums_ == fault_.number && fault_.at == FrameKind::kUnmask) stage = ListStage::kSummed;
    return std::make_unique<ContradictoryLists>(roster(), attempt, stage, misled_);
  }

 private:
  static std::vector<std::byte> other(std::span<const std::byte> bytes) {
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    changed.front() ^= std::byte{1};
    return changed;
  }

  Fault fault_;
  std::uint32_t sums_ = 0;
  std::uint32_t broadcasts_ = 0;
  bool lies_now_ = false;
  bool has_lied_ = false;  // in this broadcast
  Misled misled_;
};

// Tells all that nobody has failed, whoever has.
class OverrulingCoordinator final : public CoordinatorSession {
 public:
  using CoordinatorSession::CoordinatorSession;

 protected:
  std::int64_t failure_received_from(std::uint32_t silo, std::int64_t told) override {
    overruled_.emplace(silo, code_of(told));
    return kNobodyFailed;
  }
  void drop(std::uint32_t silo, FrameKind due, const std::string& reason) override {
    CoordinatorSession::drop(silo, due, reason);
    const auto code = overruled_.find(silo);
    if (code == overruled_.end()) return;
    throw AggregationAborted(fmt::format(
        "{} had failed with exit code {}, was told that nobody has (--fault 0:overrule), and has left all the same",
        name_of(silo), static_cast<int>(code->second)));
  }

 private:
  std::map<std::uint32_t, ExitCode> overruled_;
};

// Nobody expects the identity of a party that begins with a foreign key.
bool has_foreign_identity(const Fault& fault) {
  return fault.kind == FaultKind::kWrongKey && (fault.at == FrameKind::kHello || fault.at == FrameKind::kOffer);
}

}  // namespace

Fault parse_fault(const std::string& text) {
  const auto refuse = [&]() {
    std::string kinds;
    for (const auto& [name, kind] : spellings<FaultKind>) kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", name);
    throw UsageError(
        fmt::format("--fault {}: must be SILO:KIND@MESSAGE or SILO:KIND@MESSAGE#N; KIND one of {} (slow=SECONDS; "
                    "overrule as {} alone); MESSAGE as in docs/how-to/simulate-silos.md",
                    text, kinds, kOverrule));
  };
  if (text == kOverrule) return {.party = 0, .kind = FaultKind::kOverrule, .at = FrameKind::kVerdict};
  static const std::regex form("([0-9]+):([^@=]*)(=[^@]*)?@([^#]*)(#[0-9]+)?");
  std::smatch part;
  if (!std::regex_match(text, part, form)) refuse();
  const auto party = number_of<std::uint32_t>(part.str(1));
  const auto kind = choice_of<FaultKind>(part.str(2));
  const auto seconds = part[3].matched ? number_of<double>(part.str(3).substr(1)) : std::optional(0.0);
  const auto message = choice_of<FrameKind>(part.str(4));
  const auto number = part[5].matched ? number_of<std::uint32_t>(part.str(5).substr(1)) : std::optional(1U);
  // No single message is overruled.
  if (!party || !kind || *kind == FaultKind::kOverrule || !message || !number || *number == 0) refuse();
  if (part[3].matched != (kind == FaultKind::kSlow) || !seconds || !(*seconds >= 0.0 && *seconds <= kMostSeconds)) {
    refuse();
  }
  const Fault fault{.party = *party, .kind = *kind, .at = *message, .number = *number, .seconds = *seconds};
  if (fault.kind == FaultKind::kLie && (fault.at != FrameKind::kReveal || fault.party == 0)) {
    throw UsageError(fmt::format("--fault {}: a lie is told by a silo at reveal, e.g. 2:lie@reveal", text));
  }
  if (fault.kind == FaultKind::kEquivocate &&
      (fault.party != 0 ||
       (fault.at != FrameKind::kBroadcast && fault.at != FrameKind::kDelivery && fault.at != FrameKind::kUnmask))) {
    throw UsageError(fmt::format(
        "--fault {}: the coordinator equivocates, at broadcast, delivery or unmask: 0:equivocate@broadcast, "
        "0:equivocate@delivery, 0:equivocate@unmask",
        text));
  }
  return fault;
}

SelfHarm harm_of_this_process() {
  return {[] { ::kill(::getpid(), SIGKILL); }, [] { ::kill(::getpid(), SIGSTOP); }};
}

void FaultyWire::send(std::uint32_t to, std::vector<std::byte> bytes) {
  const std::optional<FrameHeader> header = claimed_header(bytes);
  const std::vector<std::byte> proper = bytes;
  if (header && header->kind == fault_.at && ++seen_ == fault_.number) {
    switch (fault_.kind) {
      case FaultKind::kKill:
        harm_.kill();
        break;
      case FaultKind::kHang:
        harm_.hang();
        break;
      case FaultKind::kSlow:
        std::this_thread::sleep_for(std::chrono::duration<double>(fault_.seconds));
        break;
      case FaultKind::kCorrupt:
        bytes[kHeaderBytes + (bytes.size() - kHeaderBytes) / 2] ^= std::byte{1};
        break;
      case FaultKind::kTruncate:
        bytes.pop_back();
        break;
      case FaultKind::kReplay:
        bytes = last_sent_;
        break;
      case FaultKind::kReflect:
        bytes = last_received_;
        break;
      case FaultKind::kWrongKey:
        for (std::size_t place = kHeaderBytes; place < bytes.size(); ++place) bytes[place] ^= std::byte{0xa5};
        break;
      case FaultKind::kLie:
      case FaultKind::kEquivocate:
      case FaultKind::kOverrule:
        break;  // above the wire
    }
  }
  last_sent_ = proper;
  wire_.send(to, std::move(bytes));
}

std::optional<Message> FaultyWire::receive(WireClock::time_point until) {
  std::optional<Message> message = wire_.receive(until);
  if (message && !message->is_farewell) last_received_ = message->bytes;
  return message;
}

std::unique_ptr<CoordinatorSession> LyingSessions::coordinator(Wire& wire, SiloEntry entry,
                                                               CoordinatorSession::OnLost on_lost) const {
  if (!fault_ || fault_->party != 0) return SessionMaker::coordinator(wire, std::move(entry), std::move(on_lost));
  if (has_foreign_identity(*fault_)) entry.identity = Identity::generate();
  if (fault_->kind == FaultKind::kEquivocate) {
    return std::make_unique<EquivocatingCoordinator>(wire, std::move(entry), std::move(on_lost), *fault_);
  }
  if (fault_->kind == FaultKind::kOverrule) {
    return std::make_unique<OverrulingCoordinator>(wire, std::move(entry), std::move(on_lost));
  }
  return std::make_unique<Faulty<CoordinatorSession>>(wire, *fault_, harm_, std::move(entry), std::move(on_lost));
}

std::unique_ptr<SiloSession> LyingSessions::silo(Wire& wire, std::uint32_t number, SiloEntry entry) const {
  if (!fault_ || fault_->party != number) return SessionMaker::silo(wire, number, std::move(entry));
  if (has_foreign_identity(*fault_)) entry.identity = Identity::generate();
  if (fault_->kind == FaultKind::kLie) {
    return std::make_unique<LyingSilo>(wire, number, std::move(entry), fault_->number);
  }
  return std::make_unique<Faulty<SiloSession>>(wire, *fault_, harm_, number, std::move(entry));
}

std::optional<Fault> take_fault(std::vector<std::string>& words) {
  constexpr std::string_view kName = "--fault";
  std::optional<Fault> fault;
  for (auto word = words.begin(); word != words.end();) {
    const bool has_value = word->starts_with(std::string(kName) + "=");
    if (*word != kName && !has_value) {
      ++word;
      continue;
    }
    const auto end = has_value ? word + 1 : word + std::min<std::ptrdiff_t>(2, words.end() - word);
    fault = parse_fault(has_value ? word->substr(kName.size() + 1) : *(end - 1));
    word = words.erase(word, end);
  }
  return fault;
}

}  // namespace dpreduce
