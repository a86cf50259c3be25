// Commands dpreduce coordinator and dpreduce silo: one party of a run among silos, a process of its own on a machine of
// its own.
//
// The run is that of `fit --secure-aggregation`. It differs in how messages travel (src/network), and in that a party
// is known by its identity, not by a rank.
#pragma once

#include <optional>
#include <string>

#include "commands/command_entry.hpp"
#include "common/ranks/communicator.hpp"
#include "common/ranks/silo_job.hpp"
#include "methods/fit_options.hpp"

namespace dpreduce {

/// Network options of the party, beside the fit.
struct NetworkOptions {
  std::string address;                 ///< where the coordinator listens, and silos dial
  std::string proxy;                   ///< HTTP proxy on a silo's way to the coordinator; empty: none
  std::optional<double> wait_seconds;  ///< for the full roster, at the coordinator; empty: for ever
  double run_timeout_seconds = 86'400;
  std::string health;  ///< a file for supervisors; empty: none
};

struct NetworkParty {
  PartyRole role = PartyRole::kSilo;
  FitOptions fit;  ///< validated; of an evaluation as it was asked, with the bytes of its models
  NetworkOptions network;

  /// Takes part in one run, from the first call to the farewell, in a session of `maker`. Throws what the run ends
  /// with, which is in the party's log as well.
  void operator()(Communicator& alone, const SessionMaker& maker = {}) const;
};

/// Returns the command of that role, with all of its options.
CommandEntry network_command(PartyRole role, const char* name, const char* help, const char* examples);

}  // namespace dpreduce
