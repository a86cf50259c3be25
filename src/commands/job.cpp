#include "commands/job.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "commands/config_file.hpp"
#include "commands/silo_preview.hpp"
#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/ranks/lifetime.hpp"
#include "common/ranks/party_parent.hpp"
#include "common/silos/line.hpp"
#include "common/silos/neighbor_graph.hpp"
#include "common/silos/party_log.hpp"
#include "fit/resolved_fit.hpp"
#include "network/job_wire.hpp"

namespace dpreduce {
namespace {

constexpr auto kWaitForCoordinator = std::chrono::seconds(60);
constexpr double kMilliseconds = 1e3;  // a second
constexpr double kBytesPerMegabit = 1e6 / 8;
constexpr double kPercent = 100;

}  // namespace

SiloTerms terms_of(const SiloOptions& options, int size) {
  const int silos = size - 1;
  if (silos < 2 || static_cast<std::size_t>(silos) > kMostSilos) {
    throw UsageError(
        fmt::format("--secure-aggregation with {} ranks: rank 0 is the coordinator, and silos must be 2 to {}; start 3 "
                    "ranks or more with mpirun -n",
                    size, kMostSilos));
  }
  const auto k = static_cast<std::uint32_t>(silos);
  if (options.threshold && *options.threshold > k) {
    throw UsageError(fmt::format("--threshold {}: must be from 2 to the {} silos", *options.threshold, k));
  }
  const std::optional<std::uint32_t>& threshold = options.threshold;
  SiloTerms terms{k, threshold.value_or(std::min(k, default_threshold(k + options.colluding))), options.colluding, {}};
  terms.options = sha256(options.agreed);
  if (terms.threshold < 2) throw UsageError(fmt::format("--threshold {}: must be at least 2", terms.threshold));
  if (2 * std::uint64_t{terms.threshold} <= std::uint64_t{k} + terms.colluding) {
    throw UsageError(
        fmt::format("--threshold {} with {} silos, {} colluding: twice the threshold must pass {}, or silos could sign "
                    "two contradictory lists and a coordinator open one of them; use at least {}",
                    terms.threshold, k, terms.colluding, k + terms.colluding, (k + terms.colluding) / 2 + 1));
  }
  return terms;
}

namespace {

SiloEntry entry_of(const SiloOptions& options, int rank, int size) {
  std::optional<Roster> roster;
  const SiloTerms terms = terms_of(options, size);
  if (!options.roster.empty()) {
    roster = read_roster(options.roster);
    if (roster->silos() != terms.silos) {
      throw UsageError(fmt::format("--roster {}: names {} silos, but {} ranks make {}", options.roster, roster->silos(),
                                   size, terms.silos));
    }
  }
  Identity identity = roster ? Identity::load(with_rank(options.identity, static_cast<std::size_t>(rank)), "--identity")
                             : Identity::generate();
  if (roster && identity.public_key() != roster->members[static_cast<std::size_t>(rank)].key) {
    throw BadInput(fmt::format("--identity {}: does not belong to \"{}\", rank {} of the roster",
                               with_rank(options.identity, static_cast<std::size_t>(rank)),
                               roster->members[static_cast<std::size_t>(rank)].name, rank));
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
  std::string agreed = silos.agreed.substr(0, silos.agreed.find_last_not_of('\n') + 1);
  for (std::size_t end = agreed.find('\n'); end != std::string::npos; end = agreed.find('\n', end + 2)) {
    agreed.replace(end, 1, "; ");
  }
  return fmt::format("options {}: {}", short_hex(entry.terms.options), agreed);
}

}  // namespace

std::string ledger_of_party(const FitOptions& options, std::size_t rank) {
  const std::string& ledger = options.privacy.ledger;
  const std::string named = with_rank(ledger, rank);
  if (rank == 0 || options.silos.ledger_is_own || has_rank(ledger)) return named;
  const std::filesystem::path path(named);
  const std::string own = fmt::format("{}-silo{}{}", path.stem().string(), rank, path.extension().string());
  return (path.parent_path() / own).string();
}

FitCommand command_of_party(CommandEntry root, const std::vector<std::string>& arguments, int rank) {
  const RunnableCommand command = parse_command_line(std::move(root), arguments, static_cast<std::size_t>(rank));
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

SiloEntry entry_on_roster(const SiloOptions& options, int rank) {
  const auto parties = static_cast<int>(read_roster(options.roster).members.size());
  if (rank >= parties) throw UsageError(fmt::format("--roster {}: names no silo {}", options.roster, rank));
  return entry_of(options, rank, parties);
}

bool has_coordinator_ended(Wire& wire) {
  const std::optional<Message> message = wire.receive(WireClock::now() + kWaitForCoordinator);
  return message && message->from == 0 && message->is_farewell;
}

SiloParty::SiloParty(Wire& wire, int rank, int size, const FitOptions& options, PartyLog& log,
                     const SessionMaker& maker)
    : logged_(wire, log) {
  SiloEntry entry = entry_of(options.silos, rank, size);
  entry.log = &log;
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
  ranks_.emplace(Communicator::among_silos(
      std::make_unique<SiloJob>(logged_, rank, std::move(entry), report_lost, maker), rank, size));
}

SiloParty::~SiloParty() = default;

namespace {

// A failure that the ranks have not agreed on would leave the others waiting: the job is ended.
int end_with(Communicator& ranks, const char* message, ExitCode code) {
  report_error(message, code);
  if (ranks.size() > 1 && !ranks.failure_agreed()) ranks.abort(code);
  return static_cast<int>(code);
}

// Previews to its owner what a silo would do. The owner's own file says which silo it is.
int run_preview(const std::vector<std::string>& arguments) {
  try {
    const std::size_t silo = party_of_own_file(dpreduce_command(), arguments);
    preview_silo(command_of_party(dpreduce_command(), arguments, static_cast<int>(silo)).options,
                 static_cast<std::uint32_t>(silo));
    return static_cast<int>(ExitCode::kDone);
  } catch (const Error& error) {
    return report_error(error.what(), error.code());
  }
}

int join_and_run(const CommandEntry& root, const std::vector<std::string>& arguments, const std::string& doubt) {
  try {
    Communicator ranks = Communicator::join(doubt);
    return run_job(root, arguments, ranks);
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    return report_error(error.what(), error.code());
  }
}

}  // namespace

int report_error(const char* message, ExitCode code) {
  std::fprintf(stderr, "dpreduce: %s\n", message);
  return static_cast<int>(code);
}

int run_job(const CommandEntry& root, const std::vector<std::string>& arguments, Communicator& ranks) {
  try {
    command_of_job(root, arguments, ranks)(ranks);
    return static_cast<int>(ExitCode::kDone);
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    return end_with(ranks, error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return end_with(ranks, "out of memory; use more ranks, or a smaller --memory", ExitCode::kInternal);
  } catch (const std::exception& error) {
    return end_with(ranks, error.what(), ExitCode::kInternal);
  }
}

std::string words_of(const PeerFailed& failure) {
  return failure.rank == 0 ? std::string("the coordinator has ended, or has given the run up")
                           : fmt::format("silo {} has ended the run; its own log says why", failure.rank);
}

void run_logged(PartyLog& log, const std::function<void()>& work) {
  const auto end = [&](ExitCode code, const std::string& how) {
    log.line(fmt::format("end: exit code {}: {}", static_cast<int>(code), how));
  };
  try {
    work();
  } catch (const PeerFailed& failure) {
    end(failure.code(), words_of(failure));
    throw;
  } catch (const Error& error) {
    end(error.code(), error.what());
    throw;
  } catch (const std::exception& error) {
    end(ExitCode::kInternal, error.what());
    throw;
  }
  end(ExitCode::kDone, "done");
}

int run_party(const std::vector<std::string>& arguments, Wire& wire, int rank, int size, const SessionMaker& maker) {
  PartyLog log;
  bool has_entered = false;
  try {
    const FitCommand fit = command_of_party(dpreduce_command(), arguments, rank);
    if (fit.options.output.dry_run) {
      throw UsageError(
          "--dry-run with --secure-aggregation: start it for one silo, without mpirun, with its --silo-config");
    }
    log = PartyLog(with_rank(fit.options.silos.log, static_cast<std::size_t>(rank)));
    run_logged(log, [&] {
      SiloParty party(wire, rank, size, fit.options, log, maker);
      has_entered = true;
      fit(party.ranks());
    });
    return static_cast<int>(ExitCode::kDone);
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    // A mistake in the options that all parties were given stops each of them. The coordinator has reported it by now;
    // a silo writes it into its own log and prints nothing.
    const bool is_reported =
        !has_entered && rank != 0 && error.code() == ExitCode::kUsage && has_coordinator_ended(wire);
    return is_reported ? static_cast<int>(error.code()) : report_error(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return report_error("out of memory; use a smaller --memory", ExitCode::kInternal);
  } catch (const std::exception& error) {
    return report_error(error.what(), ExitCode::kInternal);
  }
}

int run_party_of_job(const JobPlace& place, const std::vector<std::string>& arguments, const SessionMaker& maker) {
  try {
    return run_on_job_wire(place,
                           [&](Wire& wire) { return run_party(arguments, wire, place.rank, place.size, maker); });
  } catch (const PeerFailed& failure) {
    return static_cast<int>(failure.code());
  } catch (const Error& error) {
    return report_error(error.what(), error.code());
  }
}

int run_program(CommandEntry (*commands)(), const std::vector<std::string>& arguments, const SessionMaker& maker) {
  if (named_command(commands(), arguments).command->role != PartyRole::kNone) {
    const auto run_alone = [&] {
      Communicator alone = Communicator::alone();
      return run_job(commands(), arguments, alone);
    };
    return run_guarded(run_alone, AtomicFile::remove_unfinished);
  }
  const AskedJob asked = asked_job(commands(), arguments);
  if (launched_by_mpi() && asked.is_of_silos) {
    return run_with_parent([&](const JobPlace& place) { return run_party_of_job(place, arguments, maker); },
                           AtomicFile::remove_unfinished);
  }
  if (asked.is_preview) return run_guarded([&] { return run_preview(arguments); }, AtomicFile::remove_unfinished);
  return run_guarded([&] { return join_and_run(commands(), arguments, asked.doubt); }, AtomicFile::remove_unfinished);
}

}  // namespace dpreduce
