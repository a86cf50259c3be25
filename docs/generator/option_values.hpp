// What may follow an option, as a shell that completes words needs to know it.
#pragma once

#include <string>
#include <vector>

#include "common/base/option_table.hpp"

namespace dpreduce {

enum class ValueKind { kNone, kFile, kFolder, kChoice, kOther };

/// By the type that help shows: FILE, DIR, or words with bars between them.
ValueKind value_kind(const Option& option);

/// "none", "dp": the words of a choice; those in capitals stand for a value ("NUMBER|auto") and are left out.
std::vector<std::string> choices_of(const Option& option);

/// "--test-x", "--x" where `has_dashes`; else the names of an option that need not be named.
std::vector<std::string> names_of(const Option& option, bool has_dashes);

}  // namespace dpreduce
