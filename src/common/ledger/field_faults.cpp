#include "common/ledger/field_faults.hpp"

#include <cmath>

#include "common/accounting/argument_checks.hpp"
#include "common/accounting/mechanism.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kOfRunIds = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::string_view kOfNames = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:+/@- ";

bool consists_of(std::string_view text, std::string_view allowed, std::size_t longest) {
  return !text.empty() && text.size() <= longest && text.find_first_not_of(allowed) == std::string_view::npos;
}

}  // namespace

bool is_lower_hex(std::string_view text, std::size_t shortest, std::size_t longest) {
  return text.size() >= shortest && text.size() <= longest &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string name_fault(const std::string& field, const std::string& value) {
  if (consists_of(value, kOfNames, 128)) return {};
  return field + " must be 1 to 128 letters, digits, spaces or . _ : + / @ -";
}

std::string run_id_fault(const std::string& field, const std::string& value) {
  if (consists_of(value, kOfRunIds, 64) && value != "." && value != "..") return {};
  return field + " must be 1 to 64 letters, digits or . _ -";
}

std::string digest_fault(const std::string& field, const std::string& value) {
  if (is_lower_hex(value, 16, 128)) return {};
  return field + " must be 16 to 128 lower-case hex digits";
}

std::string positive_fault(const std::string& field, double value) {
  if (value > 0 && std::isfinite(value)) return {};
  return field + " = " + print_number(value) + " must be a finite number greater than 0";
}

std::string mu_fault(double mu) {
  if (std::string fault = positive_fault("mu", mu); !fault.empty()) return fault;
  return positive_fault("rho = mu^2 / 2", mu * mu / 2);
}

std::string sampling_rate_fault(double rate) {
  if (!(rate >= kSmallestSamplingRate && rate <= 1)) {
    return "sampling rate = " + print_number(rate) + " must be from " + print_number(kSmallestSamplingRate) + " to 1";
  }
  return {};
}

}  // namespace dpreduce
