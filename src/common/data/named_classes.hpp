// Names of classes, their numbers, and the file that lists them: one name a line, UTF-8; line k + 1 names class k.
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
  /// Throws UsageError as require_class_names.
  explicit NamedClasses(std::vector<std::string> names);
  NamedClasses(const NamedClasses&) = delete;
  NamedClasses& operator=(const NamedClasses&) = delete;

  std::size_t size() const { return names_.size(); }

  /// The class of this name: byte for byte, so that a record's class depends on nothing but its label and the list.
  std::optional<std::int32_t> find(std::string_view name) const;

  /// The class of a cell of a text table. By its name, where a class has it. Else by its number, where the cell is
  /// one (usual_integer) and no name in the list is an integer other than its own place: an integer never stands for
  /// two classes.
  std::optional<std::int32_t> find_cell(std::string_view cell) const;

  /// Why a label is refused and what to do: "label "setoas", which is not in the list of classes; did you mean ...".
  std::string refusal(std::string_view label) const;

 private:
  bool is_set(std::string_view label) const;

  std::vector<std::string> names_;
  std::unordered_map<std::string_view, std::int32_t> classes_;  // of names_, which stay where they are
  bool has_misplaced_integers_ = false;                         // a name is an integer other than its place
};

/// Null where there are no names.
std::shared_ptr<const NamedClasses> named_classes(const std::vector<std::string>& names);

/// Larger files are refused: names travel in the header of a model.
inline constexpr std::size_t kLargestClassNamesFile = std::size_t{16} << 20;

/// The names in `text`. Lines end with \n or \r\n, the last one with or without; a byte order mark is left out. Throws
/// BadInput with `option`, `path` and the number of the line where a name has a flaw (class_name_fault) or stands in an
/// earlier line, and where there are fewer than two.
std::vector<std::string> parse_class_names(std::string_view text, const std::string& path,
                                           std::string_view option = "--class-names");

/// The same of a file. Throws BadInput also where it cannot be read, or is larger than kLargestClassNamesFile.
std::vector<std::string> read_class_names(const std::string& path, std::string_view option = "--class-names");

}  // namespace dpreduce
