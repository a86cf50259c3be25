#include "persons/identified_rows.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "persons/numbered_names.hpp"

namespace dpreduce {
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
RowPersons IdentifiedRows::numbered_where(const std::vector<char>& is_by_row) const {
  constexpr std::uint32_t kNotNumbered = std::numeric_limits<std::uint32_t>::max();
  RowPersons numbered;
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

RowPersons IdentifiedRows::numbered() const {
  return numbered_where(std::vector<char>(persons.persons.size(), 0));
}

RowPersons IdentifiedRows::numbered_to_clip(std::uint64_t most_together) const {
  std::vector<std::uint64_t> here(persons.persons.size(), 0);
  for (const std::uint32_t place : of_rows) ++here[place];
  std::vector<char> is_by_row(here.size());
  for (std::size_t place = 0; place < here.size(); ++place) {
    is_by_row[place] = (persons.owners.empty() ? here[place] : persons.rows[place]) > most_together ? 1 : 0;
  }
  RowPersons numbered = numbered_where(is_by_row);
  numbered.are_whole = true;
  PersonParts parts(numbered.first_rows.size());
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    const std::uint32_t place = of_rows[row];
    parts[numbered.of_rows[row]] = part_of_person(is_by_row[place] != 0 ? 1 : here[place], persons.rows[place]);
  }
  const auto is_all = [](const PersonPart& part) { return part == PersonPart{}; };
  if (!std::ranges::all_of(parts, is_all)) numbered.parts = std::make_shared<const PersonParts>(std::move(parts));
  return numbered;
}

}  // namespace dpreduce
