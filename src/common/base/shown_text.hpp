// Text of another party, fit to be shown on a terminal and in a line of a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dpreduce {

/// The first `most` bytes of `text`; what is no printable ASCII as a question mark.
std::string shown_text(std::string_view text, std::size_t most);

}  // namespace dpreduce
