// Common steps of commands whose run is charged on a ledger, and may be one among silos.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/party_log.hpp"
#include "fit/fit_account.hpp"
#include "methods/fit_options.hpp"
#include "methods/timings.hpp"

namespace dpreduce {

/// Throws UsageError where the options request a run among silos and this is none.
void require_silos(const FitOptions& options, const Communicator& ranks);

/// Compares the run with the consent of the silo's owner, before a file of rows is opened. A silo that refuses reports
/// that to the others, and no more. Throws as require_met.
void require_consent(const FitOptions& options, Communicator& ranks);

/// Throws BadInput where the options are not of the roster's classes. (open_ranked_rows compares features.)
void require_on_roster(const FitOptions& options);

/// Log that a party of a run among silos writes for its owner; null elsewhere.
PartyLog* log_of(const Communicator& ranks);

/// Reports to the party's owner, and to nobody else, whether it has rows: this is a silo's own.
void log_rows(const WorkerRows& rows, const Communicator& ranks);

Timings::OnPhase phases_to_log(const Communicator& ranks);

/// Prints a line for the user, on standard error.
void warn_on_error_stream(const std::string& line);

/// Throws BadInput where a file is at this path of a report that is no report of a run that the file is of.
void require_report_of(const RunFile& file, const std::string& path);

/// A page on the report and, where the run has noise, the ledger as the run has left it.
std::string page_of_run(const nlohmann::json& report, const FitOptions& options, bool has_noise);

}  // namespace dpreduce
