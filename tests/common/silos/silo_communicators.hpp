// Communicators of a coordinator and its silos in one process, each in a thread of its own.
#pragma once

#include "common/ranks/communicator.hpp"
#include "common/ranks/silo_job.hpp"
#include "tests/common/silos/memory_wire.hpp"

namespace dpreduce {

/// `party` of each: it is told its number and what makes its communicator, on which all have agreed on a plan. One that
/// the fault kills ends there.
inline void run_among_silos(const SiloTerms& terms, const std::optional<Fault>& fault,
                            const std::function<void(std::uint32_t, const std::function<Communicator()>&)>& party) {
  MessageQueues queues(terms.silos + 1);
  const SiloRunPlan plan{.terms = terms, .timeout = std::chrono::milliseconds(20000)};
  const auto take_part = [&](std::uint32_t rank) {
    MemoryWire plain(queues, rank);
    const LyingSessions maker(fault, SelfHarm{[] { throw Killed(); }, [] { throw Killed(); }});
    try {
      party(rank, [&] {
        Communicator ranks = Communicator::among_silos(
            std::make_unique<SiloJob>(plain, static_cast<int>(rank), simulated_entry(plan), nullptr, maker),
            static_cast<int>(rank), static_cast<int>(terms.silos) + 1);
        ranks.silos()->agree_on_plan({});
        return ranks;
      });
    } catch (const Killed&) {
    }
    if (rank != 0) queues.post(0, {rank, {}, true});
    for (std::uint32_t silo = 1; rank == 0 && silo <= terms.silos; ++silo) queues.post(silo, {0, {}, true});
  };
  std::vector<std::thread> silos;
  for (std::uint32_t silo = 1; silo <= terms.silos; ++silo) silos.emplace_back(take_part, silo);
  take_part(0);
  for (std::thread& silo : silos) silo.join();
}

}  // namespace dpreduce
