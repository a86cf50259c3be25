#include "fit/person_rows.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/paths.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/secure_bytes.hpp"

namespace dpreduce {
namespace {

// Of a hash its upper 112 bits are compared. The lower 16 hold a number of rows in messages.
constexpr std::uint64_t kCountMask = 0xffff;

constexpr std::size_t kSeenLately = std::size_t{1} << 14;

struct PersonHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;  // its lower 16 bits are 0
  auto operator<=>(const PersonHash&) const = default;
};

// Sorted, each once.
struct CountedPersons {
  std::vector<PersonHash> persons;
  std::vector<std::uint64_t> rows;
};

CountedPersons counted(std::vector<PersonHash> of_rows) {
  std::sort(of_rows.begin(), of_rows.end());
  CountedPersons result;
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    if (row == 0 || of_rows[row] != of_rows[row - 1]) {
      result.persons.push_back(of_rows[row]);
      result.rows.push_back(0);
    }
    ++result.rows.back();
  }
  return result;
}

SecretVector<std::byte> shared_key(Communicator& ranks) {
  SecretVector<std::byte> key(32);
  ranks.together([&] {
    if (ranks.is_coordinator()) secure_bytes(key);
  });
  ranks.broadcast(key);
  return key;
}

std::vector<PersonHash> hashes_of_rows(ShardedArray& persons, RowRange range, const KeyedHash& hash) {
  // The hashes of persons seen lately: most persons have rows close together, or are few.
  struct Seen {
    std::string person;  // empty: none
    PersonHash hash;
  };
  std::vector<Seen> lately(kSeenLately);
  std::vector<PersonHash> hashes;
  hashes.reserve(range.count);
  persons.visit_persons(range.first, range.count, [&](std::uint64_t, std::string_view person) {
    Seen& seen = lately[std::hash<std::string_view>()(person) % kSeenLately];
    if (seen.person != person) {
      const RandomBlock of_person = hash.of(person);
      seen = {std::string(person), {of_person.first, of_person.second & ~kCountMask}};
    }
    hashes.push_back(seen.hash);
  });
  return hashes;
}

// Sums the numbers of rows of each person over the ranks, in place.
void sum_over_ranks(CountedPersons& own, Communicator& ranks) {
  const auto size = static_cast<std::size_t>(ranks.size());
  const auto counter_of = [&](const PersonHash& person) { return static_cast<std::size_t>(person.high % size); };

  std::vector<std::vector<std::uint64_t>> messages(size);
  for (std::size_t place = 0; place < own.persons.size(); ++place) {
    std::vector<std::uint64_t>& message = messages[counter_of(own.persons[place])];
    for (std::uint64_t left = own.rows[place]; left > 0;) {
      const std::uint64_t part = std::min(left, kCountMask);
      message.push_back(own.persons[place].high);
      message.push_back(own.persons[place].low | part);
      left -= part;
    }
  }
  std::vector<std::vector<std::uint64_t>> received = ranks.exchange(std::move(messages));

  // This rank counts the persons of these; each is answered where it stands.
  struct Entry {
    PersonHash person;
    std::uint64_t* answer;
  };
  std::vector<Entry> entries;
  for (std::vector<std::uint64_t>& message : received) {
    for (std::size_t word = 0; word + 1 < message.size(); word += 2) {
      entries.push_back({{message[word], message[word + 1] & ~kCountMask}, &message[word]});
      message[word] = message[word + 1] & kCountMask;
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.person < b.person; });
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t end = first;
    std::uint64_t rows = 0;
    for (; end < entries.size() && entries[end].person == entries[first].person; ++end) rows += *entries[end].answer;
    for (; first < end; ++first) *entries[first].answer = rows;
  }
  for (std::vector<std::uint64_t>& message : received) {
    for (std::size_t word = 0; 2 * word < message.size(); ++word) message[word] = message[2 * word];
    message.resize(message.size() / 2);
  }
  const std::vector<std::vector<std::uint64_t>> answers = ranks.exchange(std::move(received));

  std::vector<std::size_t> next(size, 0);
  for (std::size_t place = 0; place < own.persons.size(); ++place) {
    const std::size_t counter = counter_of(own.persons[place]);
    const std::uint64_t parts = (own.rows[place] + kCountMask - 1) / kCountMask;
    own.rows[place] = answers[counter][next[counter]];
    next[counter] += parts;
  }
}

}  // namespace

ShardedArray open_persons(const RowsOptions& train, const WorkerRows& rows, Communicator& ranks) {
  std::optional<ShardedArray> persons;
  ranks.together([&] {
    const std::string& pattern = train.person.front();
    const bool per_worker = paths_are_per_worker(train.x);
    if (paths_are_per_worker(train.person) != per_worker) {
      throw BadInput(
          fmt::format("--train-person {}: features and identifiers must both use {{rank}}, or neither; give "
                      "identifiers of the rows of every rank",
                      pattern));
    }
    persons.emplace(expand_paths(train.person, static_cast<std::size_t>(ranks.rank())), ArrayRole::kPersons);
    if (persons->rows() == rows.features().rows()) return;
    throw BadInput(fmt::format(
        "--train-person {}: {} identifiers for {} rows of features ({}): row {} has {}; give one identifier a row{}",
        pattern, persons->rows(), rows.features().rows(), train.x.front(),
        std::min(persons->rows(), rows.features().rows()),
        persons->rows() < rows.features().rows() ? "no identifier" : "an identifier and no features", kForOwnerOnly));
  });
  return std::move(*persons);
}

void weigh_by_person(WorkerRows& rows, ShardedArray& persons, std::uint64_t rows_per_person, Communicator& ranks) {
  const SecretVector<std::byte> key = shared_key(ranks);
  std::vector<PersonHash> hashes;
  ranks.together(
      [&] { hashes = hashes_of_rows(persons, rows.range(), KeyedHash(std::span<const std::byte, 32>(key))); });
  CountedPersons own = counted(hashes);
  sum_over_ranks(own, ranks);
  std::vector<RowWeight> weights;
  weights.reserve(hashes.size());
  for (const PersonHash& person : hashes) {
    const auto found = std::lower_bound(own.persons.begin(), own.persons.end(), person);
    weights.push_back(weight_of_rows(own.rows[static_cast<std::size_t>(found - own.persons.begin())], rows_per_person));
  }
  rows.set_weights(std::move(weights));
}

}  // namespace dpreduce
