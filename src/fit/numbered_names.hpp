// Names by number, in the order in which they were first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpreduce {

/// Memory: 50 to 70 bytes a name, and those of names of more than 15 bytes. To find one takes two looks into memory,
/// which those of some hundred names at once do not wait for.
class NumberedNames {
 public:
  NumberedNames();

  /// The number of each name, in their order; of a new one size(), which grows. Precondition (asserted): fewer than
  /// 2^32 - 1 names.
  std::vector<std::uint32_t> numbers_of(std::span<const std::string_view> names);
  std::size_t size() const { return names_.size(); }

 private:
  struct Slot {
    std::uint32_t hash;
    std::uint32_t number;
  };

  std::size_t home_of(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
  std::uint32_t number_of(std::string_view name, std::uint32_t hash);
  void grow();

  std::vector<std::string> names_;
  std::vector<Slot> slots_;  // at most half of them full, where hashes say or behind
};

}  // namespace dpreduce
