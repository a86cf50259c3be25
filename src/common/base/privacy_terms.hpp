// The terms of a privacy guarantee that a user chooses, with the one spelling of each.
#pragma once

#include "common/base/spelling.hpp"

namespace dpreduce {

/// Which data sets are neighbors.
enum class Adjacency {
  kAddRemove,  ///< one record more or less
  kReplaceOne  ///< one record exchanged for another
};
template <>
inline constexpr std::array spellings<Adjacency>{std::pair{std::string_view{"add-remove"}, Adjacency::kAddRemove},
                                                 std::pair{std::string_view{"replace-one"}, Adjacency::kReplaceOne}};

/// Whose presence a guarantee hides.
enum class PrivacyUnit {
  kRecord,  ///< one row
  kPerson   ///< all rows of one person
};
template <>
inline constexpr std::array spellings<PrivacyUnit>{std::pair{std::string_view{"record"}, PrivacyUnit::kRecord},
                                                   std::pair{std::string_view{"person"}, PrivacyUnit::kPerson}};

/// Who adds noise to a sum.
enum class NoiseSource {
  kCentral,     ///< the coordinator, all of it
  kDistributed  ///< each silo its share
};
template <>
inline constexpr std::array spellings<NoiseSource>{
    std::pair{std::string_view{"central"}, NoiseSource::kCentral},
    std::pair{std::string_view{"distributed"}, NoiseSource::kDistributed}};

/// How one of several candidates is chosen privately. Ledger lines name it.
enum class SelectionMechanism {
  kExponential,
  kPermuteAndFlip  ///< only on lines of earlier versions, which count as pure epsilon-DP; no run draws it
};
template <>
inline constexpr std::array spellings<SelectionMechanism>{
    std::pair{std::string_view{"exponential"}, SelectionMechanism::kExponential},
    std::pair{std::string_view{"permute-and-flip"}, SelectionMechanism::kPermuteAndFlip}};

}  // namespace dpreduce
