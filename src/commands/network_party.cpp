#include "commands/network_party.hpp"

#include <cstdio>

#include "commands/job.hpp"
#include "commands/silo_preview.hpp"
#include "common/base/text.hpp"
#include "common/ranks/lifetime.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/registry.hpp"
#include "network/coordinator_wire.hpp"
#include "network/health_file.hpp"
#include "network/silo_wire.hpp"
#include "report/private_evaluation.hpp"

namespace dpreduce {
namespace {

constexpr double kLongestWait = 1e8;  // seconds
constexpr double kTimeoutsOfPatience = 20;

void require_fit_for_network(const OptionTable& options, const std::string& command) {
  for (const Option& option : options.options()) {
    if (option.is_given() && !option.refused_over_network.empty()) {
      throw UsageError("--{}: is refused by dpreduce {}: {}; remove it", option.long_name(), command,
                       option.refused_over_network);
    }
    const auto word = std::ranges::find_if(option.given, [](const std::string& given) { return has_rank(given); });
    if (word == option.given.end()) continue;
    throw UsageError(
        "--{} {}: {{rank}} is of parties under mpirun; over a network a party has no rank, so name its file",
        option.long_name(), *word);
  }
}

// Number of this party in the roster.
std::uint32_t number_in_roster(const Identity& identity, const Roster& roster, const NetworkParty& party) {
  const SiloOptions& silos = party.fit.silos;
  const auto member = std::ranges::find(roster.members, identity.public_key(), &Member::key);
  if (member == roster.members.end()) {
    throw BadInput("--identity {}: its key {}... is not in --roster {}", silos.identity,
                   short_hex(identity.public_key()), silos.roster);
  }
  const auto number = static_cast<std::uint32_t>(member - roster.members.begin());
  if ((number == 0) != (party.role == PartyRole::kCoordinator)) {
    throw BadInput("--identity {}: belongs to {} in --roster {}; start it with dpreduce {}", silos.identity,
                   number == 0 ? "the coordinator" : fmt::format("silo \"{}\"", member->name), silos.roster,
                   number == 0 ? "coordinator" : "silo");
  }
  return number;
}

// Secrets of a proxy are refused without being shown.
std::optional<NetworkAddress> parse_proxy(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text.find('@') != std::string::npos) {
    throw UsageError("--proxy: has a user name or password, which is not supported; give HOST:PORT of one without");
  }
  return parse_address("--proxy", text);
}

std::string who_is_here(const std::vector<PartyStatus>& silos) {
  std::string here;
  std::string missing;
  for (const PartyStatus& silo : silos) {
    std::string& names = silo.state == LineState::kOpen ? here : missing;
    names += (names.empty() ? "" : ", ") + silo.name;
  }
  const auto count = std::ranges::count(silos, LineState::kOpen, &PartyStatus::state);
  return fmt::format("{} of {} silos are connected{}{}{}{}", count, silos.size(), here.empty() ? "" : ": ", here,
                     missing.empty() ? "" : "; not yet: ", missing);
}

// The wire of the party, once the run has begun.
class NetworkRun {
 public:
  NetworkRun(const NetworkParty& party, PartyLog& log)
      : party_(party), log_(log), roster_(read_roster(party.fit.silos.roster)) {
    const Identity identity = load_identity(party.fit.silos.identity, "--identity");
    self_ = number_in_roster(identity, roster_, party);
    terms_ = terms_of(party.fit.silos, size());
    const NetworkTerms terms{roster_, self_, milliseconds_of(party.fit.silos.timeout_seconds),
                             milliseconds_of(party.network.run_timeout_seconds), &log};
    if (is_coordinator()) {
      wire_ = &coordinator_.emplace(identity, terms, parse_address("--listen", party.network.address));
    } else {
      wire_ = &silo_.emplace(identity, terms, parse_address("--connect", party.network.address),
                             std::vector<std::string>{}, parse_proxy(party.network.proxy));
    }
    health_.emplace(party.network.health, *wire_, is_coordinator() ? "coordinator" : "silo",
                    roster_.members[self_].name);
  }

  void run(const SessionMaker& maker) {
    const WorkEnd ended = end_of(
        [&] {
          wait();
          health_->set_state("running");
          run_as_party(*wire_, static_cast<int>(self_), size(), party_.fit, log_, maker,
                       [&](Communicator& party) { fit_and_write(party_.fit, party); });
        },
        "");
    end(ended.code);
    if (ended.failure) std::rethrow_exception(ended.failure);
  }

 private:
  bool is_coordinator() const { return self_ == 0; }
  int size() const { return static_cast<int>(roster_.members.size()); }

  void say(const std::string& line) {
    log_.line(line);
    if (!party_.fit.output.quiet) fmt::print(stderr, "dpreduce: {}\n", line);
  }

  void wait() {
    if (silo_) {
      if (!party_.network.proxy.empty()) say(fmt::format("connecting through the proxy {}", party_.network.proxy));
      silo_->wait_for_run([&](const std::string& line) { say(line); });
      return say("the run begins");
    }
    say(fmt::format("listening at {}", wire_->address()));
    std::optional<std::chrono::milliseconds> longest;
    if (party_.network.wait_seconds) longest = milliseconds_of(*party_.network.wait_seconds);
    coordinator_->wait_for_silos(longest, terms_.threshold,
                                 [&](const std::vector<PartyStatus>& silos) { say(who_is_here(silos)); });
    say("the run begins");
  }

  // A silo's exit code would reveal its budget, its consent or its rows to others: they learn only what a launcher
  // reports.
  void end(ExitCode code) {
    std::string why = "its process has ended";
    if (is_coordinator()) why = fmt::format("it has ended with exit code {}", static_cast<int>(code));
    wire_->leave(code == ExitCode::kDone ? "the run is done" : why);
    health_->set_state("ended", static_cast<int>(code));
  }

  const NetworkParty& party_;
  PartyLog& log_;
  Roster roster_;
  std::uint32_t self_ = 0;
  SiloTerms terms_;
  std::optional<CoordinatorWire> coordinator_;  // one of the two, by role
  std::optional<SiloWire> silo_;
  NetworkWire* wire_ = nullptr;  // that one
  std::optional<HealthFile> health_;
};

// The first options of the table, each party's own.
void declare_network(OptionTable& table, PartyRole role, NetworkOptions& network, SiloOptions& silos) {
  table.begin_group("Network");
  const auto declare_address = [&](const char* name, const char* help) {
    table.text(name, network.address, help).typed("HOST:PORT").required();
  };
  if (role == PartyRole::kCoordinator) {
    declare_address("--listen", "address and port to listen on for silos");
    table
        .number("--wait", network.wait_seconds,
                "start after this many seconds with the connected silos, if they are at least --threshold; default: "
                "wait for the full roster")
        .from(0, kLongestWait)
        .typed("SECONDS");
    table
        .number("--silo-patience", silos.patience_seconds,
                "longest total time for which a silo may keep --threshold others waiting, before the run ends for all; "
                "default: 20 times --silo-timeout")
        .from(0.1, kLongestWait)
        .typed("SECONDS");
  } else {
    declare_address("--connect", "the coordinator's address and port; the silo connects to no one else");
    table
        .text("--proxy", network.proxy,
              "HTTP proxy on the way to the coordinator: it is asked for a tunnel (CONNECT); TLS still ends at the "
              "coordinator; default: none, whatever https_proxy says")
        .typed("HOST:PORT");
  }
  table
      .number("--run-timeout", network.run_timeout_seconds,
              "longest time of the whole run, including the wait for the others")
      .from(1, kLongestWait)
      .typed("SECONDS");
  table.file("--health", network.health, "JSON status file for supervisors, updated every two seconds").written();
  table.begin_group("");
  for (Option& own : table.options()) own.said(SetBy::kParty);
}

// Prints what a silo would send and promise; nobody is called.
void preview(const NetworkParty& party) {
  const Identity identity = load_identity(party.fit.silos.identity, "--identity");
  const bool trains = party.fit.evaluation.files.empty();
  preview_silo(trains ? party.fit : validated(evaluation_of(party.fit)),
               number_in_roster(identity, read_roster(party.fit.silos.roster), party));
}

// Returns the party's options, validated: of a fit; or of an evaluation, whose models are read now.
FitOptions before_anybody_is_called(FitOptions asked) {
  require_budget(asked.privacy.budget);
  if (asked.evaluation.files.empty()) return validated(std::move(asked));
  FitOptions evaluation = validated(evaluation_of(asked));
  if (const Forfeits forfeits = forfeits_of_models(evaluation); !forfeits.empty()) {
    throw UsageError("--evaluate {}: {}", asked.evaluation.files.front(), reason_of(forfeits.back()));
  }
  if (asked.data.classes != 0 && asked.data.classes != evaluation.data.classes) {
    throw UsageError("--classes {}: the model of --evaluate is for {}; leave it out", asked.data.classes,
                     evaluation.data.classes);
  }
  asked.evaluation.models = std::move(evaluation.evaluation.models);
  return asked;
}

}  // namespace

CommandEntry network_command(PartyRole role, const char* name, const char* help, const char* examples) {
  const bool is_coordinator = role == PartyRole::kCoordinator;
  const auto read = std::make_shared<NetworkParty>();
  read->role = role;
  CommandEntry command{.name = name, .help = help, .footer = examples, .role = role};
  OptionTable& table = command.options;
  declare_network(table, role, read->network, read->fit.silos);
  declare_fit(table, read->fit);
  table.begin_group("Evaluation");
  table
      .files("--evaluate", read->fit.evaluation.files,
             "evaluate this model with noise on the silos' rows, instead of a fit")
      .said(SetBy::kAllOfFiles)
      .replacing({"--classes"});
  declare_evaluation(table, read->fit, "--evaluate-metrics");
  add_evaluation_rules(table, read->fit.data.train, "--evaluate-metrics", "--evaluate", "--evaluate");
  table.begin_group("");
  declare_config(table);
  for (const char* mandatory : {"--roster", "--identity"}) table.find(mandatory)->required();
  for (const char* rows : {"--train-x", "--train-y"}) table.find(rows)->is_required = !is_coordinator;
  if (is_coordinator)
    table.find("--dry-run")->not_over_network("it shows what a silo sends, and a coordinator has no rows");
  for (Option& option : table.options()) {
    if (!option.refused_over_network.empty())
      option.help = fmt::format("refused here: {}", option.refused_over_network);
  }
  command.chosen = [read, is_coordinator, name](const ParsedCommand& parsed) {
    require_fit_for_network(parsed.options, name);
    NetworkParty party = *read;
    parse_address(is_coordinator ? "--listen" : "--connect", party.network.address);
    parse_proxy(party.network.proxy);
    FitOptions& fit = party.fit;
    fit.silos.secure_aggregation = true;
    fit.silos.over_network = true;
    if (!fit.silos.patience_seconds) fit.silos.patience_seconds = kTimeoutsOfPatience * fit.silos.timeout_seconds;
    take_party(fit.silos, parsed, fit.data.train.class_names);
    if (is_coordinator) fit.data.train.x = fit.data.train.y = fit.data.train.person = fit.data.train.group = {};
    fit = before_anybody_is_called(std::move(fit));
    return party;
  };
  return command;
}

void NetworkParty::operator()(Communicator&, const SessionMaker& maker) const {
  if (launched_by_mpi()) {
    throw UsageError("{}: a party over a network is one process; start it without mpirun",
                     role == PartyRole::kCoordinator ? "coordinator" : "silo");
  }
  if (fit.output.dry_run) return preview(*this);
  PartyLog log(fit.silos.log);
  const WorkEnd end = end_of([&] { run_logged(log, [&] { NetworkRun(*this, log).run(maker); }); }, "");
  if (end.is_of_peer) report_error(end.words.c_str(), end.code);
  if (end.failure) std::rethrow_exception(end.failure);
}

}  // namespace dpreduce
