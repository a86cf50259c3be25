// Which sums of statistics a coordinator can make of the masked words that it has seen.
//
// Legend: word i = x_(n_i) + sum of the masks that the coordinator does not know, each with a sign. A mask is of one
// silo, in its word alone, or of a pair, in the words of both with opposite signs, and in each attempt another one. So
// a combination of words is free of masks where it has the same factor on all words that masks connect, and 0 where a
// mask of one of them is in that word alone: what is known is spanned by the sums over connected words without such a
// mask. Words of different attempts hold the same statistics, so these sums are brought into reduced echelon form over
// a large prime field.
#pragma once

#include <compare>

#include <fmt/ranges.h>

#include "common/base/error.hpp"
#include "common/silos/shamir.hpp"
#include "tests/common/silos/silo_parties.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

/// What a silo was told before a sum, each public value by a number of its own. 0: one that makes every statistic zero.
using Values = std::vector<std::uint32_t>;

struct StatisticName {
  std::uint32_t sum = 0;
  std::uint32_t silo = 0;
  Values public_values;

  auto operator<=>(const StatisticName&) const = default;
};

struct MaskName {
  std::uint32_t sum = 0;
  std::uint32_t attempt = 0;
  std::uint32_t one = 0;
  std::uint32_t other = 0;  ///< the same silo: its own

  auto operator<=>(const MaskName&) const = default;
};

struct SeenWord {
  std::optional<StatisticName> statistic;  ///< none: it is zero
  std::map<MaskName, int> unknown_masks;   ///< with their signs
};

using Combination = std::map<StatisticName, FieldElement>;

/// left <- left - factor right
inline void subtract(Combination& left, FieldElement factor, const Combination& right) {
  for (const auto& [name, value] : right) {
    const auto entry = left.try_emplace(name).first;
    entry->second = entry->second - factor * value;
    if (entry->second == FieldElement()) left.erase(entry);
  }
}

/// A basis in reduced echelon form.
inline std::vector<Combination> echelon_form(const std::vector<Combination>& combinations) {
  std::vector<Combination> basis;
  for (Combination next : combinations) {
    for (const Combination& of_basis : basis) {
      const auto found = next.find(of_basis.begin()->first);
      if (found != next.end()) subtract(next, found->second, of_basis);
    }
    if (next.empty()) continue;
    const FieldElement inverse = next.begin()->second.inverse();
    for (auto& entry : next) entry.second = entry.second * inverse;
    for (Combination& of_basis : basis) {
      const auto found = of_basis.find(next.begin()->first);
      if (found != of_basis.end()) subtract(of_basis, found->second, next);
    }
    basis.push_back(std::move(next));
  }
  return basis;
}

/// A basis of the sums of statistics that can be made of these words.
inline std::vector<Combination> known_sums(const std::vector<SeenWord>& words) {
  std::vector<std::size_t> parent(words.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t word) {
    while (parent[word] != word) word = parent[word] = parent[parent[word]];
    return word;
  };
  std::map<MaskName, std::vector<std::size_t>> words_with;
  for (std::size_t word = 0; word < words.size(); ++word) {
    for (const auto& entry : words[word].unknown_masks) words_with[entry.first].push_back(word);
  }
  std::vector<bool> is_hidden(words.size(), false);
  for (const auto& [mask, with] : words_with) {
    if (with.size() == 1) {
      is_hidden[with.front()] = true;
      continue;
    }
    DPREDUCE_ASSERT(with.size() == 2 &&
                    words[with[0]].unknown_masks.at(mask) + words[with[1]].unknown_masks.at(mask) == 0);
    parent[root(with[0])] = root(with[1]);
  }
  std::set<std::size_t> hidden_roots;
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (is_hidden[word]) hidden_roots.insert(root(word));
  }
  std::map<std::size_t, Combination> sums;
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (!words[word].statistic || hidden_roots.contains(root(word))) continue;
    FieldElement& factor = sums[root(word)][*words[word].statistic];
    factor = factor + FieldElement(1);
  }
  std::vector<Combination> combinations;
  for (auto& entry : sums) combinations.push_back(std::move(entry.second));
  return echelon_form(combinations);
}

inline SiloList silos_in(const Combination& sum) {
  std::set<std::uint32_t> silos;
  for (const auto& term : sum) silos.insert(term.first.silo);
  return SiloList(silos.begin(), silos.end());
}

/// Why the goal is missed: empty, or which sums are known that must not be. Of each statistic one sum may be, over at
/// least that many silos, plain, and at the same public values.
inline std::string leak_in(const std::vector<Combination>& sums, std::size_t least_silos) {
  std::string leak;
  std::set<std::uint32_t> statistics;
  for (const Combination& sum : sums) {
    const SiloList silos = silos_in(sum);
    const auto& [first, factor] = *sum.begin();
    bool is_plain = true;
    bool is_at_same_values = true;
    for (const auto& term : sum) {
      is_plain = is_plain && term.second == factor && term.first.sum == first.sum;
      is_at_same_values = is_at_same_values && term.first.public_values == first.public_values;
    }
    std::vector<std::string> reasons;
    if (silos.size() < least_silos) reasons.push_back(fmt::format("over {} silos", silos.size()));
    if (!is_plain) reasons.emplace_back("with factors");
    if (!is_at_same_values) reasons.emplace_back("at different values");
    if (!statistics.insert(first.sum).second) reasons.emplace_back("a second one");
    if (!reasons.empty()) {
      leak += fmt::format("[{}] of sum {}: {}; ", fmt::join(silos, " "), first.sum, fmt::join(reasons, ", "));
    }
  }
  return leak;
}

}  // namespace dpreduce
