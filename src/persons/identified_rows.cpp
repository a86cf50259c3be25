#include "persons/identified_rows.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

namespace {

constexpr std::size_t kMostNames = std::numeric_limits<std::uint32_t>::max();

// Identifiers that are looked up together.
constexpr std::size_t kRowsAtOnce = 256;

struct Named {
  PersonHash person;
  std::uint32_t name;
};

// Of each name its hash, by number; `of_rows` gets the number of each row's name.
std::vector<Named> named_persons(ShardedArray& persons, RowRange range, const KeyedHash& hash,
                                 std::vector<std::uint32_t>& of_rows) {
  NumberedNames names;
  const auto take = [&](const auto& identifiers) {
    if (names.size() + identifiers.size() >= kMostNames) {
      throw BadInput("--train-person: more than 2^32 - 2 persons on one rank; use more ranks");
    }
    const std::vector<std::uint32_t> numbers = names.numbers_of(identifiers);
    of_rows.insert(of_rows.end(), numbers.begin(), numbers.end());
  };
  std::string text;  // identifiers of some rows, one behind the other
  std::vector<std::size_t> ends;
  const auto take_text = [&] {
    std::vector<std::string_view> identifiers;
    identifiers.reserve(ends.size());
    for (std::size_t first = 0; const std::size_t end : ends) {
      identifiers.emplace_back(&text[first], end - first);
      first = end;
    }
    take(std::span<const std::string_view>(identifiers));
    text.clear();
    ends.clear();
  };
  const auto take_integers = [&](std::span<const std::int64_t> integers) {
    take_text();
    for (; !integers.empty(); integers = integers.subspan(std::min(integers.size(), kRowsAtOnce))) {
      take(integers.first(std::min(integers.size(), kRowsAtOnce)));
    }
  };
  const auto take_name = [&](std::string_view identifier) {
    text += identifier;
    ends.push_back(text.size());
    if (ends.size() == kRowsAtOnce) take_text();
  };
  persons.visit_persons(range.first, range.count, {take_integers, take_name});
  take_text();
  std::vector<Named> named;
  named.reserve(names.size());
  while (named.size() < names.size()) {
    const RandomBlock of_name = hash.of(names[named.size()]);
    named.push_back({{of_name.first, of_name.second & ~PersonHash::kUnused}, static_cast<std::uint32_t>(named.size())});
  }
  return named;
}

}  // namespace

std::size_t CountedPersons::place_of(const PersonHash& person) const {
  return static_cast<std::size_t>(std::lower_bound(persons.begin(), persons.end(), person) - persons.begin());
}

std::optional<std::uint64_t> CountedPersons::rows_of(const PersonHash& person) const {
  const std::size_t place = place_of(person);
  if (place == persons.size() || persons[place] != person) return std::nullopt;
  return rows[place];
}

IdentifiedRows identified(ShardedArray& persons, RowRange range, const KeyedHash& hash) {
  IdentifiedRows identified;
  identified.of_rows.reserve(range.count);
  std::vector<Named> named = named_persons(persons, range, hash, identified.of_rows);
  std::vector<std::uint64_t> rows_of_name(named.size(), 0);
  for (const std::uint32_t name : identified.of_rows) ++rows_of_name[name];
  std::sort(named.begin(), named.end(), [](const Named& a, const Named& b) { return a.person < b.person; });
  CountedPersons& counted = identified.persons;
  counted.persons.reserve(named.size());
  counted.rows.reserve(named.size());
  std::vector<std::uint32_t> place_of(named.size());
  for (const Named& one : named) {
    if (counted.persons.empty() || counted.persons.back() != one.person) {
      counted.persons.push_back(one.person);
      counted.rows.push_back(0);
    }
    counted.rows.back() += rows_of_name[one.name];
    place_of[one.name] = static_cast<std::uint32_t>(counted.persons.size() - 1);
  }
  for (std::uint32_t& person : identified.of_rows) person = place_of[person];
  return identified;
}

std::vector<RowWeight> IdentifiedRows::weights(std::uint64_t rows_per_person) const {
  std::vector<RowWeight> of_persons;
  of_persons.reserve(persons.rows.size());
  for (const std::uint64_t rows : persons.rows) of_persons.push_back(weight_of_rows(rows, rows_per_person));
  std::vector<RowWeight> weights;
  weights.reserve(of_rows.size());
  for (const std::uint32_t person : of_rows) weights.push_back(of_persons[person]);
  return weights;
}

// `is_by_row` tells of each person whether their rows have numbers of their own.
RowUnits IdentifiedRows::numbered_where(const std::vector<char>& is_by_row) const {
  constexpr std::uint32_t kNotNumbered = std::numeric_limits<std::uint32_t>::max();
  RowUnits numbered;
  numbered.of_rows.reserve(of_rows.size());
  std::vector<std::uint32_t> numbers(persons.persons.size(), kNotNumbered);
  for (const std::uint32_t place : of_rows) {
    if (numbers[place] == kNotNumbered || is_by_row[place] != 0) {
      if (numbered.first_rows.size() == kNotNumbered) {
        throw BadInput("--train-person: more than 2^32 - 1 persons and rows of persons with very many; use more ranks");
      }
      numbers[place] = static_cast<std::uint32_t>(numbered.first_rows.size());
      numbered.first_rows.push_back(persons.first_rows.empty() ? 0 : persons.first_rows[place]);
    }
    numbered.of_rows.push_back(numbers[place]);
  }
  return numbered;
}

RowUnits IdentifiedRows::numbered() const {
  return numbered_where(std::vector<char>(persons.persons.size(), 0));
}

RowUnits IdentifiedRows::numbered_to_clip(std::uint64_t most_together) const {
  std::vector<std::uint64_t> here(persons.persons.size(), 0);
  for (const std::uint32_t place : of_rows) ++here[place];
  std::vector<char> is_by_row(here.size());
  for (std::size_t place = 0; place < here.size(); ++place) {
    is_by_row[place] = (persons.owners.empty() ? here[place] : persons.rows[place]) > most_together ? 1 : 0;
  }
  RowUnits numbered = numbered_where(is_by_row);
  numbered.are_whole = true;
  UnitParts parts(numbered.first_rows.size());
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    const std::uint32_t place = of_rows[row];
    parts[numbered.of_rows[row]] = part_of_unit(is_by_row[place] != 0 ? 1 : here[place], persons.rows[place]);
  }
  const auto is_all = [](const UnitPart& part) { return part == UnitPart{}; };
  if (!std::ranges::all_of(parts, is_all)) numbered.parts = std::make_shared<const UnitParts>(std::move(parts));
  return numbered;
}

}  // namespace dpreduce
