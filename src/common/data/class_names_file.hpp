// The list of classes as a file: one name a line, UTF-8; line k + 1 names class k.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dpreduce {

/// Larger files are refused: names travel in the header of a model.
inline constexpr std::size_t kLargestClassNamesFile = std::size_t{16} << 20;

/// The names in `text`. Lines end with \n or \r\n, the last one with or without; a byte order mark is left out. Throws
/// BadInput with `path` and the number of the line where a name has a flaw (flaw_of_class_name) or stands in an earlier
/// line, and where there are fewer than two.
std::vector<std::string> parse_class_names(std::string_view text, const std::string& path);

/// The same of a file. Throws BadInput also where it cannot be read, or is larger than kLargestClassNamesFile.
std::vector<std::string> read_class_names(const std::string& path);

}  // namespace dpreduce
