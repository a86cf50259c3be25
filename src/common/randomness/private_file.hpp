// Files that are their owner's alone: noise keys, identities.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

#include "dpreduce/randomness/secure_bytes.hpp"

namespace dpreduce {

/// The file's content, or its first `most` + 1 bytes where it has more; nothing where there is no such file. Throws
/// BadInput naming option and path where it is no regular file, where others than its owner may use it, or where it
/// cannot be read.
std::optional<SecretVector<std::byte>> read_private_file(const std::filesystem::path& path, std::string_view option,
                                                         std::size_t most);

}  // namespace dpreduce
