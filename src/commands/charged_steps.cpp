#include "commands/charged_steps.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/silo_preview.hpp"
#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/parties.hpp"
#include "report/page.hpp"

namespace dpreduce {

void require_silos(const FitOptions& options, const Communicator& ranks) {
  if (!options.silos.secure_aggregation || ranks.silos() != nullptr) return;
  throw UsageError(
      "--secure-aggregation: start it with mpirun -n, one rank for the coordinator and one for each of at least 2 "
      "silos");
}

void require_consent(const FitOptions& options, Communicator& ranks) {
  SiloJob* const silos = ranks.silos();
  if (silos == nullptr || ranks.is_coordinator() || options.silos.roster.empty()) return;
  PartyLog* const log = silos->log();
  if (!options.silos.consent) {
    if (log != nullptr) log->line("no [consent] in --silo-config: this silo accepts every run");
    return;
  }
  try {
    const ResolvedFit fit = fit_on_roster(options, read_roster(options.silos.roster));
    const std::vector<ConsentTerm> terms = terms_of_silo(options, fit, silos->terms());
    require_met(terms);
    if (log != nullptr) log->line(fmt::format("consent: all {} terms are met", terms.size()));
  } catch (const Error& error) {
    silos->refuse(error.code());
    throw;
  }
}

void require_on_roster(const FitOptions& options) {
  if (!options.silos.roster.empty()) require_classes_of_roster(options, read_roster(options.silos.roster));
}

PartyLog* log_of(const Communicator& ranks) {
  return ranks.silos() == nullptr ? nullptr : ranks.silos()->log();
}

void log_rows(const WorkerRows& rows, const Communicator& ranks) {
  PartyLog* const log = log_of(ranks);
  if (log == nullptr) return;
  const bool is_empty = rows.range().count == 0;
  log->line(rows.is_none() ? "no rows here"
            : is_empty     ? "files opened, there is NO ROW in them"
                           : "rows opened, they fit");
}

Timings::OnPhase phases_to_log(const Communicator& ranks) {
  PartyLog* log = log_of(ranks);
  if (log == nullptr) return nullptr;
  return [log](const std::string& phase, double seconds) { log->end_phase(phase, seconds); };
}

void warn_on_error_stream(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

void require_report_of(const RunFile& file, const std::string& path) {
  if (path.empty() || !is_file(path)) return;
  std::ifstream stream(path, std::ios::binary);
  const nlohmann::json report = parse_json(std::string{std::istreambuf_iterator<char>(stream), {}});
  if (report.is_object() && file.has_run(JsonFields(report, path).object("ledger").text("run"))) return;
  throw BadInput("{}: already exists, and is not a report of the resumed run; give another name, or --overwrite", path);
}

std::string page_of_run(const nlohmann::json& report, const FitOptions& options, bool has_noise) {
  const std::string name = options.output.report.empty() ? "report" : options.output.report;
  std::vector<PageDocument> documents{fit_document(reported_run(report, name), name)};
  if (has_noise) documents.push_back(ledger_document(options.privacy.ledger));
  return page_of(documents);
}

}  // namespace dpreduce
