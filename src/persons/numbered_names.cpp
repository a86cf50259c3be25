#include "persons/numbered_names.hpp"

#include <charconv>
#include <functional>
#include <optional>
#include <system_error>
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

// Nothing where an integer would be written in another way, so that it is another name: 07, +7, -0.
std::optional<std::int64_t> integer_of(std::string_view name) {
  std::int64_t integer = 0;
  const char* const end = name.data() + name.size();
  const auto [read, error] = std::from_chars(name.data(), end, integer);
  if (error != std::errc() || read != end || std::to_string(integer) != name) return std::nullopt;
  return integer;
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
  struct Asked {
    std::optional<std::int64_t> integer;
    std::uint64_t hash;
  };
  std::vector<Asked> asked;
  asked.reserve(names.size());
  for (const std::string_view name : names) {
    const std::optional<std::int64_t> integer = integer_of(name);
    asked.push_back({integer, integer ? hash_of(*integer) : hash_of(name)});
    integer ? by_integer_.prefetch(asked.back().hash)
            : by_text_.prefetch(static_cast<std::uint32_t>(asked.back().hash));
  }
  for (const auto& [integer, hash] : asked) {
    const std::uint32_t place = integer ? by_text_.kNone : by_text_.guess(static_cast<std::uint32_t>(hash));
    if (place != by_text_.kNone) __builtin_prefetch(&texts_[place]);
  }
  std::vector<std::uint32_t> numbers;
  numbers.reserve(names.size());
  for (std::size_t name = 0; name < names.size(); ++name) {
    const auto& [integer, hash] = asked[name];
    numbers.push_back(integer ? number_of(*integer, hash) : number_of(names[name], static_cast<std::uint32_t>(hash)));
  }
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
    numbers.push_back(number_of(integers[place], hashes[place]));
  }
  return numbers;
}

std::string NumberedNames::operator[](std::size_t number) const {
  const std::int64_t place = places_[number];
  return are_texts_[number] ? texts_[static_cast<std::size_t>(place)] : std::to_string(place);
}

std::uint32_t NumberedNames::next_number(std::int64_t place) {
  DPREDUCE_ASSERT(places_.size() < by_text_.kNone);
  places_.push_back(place);
  return static_cast<std::uint32_t>(places_.size() - 1);
}

std::uint32_t NumberedNames::number_of(std::int64_t integer, std::uint64_t hash) {
  const std::uint32_t known = by_integer_.find(hash, [](std::uint32_t) { return true; });
  if (known != by_integer_.kNone) return known;
  const std::uint32_t number = next_number(integer);
  are_texts_.push_back(false);
  by_integer_.add(hash, number);
  return number;
}

std::uint32_t NumberedNames::number_of(std::string_view text, std::uint32_t hash) {
  const std::uint32_t known = by_text_.find(hash, [&](std::uint32_t place) { return texts_[place] == text; });
  if (known != by_text_.kNone) return numbers_of_texts_[known];
  const auto place = static_cast<std::uint32_t>(texts_.size());
  const std::uint32_t number = next_number(place);
  are_texts_.push_back(true);
  texts_.emplace_back(text);
  numbers_of_texts_.push_back(number);
  by_text_.add(hash, place);
  return number;
}

}  // namespace dpreduce
