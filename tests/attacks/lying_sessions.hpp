// Sessions of parties that deviate: the fault of faulty_wire.hpp in their wire, their identity, or what they seal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ranks/silo_job.hpp"
#include "tests/attacks/faulty_wire.hpp"

namespace dpreduce {

/// Makes the sessions of a run in which one party has that fault, and all others none; no fault: none has.
class LyingSessions final : public SessionMaker {
 public:
  explicit LyingSessions(std::optional<Fault> fault, SelfHarm harm = harm_of_this_process())
      : fault_(fault), harm_(std::move(harm)) {}
  std::unique_ptr<CoordinatorSession> coordinator(Wire& wire, SiloEntry entry,
                                                  CoordinatorSession::OnLost on_lost) const override;
  std::unique_ptr<SiloSession> silo(Wire& wire, std::uint32_t number, SiloEntry entry) const override;

 private:
  std::optional<Fault> fault_;
  SelfHarm harm_;
};

/// Takes `--fault FAULT` out of the words, the last where there are several. Throws UsageError as parse_fault.
std::optional<Fault> take_fault(std::vector<std::string>& words);

}  // namespace dpreduce
