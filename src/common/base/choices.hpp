// The closed sets of choices on the command line, in model files and in reports, with the one spelling of each.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dpreduce {

enum class OutputFormat { kText, kJson };
/// What --method auto is to be best at.
enum class Objective {
  kAccuracy,  ///< over rows
  kBalanced   ///< over classes, however large each is
};
/// How a row is compared with a class mean.
enum class Metric {
  kCosine,    ///< nearest direction; needs class sums only
  kEuclidean  ///< nearest center; needs class sums and counts
};
/// What training rounds descend on; z_c are a row's scores, y its label as a one-hot vector.
enum class Loss {
  kSoftmax,  ///< residual softmax(z) - y
  kSigmoid,  ///< residual 1 / (1 + exp(-z_c)) - y_c
  kSquare    ///< residual z - y
};
/// Which weights training rounds end in.
enum class Iterate {
  kLast,    ///< W_T
  kAverage  ///< (W_1 + ... + W_T) / T
};
/// What a row is centered by before its (second) scaling to the clip norm.
enum class Centering {
  kNone,
  kDp,      ///< the mean of the training rows, released with noise
  kPublic,  ///< the mean of the public rows
  kMoments  ///< nothing; the method's own release holds the noised mean as well
};
/// By what features are ranked: the sum over pairs of classes of the distance between their means.
enum class SelectBy {
  kDistance,
  kT  ///< over the standard deviation within classes
};
enum class Normalize {
  kL2,   ///< every row is scaled to norm C
  kNone  ///< rows longer than C are scaled down to C
};
/// What happens to a row with a NaN or an infinity.
enum class BadRows {
  kFail,  ///< the run stops at the rank that holds it
  kZero   ///< it counts nowhere
};
/// Which data sets are neighbors.
enum class Adjacency {
  kAddRemove,  ///< one record more or less
  kReplaceOne  ///< one record exchanged for another
};
/// Whose presence a guarantee hides.
enum class PrivacyUnit {
  kRecord,  ///< one row
  kPerson   ///< all rows of one person
};
/// How a person's rows are held to what so many rows may add.
enum class PersonBound {
  kWeight,  ///< each counts for less, whatever they are
  kClip     ///< their sum is scaled down where it is longer
};
/// Which conversion links (epsilon, delta) with the noise of Gaussian releases.
///
/// kGdp: exact. kPld: the same, since the privacy loss of Gaussian releases is Gaussian and its exact conversion is the
/// GDP one. kZcdp: the tight zCDP conversion. kRdp: the same, since Gaussian releases have Renyi divergence alpha rho
/// at every real order alpha, and the best order is the tight conversion's.
enum class Accountant { kGdp, kZcdp, kRdp, kPld };
/// Who adds noise to a sum.
enum class NoiseSource {
  kCentral,     ///< the coordinator, all of it
  kDistributed  ///< each silo its share
};
/// How one of several candidates is chosen privately. Ledger lines name it.
enum class SelectionMechanism { kExponential, kPermuteAndFlip };
/// Where synthetic class means lie: a simplex equiangular tight frame, or anywhere on a sphere.
enum class ClassMeans { kNeuralCollapse, kGaussianMixture };
/// How the rows of one data set are spread over simulated silos.
enum class Partition {
  kIid,          ///< evenly, at random
  kDirichlet,    ///< the rows of each class in shares drawn from a Dirichlet distribution
  kClasses,      ///< each silo holds rows of a few classes only
  kQuantity,     ///< at random, the silos' sizes in shares drawn from a Dirichlet distribution
  kFeatureShift  ///< evenly, at random; each silo's rows are rotated and moved by a transformation of its own
};

/// spellings<E>: every value of E with its spelling, in the order in which help lists them.
template <typename E>
inline constexpr auto spellings = std::array<std::pair<std::string_view, E>, 0>{};

template <>
inline constexpr std::array spellings<OutputFormat>{std::pair{std::string_view{"text"}, OutputFormat::kText},
                                                    std::pair{std::string_view{"json"}, OutputFormat::kJson}};
template <>
inline constexpr std::array spellings<Objective>{std::pair{std::string_view{"accuracy"}, Objective::kAccuracy},
                                                 std::pair{std::string_view{"balanced"}, Objective::kBalanced}};
template <>
inline constexpr std::array spellings<Metric>{std::pair{std::string_view{"cosine"}, Metric::kCosine},
                                              std::pair{std::string_view{"euclidean"}, Metric::kEuclidean}};
template <>
inline constexpr std::array spellings<Loss>{std::pair{std::string_view{"softmax"}, Loss::kSoftmax},
                                            std::pair{std::string_view{"sigmoid"}, Loss::kSigmoid},
                                            std::pair{std::string_view{"square"}, Loss::kSquare}};
template <>
inline constexpr std::array spellings<Iterate>{std::pair{std::string_view{"last"}, Iterate::kLast},
                                               std::pair{std::string_view{"average"}, Iterate::kAverage}};
template <>
inline constexpr std::array spellings<Centering>{std::pair{std::string_view{"none"}, Centering::kNone},
                                                 std::pair{std::string_view{"dp"}, Centering::kDp},
                                                 std::pair{std::string_view{"public"}, Centering::kPublic},
                                                 std::pair{std::string_view{"moments"}, Centering::kMoments}};
template <>
inline constexpr std::array spellings<SelectBy>{std::pair{std::string_view{"distance"}, SelectBy::kDistance},
                                                std::pair{std::string_view{"t"}, SelectBy::kT}};
template <>
inline constexpr std::array spellings<Normalize>{std::pair{std::string_view{"l2"}, Normalize::kL2},
                                                 std::pair{std::string_view{"none"}, Normalize::kNone}};
template <>
inline constexpr std::array spellings<BadRows>{std::pair{std::string_view{"fail"}, BadRows::kFail},
                                               std::pair{std::string_view{"zero"}, BadRows::kZero}};
template <>
inline constexpr std::array spellings<Adjacency>{std::pair{std::string_view{"add-remove"}, Adjacency::kAddRemove},
                                                 std::pair{std::string_view{"replace-one"}, Adjacency::kReplaceOne}};
template <>
inline constexpr std::array spellings<Accountant>{
    std::pair{std::string_view{"gdp"}, Accountant::kGdp}, std::pair{std::string_view{"zcdp"}, Accountant::kZcdp},
    std::pair{std::string_view{"rdp"}, Accountant::kRdp}, std::pair{std::string_view{"pld"}, Accountant::kPld}};
template <>
inline constexpr std::array spellings<PrivacyUnit>{std::pair{std::string_view{"record"}, PrivacyUnit::kRecord},
                                                   std::pair{std::string_view{"person"}, PrivacyUnit::kPerson}};
template <>
inline constexpr std::array spellings<PersonBound>{std::pair{std::string_view{"weight"}, PersonBound::kWeight},
                                                   std::pair{std::string_view{"clip"}, PersonBound::kClip}};
template <>
inline constexpr std::array spellings<NoiseSource>{
    std::pair{std::string_view{"central"}, NoiseSource::kCentral},
    std::pair{std::string_view{"distributed"}, NoiseSource::kDistributed}};
template <>
inline constexpr std::array spellings<SelectionMechanism>{
    std::pair{std::string_view{"exponential"}, SelectionMechanism::kExponential},
    std::pair{std::string_view{"permute-and-flip"}, SelectionMechanism::kPermuteAndFlip}};
template <>
inline constexpr std::array spellings<ClassMeans>{
    std::pair{std::string_view{"neural-collapse"}, ClassMeans::kNeuralCollapse},
    std::pair{std::string_view{"gaussian-mixture"}, ClassMeans::kGaussianMixture}};
template <>
inline constexpr std::array spellings<Partition>{
    std::pair{std::string_view{"iid"}, Partition::kIid},
    std::pair{std::string_view{"dirichlet"}, Partition::kDirichlet},
    std::pair{std::string_view{"classes"}, Partition::kClasses},
    std::pair{std::string_view{"quantity"}, Partition::kQuantity},
    std::pair{std::string_view{"feature-shift"}, Partition::kFeatureShift}};

template <typename E>
requires std::is_enum_v<E>
constexpr std::string_view to_string(E choice) {
  for (const auto& [spelling, value] : spellings<E>) {
    if (value == choice) return spelling;
  }
  return "unknown";
}

/// The choice of this spelling, or nothing.
template <typename E>
constexpr std::optional<E> choice_of(std::string_view text) {
  for (const auto& [spelling, value] : spellings<E>) {
    if (spelling == text) return value;
  }
  return std::nullopt;
}

}  // namespace dpreduce
