#include "fit/numbered_names.hpp"

#include <functional>
#include <utility>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kFewestSlots = 1024;

std::uint32_t hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
}

// Different integers have different hashes: each step can be undone.
std::uint64_t hash_of(std::int64_t integer) {
  auto bits = static_cast<std::uint64_t>(integer);
  bits = (bits ^ (bits >> 32)) * 0x9e3779b97f4a7c15;
  return bits ^ (bits >> 32);
}

}  // namespace

template <typename Hash>
NumbersByHash<Hash>::NumbersByHash() : slots_(kFewestSlots, {0, kNone}) {}

template <typename Hash>
void NumbersByHash<Hash>::prefetch(Hash hash) const {
  __builtin_prefetch(&slots_[home_of(hash)]);
}

template <typename Hash>
void NumbersByHash<Hash>::put(const Slot& slot) {
  std::size_t place = home_of(slot.hash);
  while (slots_[place].number != kNone) place = (place + 1) & (slots_.size() - 1);
  slots_[place] = slot;
}

template <typename Hash>
void NumbersByHash<Hash>::add(Hash hash, std::uint32_t number) {
  put({hash, number});
  if (2 * ++full_ <= slots_.size()) return;
  const std::vector<Slot> full = std::exchange(slots_, std::vector<Slot>(2 * slots_.size(), {0, kNone}));
  for (const Slot& slot : full) {
    if (slot.number != kNone) put(slot);
  }
}

template class NumbersByHash<std::uint32_t>;
template class NumbersByHash<std::uint64_t>;

std::vector<std::uint32_t> NumberedNames::numbers_of(std::span<const std::string_view> names) {
  std::vector<std::uint32_t> hashes;
  hashes.reserve(names.size());
  for (const std::string_view name : names) {
    hashes.push_back(hash_of(name));
    by_name_.prefetch(hashes.back());
  }
  for (const std::uint32_t hash : hashes) {
    const std::uint32_t number = by_name_.guess(hash);
    if (number != by_name_.kNone) __builtin_prefetch(&names_[number]);
  }
  std::vector<std::uint32_t> numbers;
  numbers.reserve(names.size());
  for (std::size_t name = 0; name < names.size(); ++name) numbers.push_back(number_of(names[name], hashes[name]));
  return numbers;
}

std::vector<std::uint32_t> NumberedNames::numbers_of(std::span<const std::int64_t> integers) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(integers.size());
  for (const std::int64_t integer : integers) {
    hashes.push_back(hash_of(integer));
    by_integer_.prefetch(hashes.back());
  }
  std::vector<std::uint32_t> numbers;
  numbers.reserve(integers.size());
  for (std::size_t place = 0; place < integers.size(); ++place) {
    numbers.push_back(by_integer_.find(hashes[place], [](std::uint32_t) { return true; }));
    if (numbers.back() != by_integer_.kNone) continue;
    const std::string digits = std::to_string(integers[place]);
    numbers.back() = number_of(digits, hash_of(digits));
    by_integer_.add(hashes[place], numbers.back());
  }
  return numbers;
}

std::uint32_t NumberedNames::number_of(std::string_view name, std::uint32_t hash) {
  const std::uint32_t known = by_name_.find(hash, [&](std::uint32_t number) { return names_[number] == name; });
  if (known != by_name_.kNone) return known;
  DPREDUCE_ASSERT(names_.size() < by_name_.kNone);
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  by_name_.add(hash, number);
  return number;
}

}  // namespace dpreduce
