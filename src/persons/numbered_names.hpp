// Names by number, in the order in which they were first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpreduce {

/// Numbers by hash: open addressing, at most half of the slots full.
template <typename Hash>
class NumbersByHash {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  NumbersByHash();

  void prefetch(Hash hash) const;
  /// A number that may be that of this hash, or kNone.
  std::uint32_t guess(Hash hash) const { return slots_[home_of(hash)].number; }
  /// The number with this hash for which is_same(number) holds, or kNone.
  template <typename IsSame>
  std::uint32_t find(Hash hash, const IsSame& is_same) const {
    for (std::size_t place = home_of(hash); slots_[place].number != kNone; place = (place + 1) & (slots_.size() - 1)) {
      if (slots_[place].hash == hash && is_same(slots_[place].number)) return slots_[place].number;
    }
    return kNone;
  }
  /// Precondition: it is not there.
  void add(Hash hash, std::uint32_t number);

 private:
  struct Slot {
    Hash hash;
    std::uint32_t number;
  };

  std::size_t home_of(Hash hash) const { return hash & (slots_.size() - 1); }
  void put(const Slot& slot);

  std::vector<Slot> slots_;  // where hashes say or behind
  std::size_t full_ = 0;
};

/// Memory: 40 to 72 bytes of a name that is an integer, 65 to 100 of another, and its text where that has more than 15
/// bytes. To find a name takes one look into memory, or two for a text, which those of some hundred at once do not wait
/// for.
class NumberedNames {
 public:
  /// The number of each name, in their order; of a new one size(), which grows. Precondition (asserted): fewer than
  /// 2^32 - 1 names.
  std::vector<std::uint32_t> numbers_of(std::span<const std::string_view> names);
  /// The same of integers: the numbers of their decimal digits.
  std::vector<std::uint32_t> numbers_of(std::span<const std::int64_t> integers);
  std::size_t size() const { return places_.size(); }
  /// The name with this number. Precondition: it is less than size().
  std::string operator[](std::size_t number) const;

 private:
  std::uint32_t number_of(std::int64_t integer, std::uint64_t hash);
  std::uint32_t number_of(std::string_view text, std::uint32_t hash);
  std::uint32_t next_number(std::int64_t place);

  std::vector<std::int64_t> places_;  // by number: the integer, or where its text is
  std::vector<bool> are_texts_;       // by number
  std::vector<std::string> texts_;
  std::vector<std::uint32_t> numbers_of_texts_;
  NumbersByHash<std::uint64_t> by_integer_;
  NumbersByHash<std::uint32_t> by_text_;  // places among texts_
};

}  // namespace dpreduce
