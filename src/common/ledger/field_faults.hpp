// Checks of the fields of a ledger line. Each returns the fault, naming the field, or an empty text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dpreduce {

bool is_lower_hex(std::string_view text, std::size_t shortest, std::size_t longest);

/// Names have 1 to 128 of A-Z a-z 0-9 . _ : + / @ - and space.
std::string name_fault(const std::string& field, const std::string& value);
/// Run ids have 1 to 64 of A-Z a-z 0-9 . _ - and are not "." or "..": they name files, too.
std::string run_id_fault(const std::string& field, const std::string& value);
/// Digests have 16 to 128 lower-case hex digits.
std::string digest_fault(const std::string& field, const std::string& value);
/// Value finite and above 0.
std::string positive_fault(const std::string& field, double value);
/// mu finite and above 0, and so is its square's half.
std::string mu_fault(double mu);
/// Rate from kSmallestSamplingRate to 1; below 1 under add-remove alone.
std::string sampling_rate_fault(double rate);

}  // namespace dpreduce
