#include "common/base/public_names.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLongestName = 1000;  // bytes

}  // namespace

std::string class_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kLongestName) return fmt::format("is longer than {} bytes", kLongestName);
  if (!is_utf8(name)) return "is not UTF-8 text";
  if (name.front() == ' ' || name.back() == ' ') return "begins or ends with a space";
  while (!name.empty()) {
    if (is_control(take_code_point(name))) return "holds a tab or another control character";
  }
  return "";
}

void require_class_names(std::span<const std::string> names, std::size_t classes) {
  if (!names.empty() && names.size() != classes) {
    throw UsageError(
        "class names: there are {} for {} classes; --class-names and --classes must agree, or leave --classes "
        "out",
        names.size(), classes);
  }
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (const std::string flaw = class_name_fault(names[k]); !flaw.empty()) {
      throw UsageError("class names: {}, the name of class {}, {}", in_quotes(names[k]), k, flaw);
    }
    const auto [other, is_new] = seen.emplace(names[k], k);
    if (is_new) continue;
    throw UsageError("class names: {} names both class {} and class {}", in_quotes(names[k]), other->second, k);
  }
}

std::string name_of_class(std::span<const std::string> names, std::size_t k) {
  return names.empty() ? fmt::format("{}", k) : names[k];
}

void require_feature_names(std::span<const std::string> names, std::size_t features) {
  if (!names.empty() && names.size() != features) {
    throw UsageError("names of features: there are {} for {} features; name all or none", names.size(), features);
  }
  const auto wrong = std::ranges::find_if_not(names, [](const std::string& name) { return is_utf8(name); });
  if (wrong == names.end()) return;
  throw UsageError("names of features: the name of feature {} is not UTF-8 text", wrong - names.begin());
}

void require_same_features(std::span<const std::string> names, std::span<const std::string> expected,
                           std::string_view whose, std::string_view where) {
  constexpr const char* kWhatToDo = "give the same columns in the same order everywhere";
  if (names.empty() != expected.empty()) {
    throw BadInput("{}: columns have {}, but {} they have {}; {}", whose, names.empty() ? "no names" : "names", where,
                   names.empty() ? "names" : "none", kWhatToDo);
  }
  const auto [own, other] = std::ranges::mismatch(names, expected);
  if (own != names.end() && other != expected.end()) {
    throw BadInput("{}: column {} is {}, but {} it is {}; {}", whose, own - names.begin(), in_quotes(*own), where,
                   in_quotes(*other), kWhatToDo);
  }
  if (names.size() == expected.size()) return;
  throw BadInput("{}: there are {} columns, but {} {}; {}", whose, names.size(), where, expected.size(), kWhatToDo);
}

}  // namespace dpreduce
