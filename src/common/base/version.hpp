// Which program this is.
#pragma once

#include <string>

namespace dpreduce {

/// The program's version, as in --version and in every file that it writes.
std::string version();

}  // namespace dpreduce
