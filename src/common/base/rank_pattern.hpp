// {rank} in a name: each rank then has a file of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dpreduce {

/// Whether `pattern` holds "{rank}".
bool has_rank(const std::string& pattern);
/// Whether any does.
bool has_rank(const std::vector<std::string>& patterns);

/// `pattern` with `rank` in the place of each "{rank}".
std::string with_rank(std::string pattern, std::size_t rank);

}  // namespace dpreduce
