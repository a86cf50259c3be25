// Versions of the program: its own, and their order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace dpreduce {

/// The program's version, as in --version and in every file that it writes.
std::string version();

// Versions of the program in their order: as numbers, so that 0.10 is after 0.9.2.

using VersionNumbers = std::array<unsigned, 4>;

/// The numbers of "1.2.0", with zeros behind them; nothing where the text is not one to four numbers with dots between.
std::optional<VersionNumbers> version_numbers(std::string_view text);

}  // namespace dpreduce
