// How a party enters a fit among silos.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dpreduce/config/options.hpp"
#include "dpreduce/silos/wire.hpp"
#include "dpreduce/transport/communicator.hpp"

namespace dpreduce {

/// The options of a fit with --secure-aggregation; nothing where the words ask for something else, or are wrong.
std::optional<FitOptions> asked_for_silos(const std::vector<std::string>& words);

/// Enters the run as rank `rank` of `size`, the coordinator being rank 0. Throws UsageError where ranks, threshold and
/// roster do not go together, BadInput on roster and identity, and what SiloJob throws.
/// The coordinator tells of lost silos on standard error as they are lost.
class SiloParty {
 public:
  SiloParty(Wire& wire, int rank, int size, const FitOptions& options);
  ~SiloParty();
  Communicator& ranks() { return *ranks_; }

 private:
  std::unique_ptr<Wire> faulty_;  // before the job, which it outlives
  std::optional<Communicator> ranks_;
};

}  // namespace dpreduce
