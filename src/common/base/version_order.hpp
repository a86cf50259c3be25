// Versions of the program in their order: "0.10" is after "0.9.2".
#pragma once

#include <string>
#include <string_view>

namespace dpreduce {

/// Throws UsageError naming `key` unless `text` is one to four whole numbers with dots between them.
void require_version(std::string_view key, const std::string& text);

/// Whether `version` comes before `least`, number by number; what follows the numbers, as in "1.2-dev", does not count.
bool is_before(const std::string& version, const std::string& least);

}  // namespace dpreduce
