// Stored strings as UTF-8.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/data/dtype.hpp"

namespace dpreduce {

/// The text of one element of strings, without the zeros that fill it up. Bytes are taken as they are; what is no code
/// point becomes U+FFFD. The result lies in `element` or in `buffer`. Preconditions (asserted): is_string(dtype); of
/// kUnicode whole code points.
std::string_view stored_name(std::span<const std::byte> element, DType dtype, ByteOrder order, std::string& buffer);

}  // namespace dpreduce
