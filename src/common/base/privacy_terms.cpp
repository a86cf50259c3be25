#include "common/base/privacy_terms.hpp"

#include <algorithm>
#include <iterator>

namespace dpreduce {

std::string_view reason_of(Forfeit forfeit) {
  if (forfeit == Forfeit::kClassesFromRows) {
    return "classes were taken from the labels of the rows, so the model may reveal the label of one row; give the "
           "public list of classes (--classes, --class-names)";
  }
  if (forfeit == Forfeit::kModel) {
    return "the evaluated model has no guarantee, or none for persons where they are the unit, so it may reveal its "
           "rows; evaluate a model with a guarantee for the same unit, or give --public-model if the model is public";
  }
  return "the noise has a seed, so anyone can compute it and remove it";
}

Forfeits beside_seed(const Forfeits& forfeits) {
  Forfeits beside;
  std::ranges::copy_if(forfeits, std::back_inserter(beside), [](Forfeit own) { return own != Forfeit::kSeed; });
  return beside;
}

void add(Forfeits& forfeits, const Forfeits& others) {
  for (const Forfeit own : others) {
    if (std::ranges::find(forfeits, own) == forfeits.end()) forfeits.push_back(own);
  }
}

std::string words_of(const Forfeits& forfeits) {
  std::string words;
  for (const Forfeit own : forfeits) {
    const char* const word = own == Forfeit::kSeed    ? "seeded"
                             : own == Forfeit::kModel ? "a model that is not private"
                                                      : "classes from rows";
    words += (words.empty() ? "" : ", ") + std::string(word);
  }
  return words.empty() ? "seeded" : words;
}

}  // namespace dpreduce
