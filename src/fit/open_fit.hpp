// A fit whose rows are open, checked and planned for. Nothing is spent yet.
#pragma once

#include <memory>
#include <optional>

#include "common/data/worker_rows.hpp"
#include "common/ranks/communicator.hpp"
#include "common/silos/file_claims.hpp"
#include "fit/fit_rows.hpp"
#include "fit/planned_fit.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

struct OpenFit {
  std::shared_ptr<const PlannedFit> fit;
  WorkerRows training;                    ///< this rank's
  std::optional<WorkerRows> public_sums;  ///< this rank's share of public rows that are summed
  std::optional<WorkerRows> validation;   ///< this rank's share
  std::optional<WorkerRows> candidates;   ///< all public rows, where prototypes may be chosen among them
  std::unique_ptr<FileClaims> claims{};   ///< a silo's, by which the coordinator knows its files on this machine
  unsigned threads = 1;                   ///< of this rank: --threads

  /// Where these are. Valid as long as this object stays where it is.
  PublicRows public_rows();
};

/// Opens the rows of `stated` (validated), in the files that it names or `memory`'s; keeps the long tail that
/// --imbalance-ratio asks for; plans; and checks that the plan fits into this rank's memory. A dry run neither opens
/// validation rows nor looks at a row. Collective. Throws UsageError where rows and options do not fit, where a method
/// whose ranks are silos is given rows that all share, and as PlannedFit and MachineShare::require; BadInput as the
/// functions of fit_rows.hpp and ranked_rows.hpp, and where public or validation rows are training rows
/// (files_once.hpp).
OpenFit open_fit(const FitOptions& stated, Communicator& ranks, const RowsInMemory* memory = nullptr);

}  // namespace dpreduce
