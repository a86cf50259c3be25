// Options of training: the method, and the options that methods take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/described_types.hpp"
#include "common/ledger/loss.hpp"
#include "common/ledger/metric.hpp"

namespace dpreduce {

/// Measure that --method auto optimizes.
enum class Objective {
  kAccuracy,  ///< over rows
  kBalanced   ///< over classes, however large each is
};
template <>
inline constexpr auto spellings<Objective> = spelled<Objective>("accuracy", "balanced");

/// Weights that training rounds end in.
enum class Iterate {
  kLast,    ///< W_T
  kAverage  ///< (W_1 + ... + W_T) / T
};
template <>
inline constexpr auto spellings<Iterate> = spelled<Iterate>("last", "average");

/// Options of all methods. The methods declare which of them takes which option, and with what default (registry.hpp).
/// If an option is nullopt, the method has its own value.
struct MethodOptions {
  std::string name = "auto";
  std::string asked{};  ///< requested name, if another method was chosen for it and reports say so
  Objective objective = Objective::kAccuracy;
  Metric metric = Metric::kCosine;
  bool adaptive = false;                   ///< the choice that a method makes by public knowledge was requested by name
  std::optional<double> expected_rows{};   ///< approximate number of training rows, if that is public
  std::optional<double> smallest_share{};  ///< of rows in the smallest class, if that is public; nullopt: 1 / K
  std::optional<std::size_t> top_k{};      ///< prototypes of a class
  std::optional<double> d_min{};           ///< lower bound of 1 + cos
  std::optional<double> d_max{};           ///< upper bound of 1 + cos
  std::optional<double> gram_share{};      ///< of mu^2, for the Gram matrix
  std::optional<double> isotropy_share{};  ///< of mu^2, to decide between class means and rounds; nullopt: rounds
  bool shared_gram = false;                ///< one Gram matrix for all classes
  std::optional<double> alpha{};           ///< weight of all rows relative to a class's own
  std::optional<double> lambda{};          ///< ridge, in feature units squared; nullopt: from the noise
  std::optional<std::uint64_t> rounds{};   ///< of training
  std::optional<std::uint64_t> local_steps{};  ///< of a silo, in a round
  std::optional<double> batch{};               ///< sampling rate of a row in a round, below 1; nullopt: all rows
  std::optional<Loss> loss{};  ///< of training rounds; nullopt: softmax, or sigmoid for rows of several classes
  std::optional<double> learning_rate{};     ///< nullopt: chosen by public knowledge and noised values
  std::optional<double> radius{};            ///< Frobenius norm that bounds W; nullopt: none
  std::optional<Iterate> iterate{};          ///< of training rounds; nullopt: the last
  bool warm_start = false;                   ///< class means first, as a second head
  std::optional<double> warm_start_share{};  ///< of mu^2, for those means
  bool choose = false;                       ///< among candidates that one release gives
  std::optional<double> choose_share{};      ///< of mu^2, if training rows decide
  bool operator==(const MethodOptions&) const = default;
};

DPREDUCE_ARCHIVE(MethodOptions, name, asked, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min,
                 d_max, gram_share, isotropy_share, shared_gram, alpha, lambda, rounds, local_steps, batch, loss,
                 learning_rate, radius, iterate, warm_start, warm_start_share, choose, choose_share)

}  // namespace dpreduce
