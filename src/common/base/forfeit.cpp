#include "common/base/forfeit.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace dpreduce {

std::string_view reason_of(Forfeit forfeit) {
  switch (forfeit) {
    case Forfeit::kClassesFromRows:
      return "classes were taken from the labels of the rows, so that the label of one row may show; give their public "
             "list (--classes, --class-names)";
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

std::string words_of(const Forfeits& forfeits) {
  std::string words;
  for (const Forfeit own : forfeits) {
    words += (words.empty() ? "" : ", ") + std::string(own == Forfeit::kSeed ? "seeded" : "classes from rows");
  }
  return words.empty() ? "seeded" : words;
}

}  // namespace dpreduce
