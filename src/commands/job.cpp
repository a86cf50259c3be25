#include "commands/job.hpp"

#include <cstdio>
#include <filesystem>
#include <new>

#include "commands/command_line.hpp"
#include "commands/config_file.hpp"
#include "commands/silo_preview.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/party_parent.hpp"
#include "common/silos/line.hpp"
#include "common/silos/neighbor_graph.hpp"
#include "fit/resolved_fit.hpp"
#include "network/job_wire.hpp"

namespace dpreduce {
namespace {

constexpr const char* kUseLessMemory = "use a smaller --memory";
constexpr auto kWaitForCoordinator = std::chrono::seconds(60);
constexpr double kMilliseconds = 1e3;  // a second
constexpr double kBytesPerMegabit = 1e6 / 8;
constexpr double kPercent = 100;

SiloEntry entry_of(const SiloOptions& options, int rank, int size) {
  std::optional<Roster> roster;
  const SiloTerms terms = terms_of(options, size);
  if (!options.roster.empty()) {
    roster = read_roster(options.roster);
    if (roster->silos() != terms.silos) {
      throw UsageError("--roster {}: names {} silos, but {} ranks make {}", options.roster, roster->silos(), size,
                       terms.silos);
    }
  }
  const auto place = static_cast<std::size_t>(rank);
  const std::string path = with_rank(options.identity, place);
  Identity identity = roster ? load_identity(path, "--identity") : Identity::generate();
  if (roster && identity.public_key() != roster->members[place].key) {
    throw BadInput("--identity {}: does not belong to \"{}\", rank {} of the roster", path, roster->members[place].name,
                   rank);
  }
  SiloEntry entry{terms, std::move(roster), std::move(identity), milliseconds_of(options.timeout_seconds)};
  if (options.patience_seconds) entry.patience = milliseconds_of(*options.patience_seconds);
  entry.over_network = options.over_network;
  return entry;
}

LineTerms line_of(const SiloOptions& options) {
  LineTerms line;
  line.round_trip = options.round_trip_ms.value_or(0) / kMilliseconds;
  if (options.bandwidth_mbit) line.bandwidth = *options.bandwidth_mbit * kBytesPerMegabit;
  line.loss = options.packet_loss_percent.value_or(0) / kPercent;
  return line;
}

std::string role_of(const SiloEntry& entry, int rank) {
  const std::string role =
      rank == 0 ? fmt::format("coordinator of {} silos", entry.terms.silos)
                : fmt::format("{} of {}", entry.roster.value_or(Roster{}).party_text(static_cast<std::uint32_t>(rank)),
                              entry.terms.silos);
  return fmt::format("start: dpreduce {}, {}, threshold {}, {} colluding; identity {} ({})", version(), role,
                     entry.terms.threshold, entry.terms.colluding, to_hex(entry.identity.public_key()),
                     entry.roster ? "roster" : "ephemeral: a simulation");
}

// Text whose digest is in offers.
std::string options_of(const SiloEntry& entry, const SiloOptions& silos) {
  const std::string agreed = silos.agreed.substr(0, silos.agreed.find_last_not_of('\n') + 1);
  return fmt::format("options {}: {}", short_hex(entry.terms.options), fmt::join(parts_of(agreed, '\n'), "; "));
}

// The exit code of a piece of work, whose failure is printed where it is no peer's.
int reported(const WorkEnd& end) {
  if (end.failure && !end.is_of_peer) report_error(end.words.c_str(), end.code);
  return static_cast<int>(end.code);
}

// The exit code of `work`, or that of its error.
int reported(const std::function<int()>& work) {
  int code = 0;
  const WorkEnd end = end_of([&] { code = work(); }, kUseLessMemory);
  return end.failure ? reported(end) : code;
}

// Returns the command of the party of that rank, its own file read. Throws UsageError where the arguments are wrong, or
// request something else than a fit among silos; BadInput where its own file is wrong.
FitCommand command_of_party(const std::vector<std::string>& arguments, int rank) {
  const RunnableCommand command = parse_command_line(dpreduce_command(), arguments, static_cast<std::size_t>(rank));
  const FitCommand* fit = command.target<FitCommand>();
  if (fit == nullptr) throw UsageError("--secure-aggregation: run --help without it, and without mpirun");
  if (!fit->options.silos.secure_aggregation) throw UsageError("--secure-aggregation: takes no value");
  FitCommand own = *fit;
  PrivacyOptions& privacy = own.options.privacy;
  privacy.ledger = ledger_of_party(own.options, static_cast<std::size_t>(rank));
  if (privacy.limit_epsilon)
    data_set_budget(*privacy.limit_epsilon, *privacy.limit_delta);  // wrong at this party alone
  return own;
}

// Previews to its owner what a silo would do. The owner's own file says which silo it is.
int run_preview(const std::vector<std::string>& arguments) {
  const std::size_t silo = party_of_own_file(dpreduce_command(), arguments);
  preview_silo(command_of_party(arguments, static_cast<int>(silo)).options, static_cast<std::uint32_t>(silo));
  return static_cast<int>(ExitCode::kDone);
}

// Returns whether the coordinator's process has ended where a silo cannot begin: then the error in the arguments that
// both were given has been reported already. Waits until the coordinator says something, a minute at most.
bool has_coordinator_ended(Wire& wire) {
  const std::optional<Message> message = wire.receive(WireClock::now() + kWaitForCoordinator);
  return message && message->from == 0 && message->is_farewell;
}

// Runs the party of that rank of a run among silos, and returns its exit code. Parties do not share their failures; a
// silo knows only what the coordinator sends it.
int run_party(const std::vector<std::string>& arguments, Wire& wire, int rank, int size, const SessionMaker& maker) {
  PartyLog log;
  bool has_entered = false;
  const auto work = [&] {
    const FitCommand fit = command_of_party(arguments, rank);
    if (fit.options.output.dry_run) {
      throw UsageError(
          "--dry-run with --secure-aggregation: start it for one silo, without mpirun, with its --silo-config");
    }
    log = PartyLog(with_rank(fit.options.silos.log, static_cast<std::size_t>(rank)));
    run_logged(log, [&] {
      run_as_party(wire, rank, size, fit.options, log, maker, [&](Communicator& party) {
        has_entered = true;
        fit(party);
      });
    });
  };
  const WorkEnd end = end_of(work, kUseLessMemory);
  // A mistake in the options that all parties were given stops each of them. The coordinator has reported it by now; a
  // silo writes it into its own log and prints nothing.
  const bool is_reported =
      !has_entered && rank != 0 && !end.is_of_peer && end.code == ExitCode::kUsage && has_coordinator_ended(wire);
  return is_reported ? static_cast<int>(end.code) : reported(end);
}

}  // namespace

SiloTerms terms_of(const SiloOptions& options, int size) {
  const int silos = size - 1;
  if (silos < 2 || static_cast<std::size_t>(silos) > kMostSilos) {
    throw UsageError(
        "--secure-aggregation with {} ranks: rank 0 is the coordinator, and silos must be 2 to {}; start 3 "
        "ranks or more with mpirun -n",
        size, kMostSilos);
  }
  const auto k = static_cast<std::uint32_t>(silos);
  if (options.threshold && *options.threshold > k) {
    throw UsageError("--threshold {}: must be from 2 to the {} silos", *options.threshold, k);
  }
  const std::uint32_t usual = std::min(k, default_threshold(k + options.colluding));
  const SiloTerms terms{k, options.threshold.value_or(usual), options.colluding, sha256(options.agreed)};
  if (terms.threshold < 2) throw UsageError("--threshold {}: must be at least 2", terms.threshold);
  if (2 * std::uint64_t{terms.threshold} <= std::uint64_t{k} + terms.colluding) {
    throw UsageError(
        "--threshold {} with {} silos, {} colluding: twice the threshold must pass {}, or silos could sign "
        "two contradictory lists and a coordinator open one of them; use at least {}",
        terms.threshold, k, terms.colluding, k + terms.colluding, (k + terms.colluding) / 2 + 1);
  }
  return terms;
}

std::string ledger_of_party(const FitOptions& options, std::size_t rank) {
  const std::string& ledger = options.privacy.ledger;
  const std::string named = with_rank(ledger, rank);
  if (rank == 0 || options.silos.ledger_is_own || has_rank(ledger)) return named;
  const std::filesystem::path path(named);
  const std::string own = fmt::format("{}-silo{}{}", path.stem().string(), rank, path.extension().string());
  return (path.parent_path() / own).string();
}

SiloEntry entry_on_roster(const SiloOptions& options, int rank) {
  const auto parties = static_cast<int>(read_roster(options.roster).members.size());
  if (rank >= parties) throw UsageError("--roster {}: names no silo {}", options.roster, rank);
  return entry_of(options, rank, parties);
}

void run_as_party(Wire& wire, int rank, int size, const FitOptions& options, PartyLog& log, const SessionMaker& maker,
                  const std::function<void(Communicator&)>& work) {
  SiloEntry entry = entry_of(options.silos, rank, size);
  entry.log = &log;
  LoggedWire logged(wire, log);
  wire.set_send_timeout(rank == 0 ? entry.timeout : SiloSession::kPatience * entry.timeout);
  log.line(role_of(entry, rank));
  log.line(options_of(entry, options.silos));
  if (rank != 0 && options.silos.has_line()) {
    const LineTerms line = line_of(options.silos);
    wire.set_line(line);
    log.line(fmt::format("line: round trip {:g} ms, {:g} Mbit/s: a simulation", line.round_trip * kMilliseconds,
                         bytes_per_second(line) / kBytesPerMegabit));
  }
  const auto report_lost = [&log](const LostSilo& lost, std::size_t left) {
    const std::string message =
        fmt::format("{} is lost, waiting for \"{}\": {}; {} left", lost.name, lost.phase, lost.reason, left);
    fmt::print(stderr, "dpreduce: {}\n", message);
    log.line(message);
  };
  Communicator party = Communicator::among_silos(
      std::make_unique<SiloJob>(logged, rank, std::move(entry), report_lost, maker), rank, size);
  work(party);
}

WorkEnd end_of(const std::function<void()>& work, const char* cure_of_memory) {
  const auto of_own = [](ExitCode code, const std::string& words) {
    return WorkEnd{.code = code, .words = words, .failure = std::current_exception()};
  };
  try {
    work();
    return {};
  } catch (const PeerFailed& peer) {
    const std::string words = peer.rank == 0
                                  ? std::string("the coordinator has ended, or has given the run up")
                                  : fmt::format("silo {} has ended the run; its own log says why", peer.rank);
    return {.code = peer.code(), .words = words, .failure = std::current_exception(), .is_of_peer = true};
  } catch (const Error& error) {
    return of_own(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return of_own(ExitCode::kInternal, fmt::format("out of memory; {}", cure_of_memory));
  } catch (const std::exception& error) {
    return of_own(ExitCode::kInternal, error.what());
  }
}

int report_error(const char* message, ExitCode code) {
  std::fprintf(stderr, "dpreduce: %s\n", message);
  return static_cast<int>(code);
}

int run_job(const CommandEntry& root, const std::vector<std::string>& arguments, Communicator& ranks) {
  const WorkEnd end =
      end_of([&] { command_of_job(root, arguments, ranks)(ranks); }, "use more ranks, or a smaller --memory");
  const int code = reported(end);
  // A failure that the ranks have not agreed on would leave the others waiting: the job is ended.
  if (end.failure && !end.is_of_peer && ranks.size() > 1 && !ranks.failure_agreed()) ranks.abort(end.code);
  return code;
}

void run_logged(PartyLog& log, const std::function<void()>& work) {
  const WorkEnd end = end_of(work, kUseLessMemory);
  log.line(fmt::format("end: exit code {}: {}", static_cast<int>(end.code), end.words));
  if (end.failure) std::rethrow_exception(end.failure);
}

int run_party_of_job(const JobPlace& place, const std::vector<std::string>& arguments, const SessionMaker& maker) {
  return reported([&] {
    return run_on_job_wire(place,
                           [&](Wire& wire) { return run_party(arguments, wire, place.rank, place.size, maker); });
  });
}

int run_program(CommandEntry (*commands)(), const std::vector<std::string>& arguments, const SessionMaker& maker) {
  if (named_command(commands(), arguments).command->role != PartyRole::kNone) {
    const auto run_alone = [&] {
      Communicator alone = Communicator::alone();
      return run_job(commands(), arguments, alone);
    };
    return run_guarded(run_alone, AtomicFile::remove_unfinished);
  }
  const RequestedJob asked = requested_job(commands(), arguments);
  if (launched_by_mpi() && asked.is_of_silos) {
    return run_with_parent([&](const JobPlace& place) { return run_party_of_job(place, arguments, maker); },
                           AtomicFile::remove_unfinished);
  }
  const auto run = [&] {
    if (asked.is_preview) return run_preview(arguments);
    Communicator ranks = Communicator::join(asked.doubt);
    return run_job(commands(), arguments, ranks);
  };
  return run_guarded([&] { return reported(run); }, AtomicFile::remove_unfinished);
}

}  // namespace dpreduce
