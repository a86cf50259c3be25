// All stories of one attempt at one sum in which each silo may be told any lists, whatever the others are told, up to
// the numbers of silos: for very few of them.
#pragma once

#include "tests/common/silos/story_enumeration.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

class AnyLists {
 public:
  AnyLists(const SiloParties& parties, const Terms& terms, Protocol protocol)
      : parties_(parties), terms_(terms), protocol_(protocol), lists_(terms.silos) {
    std::vector<std::uint32_t> order(terms.silos);
    std::iota(order.begin(), order.end(), 0U);
    // Colluding silos, the last ones, change places among themselves.
    const auto honest = order.begin() + static_cast<std::ptrdiff_t>(terms.silos - terms.colluding);
    do {
      do {
        orders_.push_back(order);
      } while (std::next_permutation(honest, order.end()));
    } while (std::next_permutation(order.begin(), honest));
  }

  /// Ends with the first leak.
  Search run() {
    draw(0);
    return result_;
  }

 private:
  // U1, U2, U3 as sets of places; 0: it is not told.
  using Lists = std::array<std::uint32_t, 3>;

  // Any of the places of `within` that `silo` is among, at least t; or nothing.
  template <typename Take>
  void each_list(std::uint32_t within, std::uint32_t silo, const Take& take) const {
    take(0U);
    for (std::uint32_t list = within; list != 0; list = (list - 1) & within) {
      if (((list >> silo) & 1U) != 0 && std::popcount(list) >= static_cast<int>(terms_.threshold)) take(list);
    }
  }

  void draw(std::uint32_t silo) {
    if (!result_.leak.empty()) return;
    if (silo == terms_.silos) {
      if (is_first_of_its_kind()) play();
      return;
    }
    each_list((1U << terms_.silos) - 1, silo, [&](std::uint32_t participants) {
      if (terms_.is_colluding(silo + 1)) {  // it signs whatever there is to be signed
        lists_[silo] = {participants, 0, 0};
        draw(silo + 1);
        return;
      }
      each_list(participants, silo, [&](std::uint32_t sharing) {
        each_list(sharing, silo, [&](std::uint32_t summed) {
          lists_[silo] = {participants, sharing, summed};
          draw(silo + 1);
        });
      });
    });
  }

  static std::uint32_t moved(std::uint32_t list, const std::vector<std::uint32_t>& order) {
    std::uint32_t result = 0;
    for (std::size_t place = 0; place < order.size(); ++place) result |= ((list >> place) & 1U) << order[place];
    return result;
  }
  bool is_first_of_its_kind() const {
    return std::none_of(orders_.begin(), orders_.end(), [&](const std::vector<std::uint32_t>& order) {
      std::vector<Lists> other(lists_.size());
      for (std::size_t silo = 0; silo < lists_.size(); ++silo) {
        for (std::size_t which = 0; which < 3; ++which) other[order[silo]][which] = moved(lists_[silo][which], order);
      }
      return other < lists_;
    });
  }

  static SiloList silos_of(std::uint32_t list) {
    SiloList silos;
    for (; list != 0; list &= list - 1) silos.push_back(static_cast<std::uint32_t>(std::countr_zero(list)) + 1);
    return silos;
  }
  void play() {
    std::vector<Story> stories(terms_.silos + 1);
    for (std::uint32_t silo = 1; silo <= terms_.silos; ++silo) {
      const Lists& lists = lists_[silo - 1];
      stories[silo] = {silos_of(lists[0]), silos_of(lists[1]), silos_of(lists[2])};
    }
    LiedToSum sum(parties_, terms_.threshold, terms_.colluding_silos(), protocol_);
    sum.play(stories);
    result_.add(sum);
  }

  const SiloParties& parties_;
  Terms terms_;
  Protocol protocol_;
  std::vector<Lists> lists_;
  std::vector<std::vector<std::uint32_t>> orders_;
  Search result_;
};

}  // namespace dpreduce
