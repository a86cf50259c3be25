// The parties of a run among silos as forks of this process, which is the parent of all of them
// (common/ranks/party_process.hpp): no launcher starts, and no MPI.
#pragma once

#include <string>
#include <vector>

namespace dpreduce {

/// What each party is told, where mpirun starts `ranks` of them with these arguments, and more with arguments of their
/// own behind ":", "-n", a number and the path of this program. Nothing where another program takes part.
std::vector<std::vector<std::string>> arguments_of_parties(const std::vector<std::string>& arguments, int ranks);

/// Runs them all, each in a working process of its own, and returns the coordinator's exit code: 5 where it was killed.
/// In each of these processes it returns too, with the exit code of that party. Parties that go on for 5 seconds after
/// the coordinator has ended are killed.
int run_forked_parties(const std::vector<std::vector<std::string>>& arguments);

}  // namespace dpreduce
