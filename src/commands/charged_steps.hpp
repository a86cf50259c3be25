// Steps that every command has whose run is charged on a ledger, and may be one among silos.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/party_log.hpp"
#include "fit/fit_account.hpp"
#include "methods/fit_options.hpp"
#include "methods/timings.hpp"

namespace dpreduce {

/// Throws UsageError where the options want a run among silos and this is none.
void require_silos(const FitOptions& options, const Communicator& ranks);

/// A silo compares the run with its owner's consent before it opens a file of rows. One that refuses tells the others
/// that, and no more. Throws as require_met.
void require_consent(const FitOptions& options, Communicator& ranks);

/// Throws BadInput where the roster has another number of classes than --classes. (open_ranked_rows compares features.)
void require_on_roster(const FitOptions& options);

/// The log that a party of a run among silos writes for its owner; null elsewhere.
PartyLog* log_of(const Communicator& ranks);

/// A party tells its owner and nobody else: whether a silo has rows is its own.
void tell_of_rows(const WorkerRows& rows, const Communicator& ranks);

Timings::OnPhase phases_to_log(const Communicator& ranks);

/// A line for the user, on standard error.
void warn_on_error_stream(const std::string& line);

/// Tells the user what earlier runs have left. On the coordinator.
void tell_of_earlier_runs(const FitAccount& account);

/// Opens what a run writes, by `open`, before anything is spent: a run that goes on replaces what the one before has
/// left, if it is that. An account that cannot be used removes its new file. Throws BadInput where there is a file in
/// the place of the report, and it is no report of a run that this one goes on from; what `open` throws.
void open_outputs_of(FitAccount& account, const OutputOptions& output, const std::function<void(Existing)>& open);

/// A page on the report and, where the run has noise, the ledger as the run has left it.
std::string page_of_run(const nlohmann::json& report, const FitOptions& options, bool has_noise);

}  // namespace dpreduce
