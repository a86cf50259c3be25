// reference_pages FOLDER: writes the pages of the reference. reference_pages --check FOLDER: exits with 1, and names
// them, where pages differ from what it would write.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "docs/generator/pages.hpp"

namespace dpreduce {

std::string table_cell(const std::string& text) {
  std::string cell;
  for (const char character : text) {
    switch (character) {
      case '&':
        cell += "&amp;";
        break;
      case '<':
        cell += "&lt;";
        break;
      case '|':
        cell += "&#124;";
        break;
      case '\n':
        cell += ' ';
        break;
      default:
        cell += character;
    }
  }
  return cell;
}

std::string table_code(const std::string& text) {
  const std::string cell = table_cell(text);
  return cell == text ? fmt::format("`{}`", text) : fmt::format("<code>{}</code>", cell);
}

std::vector<Page> all_pages() {
  return {options_page(), methods_page()};
}

}  // namespace dpreduce

namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kBegin = "<!-- reference_pages: begin -->\n";
constexpr std::string_view kEnd = "<!-- reference_pages: end -->\n";

// The page as it should be.
std::string current(const dpreduce::Page& page, const std::string& now) {
  const std::size_t begin = now.find(kBegin);
  const std::size_t end = now.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw std::runtime_error(fmt::format("{}: the lines {}and {}are missing", page.path.string(), kBegin, kEnd));
  }
  return now.substr(0, begin + kBegin.size()) + '\n' + page.text + '\n' + now.substr(end);
}

bool write(const std::filesystem::path& folder) {
  for (const dpreduce::Page& page : dpreduce::all_pages()) {
    const std::string text = current(page, contents_of(folder / page.path));
    std::ofstream file(folder / page.path, std::ios::binary);
    file << text;
    if (!file.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", (folder / page.path).string()));
  }
  return true;
}

bool check(const std::filesystem::path& folder) {
  bool is_current = true;
  for (const dpreduce::Page& page : dpreduce::all_pages()) {
    const std::string now = contents_of(folder / page.path);
    if (now == current(page, now)) continue;
    std::fprintf(stderr, "%s is out of date: cmake --build build/release --target reference_pages writes it anew\n",
                 (folder / page.path).c_str());
    is_current = false;
  }
  return is_current;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string_view(argv[1]) == "--check") return check(argv[2]) ? 0 : 1;
    if (argc == 2) return write(argv[1]) ? 0 : 1;
    std::fprintf(stderr, "usage: reference_pages [--check] FOLDER\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reference_pages: %s\n", error.what());
    return 1;
  }
}
