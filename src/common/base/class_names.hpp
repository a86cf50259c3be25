// Names of classes. Their list is public: name k is that of class k, and the list never comes from rows.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dpreduce {

/// What is wrong with a name, as in "is empty"; nothing where it may stand for a class. A name is UTF-8 without control
/// characters (tabs and ends of lines separate names), neither begins nor ends with a space, and has 1 to 1000 bytes.
std::string class_name_fault(std::string_view name);

/// Throws UsageError where a name has a flaw or is that of two classes, or where there are names, but not as many as
/// `classes`.
void require_class_names(std::span<const std::string> names, std::size_t classes);

/// The name of class k where there are names, else its number.
std::string name_of_class(std::span<const std::string> names, std::size_t k);

}  // namespace dpreduce
