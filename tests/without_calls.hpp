// File systems that lack something, played: some system calls fail as they do there.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/testing.hpp"

namespace dpreduce {

/// Runs `action` in a thread in which those calls do nothing and return `error_number`; 0: as if they had worked. False
/// where the machine allows no such thread.
template <typename Action>
bool run_without(const std::vector<unsigned>& calls, unsigned error_number, const Action& action) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  bool could = false;
  std::jthread([&] {
    could =
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (could) action();
  }).join();
  return could;
}

}  // namespace dpreduce
