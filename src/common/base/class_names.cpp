#include "common/base/class_names.hpp"

#include <unordered_map>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLongestName = 1000;  // bytes

}  // namespace

std::string class_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kLongestName) return fmt::format("is longer than {} bytes", kLongestName);
  if (!is_utf8(name)) return "is no UTF-8 text";
  if (name.front() == ' ' || name.back() == ' ') return "begins or ends with a space";
  while (!name.empty()) {
    if (is_control(take_code_point(name))) return "holds a tab or another control character";
  }
  return "";
}

void require_class_names(std::span<const std::string> names, std::size_t classes) {
  if (!names.empty() && names.size() != classes) {
    throw UsageError(fmt::format(
        "class names: there are {} for {} classes; --class-names and --classes must agree, or leave --classes "
        "out",
        names.size(), classes));
  }
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (const std::string flaw = class_name_fault(names[k]); !flaw.empty()) {
      throw UsageError(fmt::format("class names: {}, that of class {}, {}", in_quotes(names[k]), k, flaw));
    }
    const auto [other, is_new] = seen.emplace(names[k], k);
    if (is_new) continue;
    throw UsageError(
        fmt::format("class names: {} is that of class {} and of class {}", in_quotes(names[k]), other->second, k));
  }
}

std::string name_of_class(std::span<const std::string> names, std::size_t k) {
  return names.empty() ? fmt::format("{}", k) : names[k];
}

}  // namespace dpreduce
