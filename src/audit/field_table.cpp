#include "audit/field_table.hpp"

#include <string_view>
#include <unordered_map>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kColumnsOverAll = 3;

}  // namespace

FieldTable::FieldTable(const std::vector<const PublicFields*>& runs)
    : columns_{"how many words differ", "how many fields there are", "how many fields are new"} {
  DPREDUCE_ASSERT(!runs.empty());
  DPREDUCE_ASSERT(columns_.size() == kColumnsOverAll);
  for (const auto& [path, word] : runs.front()->words()) words_.emplace(path, word);
  for (const PublicFields* run : runs) {
    for (const auto& [path, value] : run->numbers()) {
      if (!number_places_.emplace(path, columns_.size()).second) continue;
      columns_.push_back(path);
      columns_.push_back(path + ": is there");
    }
    for (const auto& [path, word] : run->words()) {
      if (!word_places_.emplace(path, columns_.size()).second) continue;
      columns_.push_back(path + ": the usual word");
      columns_.push_back(path + ": which field it equals");
    }
  }
}

std::vector<double> FieldTable::row(const PublicFields& run) const {
  std::vector<double> row(columns_.size(), 0.0);
  double& different = row[0];
  double& fields = row[1];
  double& unknown = row[2];
  fields = static_cast<double>(run.numbers().size() + run.words().size());
  for (const auto& [path, value] : run.numbers()) {
    const auto place = number_places_.find(path);
    if (place == number_places_.end()) {
      ++unknown;
      continue;
    }
    row[place->second] = value;
    row[place->second + 1] = 1.0;
  }
  std::unordered_map<std::string_view, double> first_place;
  double position = 0.0;
  for (const auto& [path, word] : run.words()) {
    ++position;
    const auto [first, is_new] = first_place.emplace(word, position);
    different += is_new ? 1.0 : 0.0;
    const auto place = word_places_.find(path);
    if (place == word_places_.end()) {
      ++unknown;
      continue;
    }
    const auto usual = words_.find(path);
    row[place->second] = usual != words_.end() && usual->second == word ? 1.0 : 0.0;
    row[place->second + 1] = is_new ? -1.0 : first->second;
  }
  return row;
}

}  // namespace dpreduce
