// What a coordinator tells silos in an attempt at a sum, and by which protocol they answer.
#pragma once

#include <set>

#include "tests/common/silos/silo_parties.hpp"

namespace dpreduce {

/// What one silo is told in an attempt; an empty list: nothing any more, from there on.
struct Story {
  SiloList participants;   ///< U1
  SiloList sharing;        ///< U2
  SiloList summed;         ///< U3
  bool may_mask = true;    ///< it is shown what signatures there are on its U2
  bool may_reveal = true;  ///< likewise on its U3
  bool operator==(const Story&) const = default;
};

/// What is planted: each is a protocol that must be seen to fail.
enum class Protocol {
  kOurs,
  kNoAgreement,   ///< lists are not agreed on: the coordinator can sign for everybody
  kNoSelfMasks,   ///< y_u = x_u + the masks of pairs
  kBothSecrets,   ///< a reveal holds shares of both secrets of each silo
  kNoTranscript,  ///< no digest of the public values is signed with the lists
  kSignsAgain     ///< who has signed who is summed signs so in another attempt too
};

/// Who is who in a run.
struct Cast {
  const SiloParties& parties;
  std::set<std::uint32_t> colluding;  ///< they show the coordinator all they are given, and sign whatever it wants
  Protocol protocol = Protocol::kOurs;
};

}  // namespace dpreduce
