#include "common/data/named_classes.hpp"

#include <utility>

#include <fmt/format.h>

#include "common/base/class_names.hpp"
#include "common/base/nearest_name.hpp"
#include "common/base/utf8.hpp"

namespace dpreduce {

NamedClasses::NamedClasses(std::vector<std::string> names) : names_(std::move(names)) {
  check_class_names(names_, names_.size());
  for (std::size_t k = 0; k < names_.size(); ++k) classes_.emplace(names_[k], static_cast<std::int32_t>(k));
}

std::optional<std::int32_t> NamedClasses::find(std::string_view name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? std::nullopt : std::optional(found->second);
}

// Whether a label lists several names of classes.
bool NamedClasses::is_set(std::string_view label) const {
  constexpr std::string_view kSeparators = ",;| ";
  std::size_t parts = 0;
  while (!label.empty()) {
    const std::size_t end = std::min(label.find_first_of(kSeparators), label.size());
    if (end > 0 && !find(label.substr(0, end))) return false;
    parts += end > 0 ? 1 : 0;
    label.remove_prefix(std::min(end + 1, label.size()));
  }
  return parts > 1;
}

std::string NamedClasses::refusal(std::string_view label) const {
  if (is_set(label)) {
    return fmt::format(
        "label {}, which names several classes; a label is one name: for rows of several classes give zeros and ones, "
        "n x {}",
        in_quotes(label), size());
  }
  const std::string nearest = nearest_name(label, names_);
  return fmt::format("label {}, which is not in the list of classes{}; correct it, or add it to --class-names",
                     in_quotes(label), nearest.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(nearest)));
}

std::shared_ptr<const NamedClasses> named_classes(const std::vector<std::string>& names) {
  return names.empty() ? nullptr : std::make_shared<const NamedClasses>(names);
}

}  // namespace dpreduce
