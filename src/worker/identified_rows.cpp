#include "worker/identified_rows.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostNames = std::numeric_limits<std::uint32_t>::max() - 1;

constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 20;  // places of integers, and of texts: 8 MiB each

struct Named {
  PersonHash person;
  std::uint32_t name;
};

// The hash of each name, by its number, in the order in which names come; `of_rows` gets the number of each row's name.
std::vector<Named> named_persons(ShardedArray& persons, RowRange range, const KeyedHash& hash,
                                 std::vector<std::uint32_t>& of_rows) {
  std::vector<Named> named;
  std::unordered_map<std::int64_t, std::uint32_t> integers;
  std::unordered_map<std::string, std::uint32_t> texts;
  integers.reserve(std::min(range.count, kMostReserved));
  texts.reserve(std::min(range.count, kMostReserved));
  const auto take = [&](auto& numbers, const auto& key, const auto& name_of_key) {
    const auto [found, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(named.size()));
    of_rows.push_back(found->second);
    if (!is_new) return;
    if (named.size() >= kMostNames) {
      throw BadInput("--train-person: more than 2^32 - 2 persons on one rank; use more ranks");
    }
    const RandomBlock of_name = hash.of(name_of_key(key));
    named.push_back({{of_name.first, of_name.second & ~PersonHash::kUnused}, found->second});
  };
  const auto digits_of = [](std::int64_t integer) { return std::to_string(integer); };
  const auto take_integers = [&](std::span<const std::int64_t> some) {
    for (const std::int64_t integer : some) take(integers, integer, digits_of);
  };
  const auto take_name = [&](std::string_view name) {
    if (const auto integer = usual_integer(name)) return take(integers, *integer, digits_of);
    take(texts, std::string(name), [](const std::string& text) { return text; });
  };
  persons.visit_persons(range.first, range.count, {take_integers, take_name});
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

KeyedHash person_hash(RandomStream stream) {
  SecretVector<std::byte> key(32);
  stream.fill(key);
  return KeyedHash(std::span<const std::byte, 32>(key));
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

// `is_by_row` marks persons whose rows have their own numbers.
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
