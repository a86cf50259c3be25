#include "commands/command_line/silo_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/rank_pattern.hpp"

namespace dpreduce {
namespace {

// Numbers in one form, so that parties who write "0.50" and "0.5" agree.
std::string plain(const std::string& word) {
  try {
    return fmt::format("{}", read_number("", word));
  } catch (const UsageError&) {
    return word;
  }
}

}  // namespace

void declare_silos(OptionTable& table, SiloOptions& silos) {
  constexpr const char* kGroup = "Silos";
  table
      .flag("--secure-aggregation", silos.secure_aggregation,
            "masked sums: rank 0 is a coordinator without rows, every other rank a silo with files of its own")
      .in_group(kGroup);
  table.count("--threshold", silos.threshold, "silos that must stay to the end; default: more than two thirds")
      .in_group(kGroup);
  table
      .choice("--noise", silos.noise,
              "who adds it: the coordinator, which then could look at the exact sum, or every silo a share")
      .in_group(kGroup);
  table
      .count("--colluding", silos.colluding,
             "silos that may show the coordinator what they know, without its learning more of the others")
      .in_group(kGroup);
  table
      .count(
          "--silos-per-person", silos.silos_per_person,
          "the most silos that have rows of one person, a promise that is public: each silo lets a person's rows count "
          "for B over so many, or clips them to that; default: all silos")
      .typed("S")
      .in_group(kGroup);
  table
      .count(
          "--count-persons", silos.counted_persons,
          "silos count a person's rows over all of them, by pseudonyms under a key that the coordinator lacks, at most "
          "P persons a silo; each learns of whomever it can name how many rows each of the others has")
      .typed("P")
      .in_group(kGroup);
  table
      .text("--person-key", silos.person_key,
            "with --count-persons: file of 32 random bytes or more, the same at every silo; {rank} is replaced")
      .typed("FILE")
      .in_group(kGroup);
  table
      .number("--silo-timeout", silos.timeout_seconds,
              "no message of a silo may take longer; one that is alive and later ends the run for all")
      .typed("SECONDS")
      .in_group(kGroup);
  table.text("--roster", silos.roster, "TOML file: names and public keys of all parties; default: a simulation")
      .typed("FILE")
      .in_group(kGroup);
  table.text("--identity", silos.identity, "this party's, from dpreduce keygen; {rank} is replaced")
      .typed("FILE")
      .in_group(kGroup);
  table
      .text("--silo-config", silos.own_options,
            "TOML file of this party alone: paths of its rows, identity, log, ledger and budget; {rank} is replaced")
      .typed("FILE")
      .in_group(kGroup);
  table.text("--log", silos.log, "what this party did and saw, line by line, for its owner; {rank} is replaced")
      .typed("FILE")
      .written()
      .in_group(kGroup);
  table
      .text("--fault", silos.fault,
            "in simulations: one party does something wrong, e.g. 3:kill@masked, or the coordinator tells a silo other "
            "values than the others: 0:equivocate@broadcast (docs/how-to/simulate-silos.md)")
      .typed("SILO:KIND@MESSAGE")
      .in_group(kGroup);
  table
      .number("--round-trip", silos.round_trip_ms,
              "in simulations: of a silo's line; its messages take half of it, either way; default: none")
      .typed("MS")
      .in_group(kGroup);
  table.number("--bandwidth", silos.bandwidth_mbit, "in simulations: of a silo's line; default: without bound")
      .typed("MBIT")
      .in_group(kGroup);
  table
      .number("--packet-loss", silos.packet_loss_percent,
              "in simulations: packets that a silo's line loses, which lowers what TCP makes of it; default: none")
      .typed("PERCENT")
      .in_group(kGroup);
}

std::string agreed_options(const OptionTable& fit, const std::vector<std::string>& class_names) {
  constexpr std::array<std::string_view, 29> kOwn{
      "train-x",    "train-y",   "train-person", "person-key",     "identity",     "roster",    "log",
      "threads",    "memory",    "test-x",       "test-y",         "out",          "report",    "html",
      "metrics",    "timings",   "ledger",       "format",         "config",       "fault",     "silo-config",
      "round-trip", "bandwidth", "packet-loss",  "budget-epsilon", "budget-delta", "overwrite", "quiet",
      "class-names"};
  constexpr std::array<std::string_view, 3> kFiles{"validation-x", "validation-y", "public-x"};
  const auto is_in = [](const auto& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::string agreed;
  for (const Option& option : fit.options()) {
    if (!option.is_given() || is_in(kOwn, option.long_name())) continue;
    if (option.is_named("classes") && !class_names.empty()) continue;  // the list says it
    agreed += option.long_name();
    const bool names_files = is_in(kFiles, option.long_name());
    for (const std::string& word : names_files ? std::vector<std::string>{"given"} : option.given) {
      agreed += " " + plain(word);
    }
    agreed += '\n';
  }
  // Each party has a file of its own; what it says must be the same. A name holds no tab and no end of a line.
  if (!class_names.empty()) agreed += fmt::format("class-names\t{}\n", fmt::join(class_names, "\t"));
  return agreed;
}

std::string ledger_of_party(const FitOptions& options, std::size_t rank) {
  const std::string& ledger = options.privacy.ledger;
  const std::string named = with_rank(ledger, rank);
  if (rank == 0 || options.silos.ledger_is_own || has_rank(ledger)) return named;
  const std::filesystem::path path(named);
  const std::string own = fmt::format("{}-silo{}{}", path.stem().string(), rank, path.extension().string());
  return (path.parent_path() / own).string();
}

}  // namespace dpreduce
