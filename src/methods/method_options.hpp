// Options of training: the method, and what methods take.
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
inline constexpr std::array spellings<Objective>{std::pair{std::string_view{"accuracy"}, Objective::kAccuracy},
                                                 std::pair{std::string_view{"balanced"}, Objective::kBalanced}};

/// Weights that training rounds end in.
enum class Iterate {
  kLast,    ///< W_T
  kAverage  ///< (W_1 + ... + W_T) / T
};
template <>
inline constexpr std::array spellings<Iterate>{std::pair{std::string_view{"last"}, Iterate::kLast},
                                               std::pair{std::string_view{"average"}, Iterate::kAverage}};

/// Options of all methods. Which method takes which option, and with what default, is declared with the methods
/// (registry.hpp). Where an option is empty, the method has its own value.
struct MethodOptions {
  std::string name = "auto";
  std::string asked{};  ///< the name that was asked for, where another method was chosen for it and reports say so
  Objective objective = Objective::kAccuracy;
  Metric metric = Metric::kCosine;
  bool adaptive = false;                   ///< the choice that a method makes by public knowledge was asked for by name
  std::optional<double> expected_rows{};   ///< about how many training rows there are, where that is public
  std::optional<double> smallest_share{};  ///< of rows in the smallest class, where that is public; empty: 1 / K
  std::optional<std::size_t> top_k{};      ///< prototypes of a class
  std::optional<double> d_min{};           ///< 1 + cos counts from here on
  std::optional<double> d_max{};           ///< and up to here
  std::optional<double> gram_share{};      ///< of mu^2, for the Gram matrix
  std::optional<double> isotropy_share{};  ///< of mu^2, to decide between class means and rounds; empty: rounds
  bool shared_gram = false;                ///< one Gram matrix for all classes
  std::optional<double> alpha{};           ///< weight of all rows beside a class's own
  std::optional<double> lambda{};          ///< ridge, in feature units squared; empty: from the noise
  std::optional<std::uint64_t> rounds{};   ///< of training
  std::optional<std::uint64_t> local_steps{};  ///< of a silo, in a round
  std::optional<double> batch{};               ///< sampling rate of a row in a round, below 1; empty: all rows
  std::optional<Loss> loss{};  ///< of training rounds; empty: softmax, or sigmoid for rows of several classes
  std::optional<double> learning_rate{};     ///< empty: chosen by public knowledge and noised values
  std::optional<double> radius{};            ///< Frobenius norm that W is kept within; empty: none
  std::optional<Iterate> iterate{};          ///< of training rounds; empty: the last
  bool warm_start = false;                   ///< class means first, as a second head
  std::optional<double> warm_start_share{};  ///< of mu^2, for those means
  bool choose = false;                       ///< among candidates that one release gives
  std::optional<double> choose_share{};      ///< of mu^2, where training rows decide
  bool operator==(const MethodOptions&) const = default;
};

DPREDUCE_ARCHIVE(MethodOptions, name, asked, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min,
                 d_max, gram_share, isotropy_share, shared_gram, alpha, lambda, rounds, local_steps, batch, loss,
                 learning_rate, radius, iterate, warm_start, warm_start_share, choose, choose_share)

}  // namespace dpreduce
