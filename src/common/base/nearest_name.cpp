#include "common/base/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

namespace dpreduce {
namespace {

constexpr std::size_t kMostEdits = 2;
constexpr std::size_t kCharactersAnEdit = 3;

bool is_same_letter(char first, char second) {
  return std::tolower(static_cast<unsigned char>(first)) == std::tolower(static_cast<unsigned char>(second));
}

bool begins_with(std::string_view name, std::string_view start) {
  return name.size() >= start.size() && std::equal(start.begin(), start.end(), name.begin(), is_same_letter);
}

}  // namespace

std::size_t edits_between(std::string_view first, std::string_view second) {
  // rows[a][b]: edits between the first a characters of one and the first b of the other; the last three rows.
  std::vector<std::size_t> before(second.size() + 1), last(second.size() + 1), now(second.size() + 1);
  for (std::size_t b = 0; b <= second.size(); ++b) last[b] = b;
  for (std::size_t a = 1; a <= first.size(); ++a) {
    now[0] = a;
    for (std::size_t b = 1; b <= second.size(); ++b) {
      const bool is_same = is_same_letter(first[a - 1], second[b - 1]);
      now[b] = std::min({last[b] + 1, now[b - 1] + 1, last[b - 1] + (is_same ? 0 : 1)});
      const bool is_swap =
          a > 1 && b > 1 && is_same_letter(first[a - 1], second[b - 2]) && is_same_letter(first[a - 2], second[b - 1]);
      if (is_swap) now[b] = std::min(now[b], before[b - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[second.size()];
}

std::string nearest_name(std::string_view typed, std::span<const std::string> names) {
  const std::size_t most = std::min(kMostEdits, typed.size() / kCharactersAnEdit);
  std::string nearest;
  std::size_t fewest = most + 1;
  for (const std::string& name : names) {
    const std::size_t edits = edits_between(typed, name);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = name;
  }
  if (!nearest.empty()) return nearest;
  const auto is_continued = [&](const std::string& name) { return begins_with(name, typed); };
  if (typed.empty() || std::count_if(names.begin(), names.end(), is_continued) != 1) return "";
  return *std::find_if(names.begin(), names.end(), is_continued);
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> names) {
  const std::string nearest = nearest_name(typed, names);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace dpreduce
