#include "commands/silo_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/roster.hpp"

namespace dpreduce {

void require_silos(const FitOptions& options, const Communicator& ranks) {
  if (!options.silos.secure_aggregation || ranks.silos() != nullptr) return;
  throw UsageError(
      "--secure-aggregation: start it with mpirun -n, one rank for the coordinator and one for each of at least 2 "
      "silos");
}

void check_against_roster(const FitOptions& options, std::size_t dim) {
  if (options.silos.roster.empty()) return;
  const Roster roster = read_roster(options.silos.roster);
  if (roster.dim != dim || roster.classes != options.data.classes) {
    throw BadInput(fmt::format("--roster {}: says {} features and {} classes; rows have {}, and --classes is {}",
                               options.silos.roster, roster.dim, roster.classes, dim, options.data.classes));
  }
}

nlohmann::json silos_json(const Communicator& ranks, NoiseSource noise) {
  const SiloJob& job = *ranks.silos();
  const CoordinatorSession& session = *job.coordinator();
  nlohmann::json json{
      {"count", job.terms().silos},         {"threshold", job.terms().threshold},
      {"colluding", job.terms().colluding}, {"identities", job.has_roster() ? "roster" : "ephemeral: a simulation"},
      {"left", session.left().size()},      {"summed", session.last_summed().size()},
      {"lost", nlohmann::json::array()},    {"messages", nlohmann::json::object()}};
  json["noise"] = {{"source", to_string(noise)}};
  if (noise == NoiseSource::kDistributed) {
    json["noise"]["shares_at_least"] = job.terms().honest_shares();
    json["noise"]["shares_in_last_sum"] = session.last_summed().size();
  }
  json["took_part"] = nlohmann::json::array();
  for (const std::uint32_t silo : session.left()) {
    json["took_part"].push_back({{"silo", silo}, {"name", session.name_of(silo)}});
  }
  for (const LostSilo& lost : session.lost()) {
    json["lost"].push_back({{"silo", lost.silo},
                            {"name", lost.name},
                            {"phase", lost.phase},
                            {"round", lost.round},
                            {"reason", lost.reason}});
  }
  for (const auto& [kind, cost] : session.costs()) {
    json["messages"][kind] = {{"count", cost.messages}, {"bytes", cost.bytes}, {"waits", cost.waits}};
  }
  return json;
}

nlohmann::json waits_json(const Communicator& ranks) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [kind, cost] : ranks.silos()->coordinator()->costs()) json[kind] = cost.seconds;
  return json;
}

}  // namespace dpreduce
