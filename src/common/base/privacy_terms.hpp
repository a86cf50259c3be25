// Terms of a privacy guarantee that a user chooses, with one spelling each, and the reasons that forfeit it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/described_types.hpp"

namespace dpreduce {

// The terms of a privacy guarantee that a user chooses, with the one spelling of each.

/// Definition of neighboring data sets.
enum class Adjacency {
  kAddRemove,  ///< one record more or less
  kReplaceOne  ///< one record exchanged for another
};
template <>
inline constexpr auto spellings<Adjacency> = spelled<Adjacency>("add-remove", "replace-one");

/// Unit whose presence a guarantee hides.
enum class PrivacyUnit {
  kRecord,  ///< one row
  kPerson   ///< all rows of one person
};
template <>
inline constexpr auto spellings<PrivacyUnit> = spelled<PrivacyUnit>("record", "person");

/// Parties that add noise to a sum.
enum class NoiseSource {
  kCentral,     ///< the coordinator, all of it
  kDistributed  ///< each silo its share
};
template <>
inline constexpr auto spellings<NoiseSource> = spelled<NoiseSource>("central", "distributed");

/// Mechanism that chooses one of several candidates privately. Ledger lines name it.
enum class SelectionMechanism {
  kExponential,
  kPermuteAndFlip  ///< only on lines of earlier versions, which count as pure epsilon-DP; no run draws it
};
template <>
inline constexpr auto spellings<SelectionMechanism> = spelled<SelectionMechanism>("exponential", "permute-and-flip");

// Reasons why a run with noise is still not private, and inputs that the user declared public. Every file of the run
// has both.

enum class Forfeit {
  kSeed,             ///< whoever knows the seed computes the noise
  kClassesFromRows,  ///< what must be public was taken from the training rows: which classes there are
  kModel             ///< a model was evaluated that promises nothing of its rows, or nothing to their persons
};

template <>
inline constexpr auto spellings<Forfeit> = spelled<Forfeit>("seed", "classes-from-rows", "model");

using Forfeits = std::vector<Forfeit>;

/// Inputs that the user declared public: nothing protects their content.
enum class PublicByWord { kPublicX, kValidationX, kModel };

template <>
inline constexpr auto spellings<PublicByWord> = spelled<PublicByWord>("public_x", "validation_x", "model");

/// The reason in words, with what to do.
std::string_view reason_of(Forfeit forfeit);

/// The reasons other than a seed. Lines of ledgers and model files list only these: if they list none, the reason was
/// the seed.
Forfeits beside_seed(const Forfeits& forfeits);

/// Adds those of `others` that are missing.
void add(Forfeits& forfeits, const Forfeits& others);

/// "seeded, classes from rows": for a place with little room. Without forfeits "seeded", as said above.
std::string words_of(const Forfeits& forfeits);

/// The list of their spellings.
template <typename Json>
Json forfeits_json(const Forfeits& forfeits) {
  Json list = Json::array();
  for (const Forfeit forfeit : forfeits) list.push_back(to_string(forfeit));
  return list;
}

}  // namespace dpreduce
