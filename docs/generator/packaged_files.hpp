// What a package brings beside the program, made from the table that the command line is read by: manual pages, and
// completion for shells.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_entry.hpp"

namespace dpreduce {

struct PackagedFile {
  std::filesystem::path path;  ///< below share/
  std::string text;
};

/// A page of section 1 for `root` and for every command below it, "dpreduce-privacy-calibrate.1", in the macros of
/// man(7). `date` is that of the release, YYYY-MM-DD.
std::vector<PackagedFile> manual_pages(const CommandEntry& root, std::string_view date);

/// Completion in bash: commands, options, choices, files and folders. Needs no library of functions.
PackagedFile bash_completion(const CommandEntry& root);

/// The same in zsh, with a line on each option.
PackagedFile zsh_completion(const CommandEntry& root);

}  // namespace dpreduce
