#include "fit/numbered_names.hpp"

#include <functional>
#include <limits>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kFewestSlots = 1024;

}  // namespace

NumberedNames::NumberedNames() : slots_(kFewestSlots, {0, kEmpty}) {}

std::vector<std::uint32_t> NumberedNames::numbers_of(std::span<const std::string_view> names) {
  std::vector<std::uint32_t> hashes;
  hashes.reserve(names.size());
  for (const std::string_view name : names) {
    hashes.push_back(static_cast<std::uint32_t>(std::hash<std::string_view>()(name)));
    __builtin_prefetch(&slots_[home_of(hashes.back())]);
  }
  for (const std::uint32_t hash : hashes) {
    const std::uint32_t number = slots_[home_of(hash)].number;
    if (number != kEmpty) __builtin_prefetch(&names_[number]);
  }
  std::vector<std::uint32_t> numbers;
  numbers.reserve(names.size());
  for (std::size_t name = 0; name < names.size(); ++name) numbers.push_back(number_of(names[name], hashes[name]));
  return numbers;
}

std::uint32_t NumberedNames::number_of(std::string_view name, std::uint32_t hash) {
  std::size_t place = home_of(hash);
  for (; slots_[place].number != kEmpty; place = (place + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[place];
    if (slot.hash == hash && names_[slot.number] == name) return slot.number;
  }
  DPREDUCE_ASSERT(names_.size() < kEmpty);
  const auto number = static_cast<std::uint32_t>(names_.size());
  slots_[place] = {hash, number};
  names_.emplace_back(name);
  if (2 * names_.size() > slots_.size()) grow();
  return number;
}

void NumberedNames::grow() {
  const std::vector<Slot> full = std::exchange(slots_, std::vector<Slot>(2 * slots_.size(), {0, kEmpty}));
  for (const Slot& slot : full) {
    if (slot.number == kEmpty) continue;
    std::size_t place = home_of(slot.hash);
    while (slots_[place].number != kEmpty) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

}  // namespace dpreduce
