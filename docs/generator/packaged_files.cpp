// packaged_files FOLDER DATE: writes manual pages and completions below FOLDER; DATE, YYYY-MM-DD, stands on the pages.
#include "docs/generator/packaged_files.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "commands/commands.hpp"

namespace {

void write(const std::filesystem::path& folder, const dpreduce::PackagedFile& packaged) {
  const std::filesystem::path path = folder / packaged.path;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << packaged.text;
  if (!file.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", path.string()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: packaged_files FOLDER DATE\n");
    return 2;
  }
  try {
    const dpreduce::CommandEntry root = dpreduce::dpreduce_command();
    for (const auto& page : dpreduce::manual_pages(root, argv[2])) write(argv[1], page);
    write(argv[1], dpreduce::bash_completion(root));
    write(argv[1], dpreduce::zsh_completion(root));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "packaged_files: %s\n", error.what());
    return 1;
  }
}
