// Names of classes to their numbers, for labels that are names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dpreduce {

class NamedClasses {
 public:
  /// Throws UsageError as check_class_names.
  explicit NamedClasses(std::vector<std::string> names);
  NamedClasses(const NamedClasses&) = delete;
  NamedClasses& operator=(const NamedClasses&) = delete;

  std::size_t size() const { return names_.size(); }

  /// The class of this name: byte for byte, so that a record's class depends on nothing but its label and the list.
  std::optional<std::int32_t> find(std::string_view name) const;

  /// Why a label is refused and what to do: "label "setoas", which is not in the list of classes; did you mean ...".
  std::string refusal(std::string_view label) const;

 private:
  bool is_set(std::string_view label) const;

  std::vector<std::string> names_;
  std::unordered_map<std::string_view, std::int32_t> classes_;  // of names_, which stay where they are
};

/// Null where there are no names.
std::shared_ptr<const NamedClasses> named_classes(const std::vector<std::string>& names);

}  // namespace dpreduce
