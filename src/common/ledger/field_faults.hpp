// What a field of a ledger line may be. Each returns the fault, naming the field, or an empty text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/privacy_terms.hpp"

namespace dpreduce {

bool is_lower_hex(std::string_view text, std::size_t shortest, std::size_t longest);

/// 1 to 128 of A-Z a-z 0-9 . _ : + / @ - and space.
std::string fault_of_name(const std::string& field, const std::string& value);
/// 1 to 64 of A-Z a-z 0-9 . _ - : it names files, too. Not "." or "..".
std::string fault_of_run_id(const std::string& field, const std::string& value);
/// 16 to 128 lower-case hex digits.
std::string fault_of_digest(const std::string& field, const std::string& value);
/// Finite and above 0.
std::string fault_of_positive(const std::string& field, double value);
/// Finite and above 0, and so is its square's half.
std::string fault_of_mu(double mu);
/// From kSmallestSamplingRate to 1; below 1 under add-remove alone.
std::string fault_of_sampling_rate(double rate, Adjacency adjacency);

}  // namespace dpreduce
