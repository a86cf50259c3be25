// The methods. A new one is a file of its own and a line in all_methods.inc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "methods/method_entry.hpp"

namespace dpreduce {

/// All methods, in the order in which help lists them.
std::span<const MethodEntry* const> all_methods();

/// The method of this name; null where there is none.
const MethodEntry* find_method(std::string_view name);

/// The method that `options` name. Throws UsageError with all names where there is none.
const MethodEntry& method_entry(const MethodOptions& options);

/// "a|b|c": all names.
std::string all_method_names();

/// "a, b or c": the methods that take this option.
std::string methods_that_take(std::string_view option);

/// "a, b or c": the methods for which `holds` does.
std::string methods_where(bool (*holds)(const MethodEntry& entry));

}  // namespace dpreduce
