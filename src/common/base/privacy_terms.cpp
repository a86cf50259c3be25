#include "common/base/privacy_terms.hpp"

#include <algorithm>
#include <iterator>

namespace dpreduce {

std::string_view reason_of(Forfeit forfeit) {
  switch (forfeit) {
    case Forfeit::kClassesFromRows:
      return "classes were taken from the labels of the rows, so that the label of one row may show; give their public "
             "list (--classes, --class-names)";
    case Forfeit::kModel:
      return "the model that is evaluated promises nothing of its rows, or nothing to the persons that this is about, "
             "so that these may show in it; evaluate a private model, for persons where these are the unit, or say "
             "--public-model where it is public";
    case Forfeit::kSeed:
      break;
  }
  return "the noise has a seed, so that anyone can compute it and take it off";
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
