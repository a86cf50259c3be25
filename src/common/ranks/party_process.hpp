// The party of a rank among silos, and its parent.
//
// Under --secure-aggregation every rank is two processes. The parent, which the launcher started, is the MPI process.
// The party, its child, computes, holds the keys, and speaks with the others over a wire of its own: MPI carries no
// message of a run. A party that is killed or hangs therefore leaves an MPI job that is whole: the run goes on, and the
// job ends with the coordinator's exit code.
//
//     parent -> party   rank, number of ranks, whether all are on one machine
//     party -> parent   a text, kJobExchanges times; parent -> party: those of all ranks
#pragma once

#include <array>
#include <functional>
#include <span>
#include <variant>

#include <sys/types.h>

#include "common/silos/wire.hpp"

namespace dpreduce {

/// Ends in a zero; without a text: the party has ended.
using JobText = std::array<char, kLongestJobText + 1>;

/// A party as its parent sees it.
class PartyProcess {
 public:
  /// Takes over the parent's end of a socket, which closes with this process, and a child of this process.
  PartyProcess(int socket, pid_t process) : socket_(socket), process_(process) {}

  void place(int rank, int size, bool is_on_one_machine);
  /// The party's text of an exchange. Waits for it.
  JobText text() const;
  void tell(std::span<const JobText> of_all) const;

  /// Returns true once, when the process has ended.
  bool notice_exit();
  bool has_exited() const { return has_exited_; }
  /// The exit code of the process that has ended; 5 where it was killed.
  int exit_code() const { return exit_code_; }
  /// The signal that killed it, or 0.
  int signal() const { return signal_; }
  void kill() const;

 private:
  int socket_;
  pid_t process_;
  bool has_exited_ = false;
  int exit_code_ = 0;
  int signal_ = 0;
};

/// Forks a party (fork_worker). Returns the process in this one, its parent; in the child what `party` returns, an exit
/// code. Returns one here too, after a line on standard error, where no child can be made.
std::variant<PartyProcess, int> fork_party(const std::function<int(const JobPlace&)>& party,
                                           void (*before_the_end)() noexcept);

}  // namespace dpreduce
