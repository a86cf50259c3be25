#include "network/coordinator_wire.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {
namespace {

std::vector<std::uint32_t> silos_of(const Roster& roster) {
  std::vector<std::uint32_t> silos(roster.silos());
  std::iota(silos.begin(), silos.end(), 1U);
  return silos;
}

Message farewell_of(std::uint32_t silo, std::string_view why) {
  const auto text = bytes_in(why);
  return {silo, {text.begin(), text.end()}, true};
}

}  // namespace

CoordinatorWire::CoordinatorWire(const Identity& identity, NetworkTerms terms, const NetworkAddress& listen)
    : NetworkWire(identity, terms, silos_of(terms.roster)),
      doorman_(
          io_, listen, identity_, terms_.times().visit,
          [this](Doorman::Proved visitor) { return admit(std::move(visitor)); },
          [this](const std::string& line) { log(line); },
          terms_.is_of_job ? terms_.roster.members.size() : Doorman::kMostVisitors),
      address_(doorman_.address().text()) {
  start();
}

CoordinatorWire::~CoordinatorWire() {
  stop();
}

void CoordinatorWire::give_up(std::uint32_t silo) {
  const std::lock_guard guard(lock_);
  lines_.at(silo).give_up();
}

void CoordinatorWire::on_gone(std::uint32_t peer, const std::string& why) {
  if (has_begun_) deliver(farewell_of(peer, why));
  changed_.notify_all();
}

// Empty: it is not refused.
std::string CoordinatorWire::why_refused(PartyLine& line, const Greeting& greeting) const {
  if (has_begun_ && !line.process()) return "the run has begun without it";
  const bool is_same = line.process() == greeting.process;
  switch (line.state()) {
    case LineState::kAbsent:
      return "";
    case LineState::kOpen:
      return is_same ? ""
                     : "another process with this identity is connected; a party is one process, so end the other one";
    case LineState::kBroken:
      if (is_same || !has_begun_) return "";
      break;
    case LineState::kLeft:
    case LineState::kLost:
      if (!has_begun_ && (!is_same || line.state() == LineState::kLost)) return "";
      if (is_same) return "the run goes on without it";
      break;
  }
  return "another process with this identity takes part in the run, or did. The keys of a run exist in one process "
         "only, so a restarted one cannot join; wait for the next run";
}

bool CoordinatorWire::admit(Doorman::Proved visitor) {
  const std::lock_guard guard(lock_);
  const auto& members = terms_.roster.members;
  const auto member =
      std::find_if(members.begin() + 1, members.end(), [&](const Member& other) { return other.key == visitor.key; });
  DPREDUCE_ASSERT(member != members.end());  // TLS accepts no other
  const auto silo = static_cast<std::uint32_t>(member - members.begin());
  PartyLine& line = lines_.at(silo);
  const std::string remote = visitor.connection->remote();
  std::string refusal = why_refused(line, visitor.greeting);
  LinkKind kind = LinkKind::kRefusal;
  // The older line may be half-open: it is found dead within the time of silence, and then forgotten.
  if (line.state() == LineState::kOpen && !has_begun_) kind = LinkKind::kNotYet;
  try {
    if (refusal.empty()) {
      const bool is_known = line.process() == visitor.greeting.process;
      if (!is_known) bound_by_[silo] = visitor.greeting.connection;
      const Greeting welcome{process_, is_known ? line.link().received() : 0, bound_by_.at(silo)};
      std::optional<ExportedSecret> secret;
      if (!is_known) secret = visitor.connection->secret();
      return attach(silo, visitor.connection, std::move(visitor.reader), visitor.greeting,
                    greeting_message(LinkKind::kWelcome, welcome), secret);
    }
  } catch (const AggregationAborted& fault) {
    refusal = fault.what();
    kind = LinkKind::kRefusal;
  }
  doorman_.report_refused(fmt::format("a connection of {} from {} was refused: {}", name_of(silo), remote, refusal));
  visitor.connection->write_last(refusal_message(refusal, kind));
  return false;
}

void CoordinatorWire::begin_without_absent() {
  has_begun_ = true;
  for (auto& [silo, line] : lines_) {
    if (line.state() == LineState::kOpen || line.state() == LineState::kBroken) continue;
    line.give_up();
    deliver(farewell_of(silo, terms_.is_of_job ? "its process has ended" : "it was not connected when the run began"));
  }
}

void CoordinatorWire::wait_for_silos(std::optional<std::chrono::milliseconds> wait, std::size_t least,
                                     const std::function<void(const std::vector<PartyStatus>&)>& tell) {
  const auto begins_at = wait ? WireClock::now() + *wait : WireClock::time_point::max();
  std::vector<LineState> told;
  for (;;) {
    const std::vector<PartyStatus> all = status();
    std::vector<LineState> states;
    for (const PartyStatus& one : all) states.push_back(one.state);
    const auto here = static_cast<std::size_t>(std::ranges::count(states, LineState::kOpen));
    const bool are_all_known = terms_.is_of_job && std::ranges::count(states, LineState::kAbsent) == 0;
    if (told != states) tell(all);
    told = states;
    std::unique_lock guard(lock_);
    const auto now = WireClock::now();
    if (here == lines_.size() || are_all_known || (now >= begins_at && here >= least)) return begin_without_absent();
    if (now >= run_until_) {
      throw AggregationAborted("{} of {} silos came within --run-timeout, --threshold {} are needed", here,
                               lines_.size(), least);
    }
    constexpr auto kLook = std::chrono::milliseconds(200);
    changed_.wait_for(guard, kLook);
  }
}

}  // namespace dpreduce
