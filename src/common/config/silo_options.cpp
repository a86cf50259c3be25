#include "dpreduce/config/silo_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/option_checks.hpp"
#include "dpreduce/config/option_kinds.hpp"
#include "dpreduce/config/rank_pattern.hpp"

namespace dpreduce {
namespace {

constexpr double kShortestTimeout = 0.05;  // seconds
constexpr double kLongestTimeout = 1e6;
constexpr double kLeastMegabits = 1e-3;  // then a message of 1 MiB takes 2.3 hours
constexpr double kMostMegabits = 1e9;
constexpr double kMostPercentLost = 99;

// A message takes at most as long as a silo may be waited for.
void check_line(const SiloOptions& silos) {
  if (silos.round_trip_ms) check_range("--round-trip", *silos.round_trip_ms, 0, 1e3 * kLongestTimeout);
  if (silos.bandwidth_mbit) check_range("--bandwidth", *silos.bandwidth_mbit, kLeastMegabits, kMostMegabits);
  if (!silos.packet_loss_percent) return;
  check_range("--packet-loss", *silos.packet_loss_percent, 0, kMostPercentLost);
  if (*silos.packet_loss_percent > 0 && silos.round_trip_ms.value_or(0) == 0) {
    throw UsageError(
        fmt::format("--packet-loss {} goes with --round-trip: what is lost costs round trips; give a positive one",
                    *silos.packet_loss_percent));
  }
}

}  // namespace

void add_silos(CLI::App& app, SiloOptions& silos) {
  app.add_flag("--secure-aggregation", silos.secure_aggregation,
               "masked sums: rank 0 is a coordinator without rows, every other rank a silo with files of its own")
      ->group("Silos");
  add_count(app, "--threshold", silos.threshold, "silos that must stay to the end; default: more than two thirds")
      ->group("Silos");
  add_choice(app, "--noise", silos.noise,
             "who adds it: the coordinator, which then could look at the exact sum, or every silo a share")
      ->group("Silos");
  add_count(app, "--colluding", silos.colluding,
            "silos that may show the coordinator what they know, without its learning more of the others")
      ->capture_default_str()
      ->group("Silos");
  app.add_option("--silo-timeout", silos.timeout_seconds, "a silo that is silent for so long is lost")
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group("Silos");
  app.add_option("--roster", silos.roster, "TOML file: names and public keys of all parties; default: a simulation")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--identity", silos.identity, "this party's, from dpreduce keygen; {rank} is replaced")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option(
         "--silo-config", silos.own_options,
         "TOML file of this party alone: paths of its rows, identity, log, ledger and budget; {rank} is replaced")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--log", silos.log, "what this party did and saw, line by line, for its owner; {rank} is replaced")
      ->type_name("FILE")
      ->group("Silos");
  app.add_option("--fault", silos.fault,
                 "in simulations: one party does something wrong, e.g. 3:kill@masked (docs/silos.md)")
      ->type_name("SILO:KIND@MESSAGE")
      ->group("Silos");
  app.add_option("--round-trip", silos.round_trip_ms,
                 "in simulations: of a silo's line; its messages take half of it, either way; default: none")
      ->type_name("MS")
      ->group("Silos");
  app.add_option("--bandwidth", silos.bandwidth_mbit, "in simulations: of a silo's line; default: without bound")
      ->type_name("MBIT")
      ->group("Silos");
  app.add_option("--packet-loss", silos.packet_loss_percent,
                 "in simulations: packets that a silo's line loses, which lowers what TCP makes of it; default: none")
      ->type_name("PERCENT")
      ->group("Silos");
}

std::string agreed_options(const CLI::App& fit) {
  constexpr std::array<std::string_view, 21> kOwn{
      "train-x", "train-y",     "identity",   "roster",    "log",         "threads",        "memory",
      "test-x",  "test-y",      "out",        "report",    "ledger",      "format",         "config",
      "fault",   "silo-config", "round-trip", "bandwidth", "packet-loss", "budget-epsilon", "budget-delta"};
  constexpr std::array<std::string_view, 3> kFiles{"validation-x", "validation-y", "public-x"};
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string agreed;
  for (const CLI::Option* option : fit.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (is_in(kOwn, name)) continue;
    std::vector<std::string> values = option->results();
    if (is_in(kFiles, name)) values = {"given"};
    if (option->get_expected_max() == 1) values.erase(values.begin(), values.end() - 1);  // the last word wins
    agreed += name;
    for (const std::string& value : values) {
      double number = 0.0;
      agreed += CLI::detail::lexical_cast(value, number) ? fmt::format(" {}", number) : " " + value;
    }
    agreed += '\n';
  }
  return agreed;
}

std::string ledger_of_party(const FitOptions& options, std::size_t rank) {
  const std::string named = with_rank(options.ledger, rank);
  if (rank == 0 || options.silos.ledger_is_own || has_rank(options.ledger)) return named;
  const std::filesystem::path path(named);
  const std::string own = fmt::format("{}-silo{}{}", path.stem().string(), rank, path.extension().string());
  return (path.parent_path() / own).string();
}

void check_silos(const FitOptions& options) {
  const SiloOptions& silos = options.silos;
  if (!silos.secure_aggregation) {
    const std::pair<const char*, bool> given[] = {
        {"--threshold", silos.threshold.has_value()},
        {"--roster", !silos.roster.empty()},
        {"--identity", !silos.identity.empty()},
        {"--silo-config", !silos.own_options.empty()},
        {"--log", !silos.log.empty()},
        {"--fault", !silos.fault.empty()},
        {"--round-trip", silos.round_trip_ms.has_value()},
        {"--bandwidth", silos.bandwidth_mbit.has_value()},
        {"--packet-loss", silos.packet_loss_percent.has_value()},
        {"--noise distributed", silos.is_distributed()},
        {"--colluding", silos.colluding > 0},
        {"--silo-timeout", silos.timeout_seconds != SiloOptions().timeout_seconds}};
    for (const auto& [option, is_given] : given) {
      if (is_given) throw UsageError(fmt::format("{} goes with --secure-aggregation", option));
    }
    return;
  }
  if (!silos.rows_are_own && (!has_rank(options.train.x) || !has_rank(options.train.y))) {
    throw UsageError(
        "--secure-aggregation: each silo has files of its own; write {rank} in --train-x and --train-y, e.g. "
        "'silo{rank}/x.npy', or name them in --silo-config");
  }
  if (has_rank(options.test.x) || has_rank(options.validation.x) || has_rank(options.public_x)) {
    throw UsageError(
        "--secure-aggregation: the coordinator alone reads test, validation and public rows; name them without {rank}");
  }
  check_both_or_none("--roster", !silos.roster.empty(), "--identity", !silos.identity.empty());
  if (!(silos.timeout_seconds >= kShortestTimeout && silos.timeout_seconds <= kLongestTimeout)) {
    throw UsageError(fmt::format("--silo-timeout {}: must be from {} to {} seconds", silos.timeout_seconds,
                                 kShortestTimeout, kLongestTimeout));
  }
  check_line(silos);
  const auto refuse = [](bool is_given, const char* option, const char* reason) {
    if (is_given) throw UsageError(fmt::format("{} with --secure-aggregation: {}", option, reason));
  };
  check_both_or_none("--budget-epsilon", options.limit_epsilon.has_value(), "--budget-delta",
                     options.limit_delta.has_value());
  refuse(options.budget.non_private && options.limit_epsilon, "--non-private and --budget-epsilon",
         "sums without noise are within no budget");
  refuse(options.method == Method::kFedavg, "--method fedavg",
         "its silos noise gradients of their own, which nobody adds up; leave the option out");
  refuse(silos.is_distributed() && options.may_choose_prototypes(), "choosing public rows by --noise distributed",
         "the coordinator would see the utilities of all rows; use central noise, or --method mean");
  refuse(options.batch.has_value(), "--batch", "the coins of a sample would have to be known to every party");
  refuse(options.resume, "--resume", "a run that has ended is begun anew, and charged anew");
  refuse(!options.checkpoint.empty(), "--checkpoint", "a run that has ended is begun anew, and charged anew");
  refuse(silos.is_distributed() && options.choose && options.validation.x.empty(), "--choose and --noise distributed",
         "the coordinator would see how many rows each candidate gets right; choose by --validation-x");
  refuse(options.dry_run, "--dry-run",
         "its figures need the number of rows; plan without silos, the noise is the same");
}

}  // namespace dpreduce
