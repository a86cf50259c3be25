// How (epsilon, delta) and noise are converted.
#pragma once

#include "common/base/spelling.hpp"

namespace dpreduce {

/// Which conversion links (epsilon, delta) with the noise of Gaussian releases.
///
/// kGdp: exact. kPld: the same, since the privacy loss of Gaussian releases is Gaussian and its exact conversion is the
/// GDP one. kZcdp: the tight zCDP conversion. kRdp: the same, since Gaussian releases have Renyi divergence alpha rho
/// at every real order alpha, and the best order is the tight conversion's.
enum class Accountant { kGdp, kZcdp, kRdp, kPld };
template <>
inline constexpr std::array spellings<Accountant>{
    std::pair{std::string_view{"gdp"}, Accountant::kGdp}, std::pair{std::string_view{"zcdp"}, Accountant::kZcdp},
    std::pair{std::string_view{"rdp"}, Accountant::kRdp}, std::pair{std::string_view{"pld"}, Accountant::kPld}};

}  // namespace dpreduce
