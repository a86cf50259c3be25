// How a party enters a fit among silos.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ranks/communicator.hpp"
#include "common/silos/party_log.hpp"
#include "common/silos/wire.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

/// The options of the party of that rank, its own file read. Throws UsageError where the arguments are wrong, or ask
/// for something else than a fit among silos; BadInput where its own file is.
FitOptions options_of_party(const std::vector<std::string>& arguments, int rank);

/// Whether the coordinator's process has ended where a silo cannot begin: then what is wrong with the arguments that
/// both were given has been told already. Waits until the coordinator says something, a minute at most.
bool has_coordinator_ended(Wire& wire);

/// Enters the run as rank `rank` of `size`, the coordinator being rank 0. Throws UsageError where ranks, threshold and
/// roster do not go together, BadInput on roster and identity, and what SiloJob throws. The coordinator reports lost
/// silos on standard error as they are lost. Both outlive it.
class SiloParty {
 public:
  SiloParty(Wire& wire, int rank, int size, const FitOptions& options, PartyLog& log);
  ~SiloParty();
  Communicator& ranks() { return *ranks_; }

 private:
  LoggedWire logged_;
  std::unique_ptr<Wire> faulty_;  // before the job, which it outlives
  std::optional<Communicator> ranks_;
};

}  // namespace dpreduce
