// Private files: identities, signing keys, files of runs. They belong to this user, with permissions exactly 0600.
//
// Errors are BadInput; they name `what` (an option, or "releases") and the path, and say what to do.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {

/// Returns the size of the open file: a regular file, owned by this process's effective user, with the permissions
/// 0600. Throws for any other.
std::size_t require_private(int file, const std::filesystem::path& path, std::string_view what);

/// The file's content, or its first `most` + 1 bytes where it has more; nothing where there is no such file. Throws
/// where it is not private (require_private), or where it cannot be read.
std::optional<SecretVector<std::byte>> read_private_file(const std::filesystem::path& path, std::string_view what,
                                                         std::size_t most);

/// Treatment of a file that has the name already.
enum class ExistingFile { kRefused, kWins };

/// Makes a file of these bytes, on the disk with its name when it returns: the name appears with all of them, or not at
/// all. Two processes that make one name make one file.
void make_private_file(const std::filesystem::path& path, std::string_view what, std::span<const std::byte> bytes,
                       ExistingFile existing);

/// Overwrites the file, syncs it, removes its name and syncs the folder. Returns whether there was one.
bool destroy_private_file(const std::filesystem::path& path, std::string_view what);

}  // namespace dpreduce
