// What a fit checks, and its report says, of a run among silos.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "common/ranks/communicator.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// Throws UsageError where the options want a run among silos and this is none.
void require_silos(const FitOptions& options, const Communicator& ranks);

/// Throws BadInput where the roster says something else about rows than what they, or --classes, say.
void check_against_roster(const FitOptions& options, std::size_t dim);

/// Who took part, who was lost when and why, and what each kind of message took. At the coordinator of a run of silos.
nlohmann::json silos_json(const Communicator& ranks, NoiseSource noise);

/// {kind: seconds}: how long the coordinator waited for messages of each kind. Beside Timings, for the data's owner.
nlohmann::json waits_json(const Communicator& ranks);

}  // namespace dpreduce
