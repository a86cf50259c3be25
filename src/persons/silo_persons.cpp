#include "persons/silo_persons.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregator/release/statistic_fingerprint.hpp"
#include "common/base/error.hpp"
#include "common/randomness/noise_key.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/ranks/silo_job.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kWordsOfEntry = 2;                            // a hash, and rows in its lower 16 bits
constexpr std::uint64_t kMostRowsOfEntry = 0xffff;                  // who has more has several entries
constexpr std::uint64_t kMostListedWords = std::uint64_t{1} << 27;  // 1 GiB
constexpr std::size_t kMostKeyBytes = std::size_t{1} << 20;

NoiseKey shared_key_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostKeyBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) throw BadInput(fmt::format("--person-key {}: cannot be read", path));
  const auto bytes = static_cast<std::size_t>(file.gcount());
  if (bytes < kFewestKeyBytes) {
    throw BadInput(fmt::format(
        "--person-key {}: has fewer than {} bytes; make one for all silos, e.g. with openssl rand -out person.key 32",
        path, kFewestKeyBytes));
  }
  text.resize(bytes);
  return NoiseKey::from_bytes(sha256(text));
}

// The lists of all silos, one behind the other.
class PersonLists {
 public:
  PersonLists(std::uint64_t silos, std::uint64_t persons_of_silo) : silos_(silos), entries_(persons_of_silo) {
    if (silos * entries_ * kWordsOfEntry > kMostListedWords) {
      throw UsageError(
          fmt::format("--count-persons {}: lists of {} silos would take {} MiB, and 1024 are the most; agree "
                      "on fewer persons a silo, or promise --silos-per-person instead",
                      entries_, silos, silos * entries_ * kWordsOfEntry * 8 >> 20));
    }
  }

  std::size_t words() const { return silos_ * entries_ * kWordsOfEntry; }
  Statistic empty() const { return Statistic({{"rows_of_persons", words()}}); }

  // The list of that silo (from 1), and nothing in the place of the others.
  Statistic of_silo(std::size_t silo, const CountedPersons& own) const {
    Statistic lists = empty();
    std::size_t word = (silo - 1) * entries_ * kWordsOfEntry;
    const std::size_t end = word + entries_ * kWordsOfEntry;
    for (std::size_t place = 0; place < own.persons.size(); ++place) {
      for (std::uint64_t left = own.rows[place]; left > 0;) {
        if (word == end) {
          throw BadInput(
              fmt::format("--count-persons {}: this silo has more persons (one with more than {} rows counts "
                          "as several); all parties must say a larger number{}",
                          entries_, kMostRowsOfEntry, kForOwnerOnly));
        }
        const std::uint64_t rows = std::min(left, kMostRowsOfEntry);
        lists.words()[word++] = own.persons[place].high;
        lists.words()[word++] = own.persons[place].low | rows;
        left -= rows;
      }
    }
    return lists;
  }

  // The place of that silo (from 1) in the lists.
  std::span<const std::uint64_t> place_of(std::size_t silo, std::span<const std::uint64_t> lists) const {
    return lists.subspan((silo - 1) * entries_ * kWordsOfEntry, entries_ * kWordsOfEntry);
  }

  // own.rows becomes what all silos have together of each person of `own`.
  void add_up(const Statistic& lists, CountedPersons& own) const {
    std::vector<std::uint64_t> total(own.persons.size(), 0);
    for (std::size_t word = 0; word < words(); word += kWordsOfEntry) {
      const std::uint64_t low = lists.words()[word + 1];
      const PersonHash person{lists.words()[word], low & ~kMostRowsOfEntry};
      if (own.rows_of(person)) total[own.place_of(person)] += low & kMostRowsOfEntry;
    }
    for (std::size_t place = 0; place < total.size(); ++place)
      own.rows[place] = std::max(total[place], own.rows[place]);
  }

 private:
  std::uint64_t silos_;
  std::uint64_t entries_;
};

// PRF(K, run, silo), word by word.
RandomStream pad_of(const NoiseKey& key, const RunId& run, std::uint32_t silo) {
  std::vector<std::byte> context(run.begin(), run.end());
  const auto number = std::as_bytes(std::span(&silo, 1));
  context.insert(context.end(), number.begin(), number.end());
  return key.stream("counts of persons of a silo", context);
}

FingerprintPart fingerprint_of_lists(const Statistic& lists, const NoiseKey& key, const RunId& run) {
  RandomStream coefficients = key.stream("fingerprint of counts of persons", run);
  return fingerprint_part(lists, coefficients);
}

// The lists of all silos in `sum`, from the padded sum. Throws where it is not what the silos in `present` have sealed.
Statistic opened(Statistic sum, std::vector<std::uint64_t> words, const std::vector<std::uint64_t>& present,
                 const NoiseKey& key, const RunId& run) {
  for (std::uint32_t silo = 1; silo <= present.size(); ++silo) {
    if (present[silo - 1] == 0) continue;
    RandomStream pad = pad_of(key, run, silo);
    for (std::uint64_t& word : words) word -= pad.next_u64();
  }
  FingerprintPart came{};
  const auto fingerprint = words.end() - static_cast<std::ptrdiff_t>(came.size());
  std::copy(words.begin(), fingerprint, sum.words().begin());
  std::copy(fingerprint, words.end(), came.begin());
  if (fingerprint_of(came) == fingerprint_of(fingerprint_of_lists(sum, key, run))) return sum;
  throw AggregationAborted(
      "the counts of persons are not what the silos have sealed: they have different keys (--person-key), or the "
      "counts were changed on the way");
}

IdentifiedRows counted_over_silos(const WorkerRows& rows, ShardedArray* persons, std::uint64_t persons_of_silo,
                                  const std::string& key_file, Communicator& ranks) {
  const SiloJob& silos = *ranks.silos();
  const bool is_silo = !ranks.is_coordinator();
  const auto self = static_cast<std::size_t>(ranks.rank());
  std::optional<PersonLists> lists;
  std::vector<std::uint64_t> own_list;
  std::vector<std::uint64_t> words;
  std::optional<NoiseKey> key;
  IdentifiedRows own;
  ranks.together([&] {
    lists.emplace(silos.terms().silos, persons_of_silo);
    words.assign(lists->words() + FingerprintPart{}.size(), 0);
    if (!is_silo) return;
    key.emplace(shared_key_of(key_file));
    own = identified(*persons, rows.range(), person_hash(key->stream("pseudonyms of persons", {})));
    const Statistic list = lists->of_silo(self, own.persons);
    const FingerprintPart fingerprint = fingerprint_of_lists(list, *key, silos.run());
    std::copy(list.words().begin(), list.words().end(), words.begin());
    const auto place = lists->place_of(self, list.words());
    own_list.assign(place.begin(), place.end());
    std::copy(fingerprint.begin(), fingerprint.end(), words.end() - static_cast<std::ptrdiff_t>(fingerprint.size()));
    RandomStream pad = pad_of(*key, silos.run(), static_cast<std::uint32_t>(self));
    for (std::uint64_t& word : words) word += pad.next_u64();
  });
  ranks.sum_to_coordinator(words);
  std::vector<std::uint64_t> present(silos.terms().silos, 0);
  if (!is_silo) {
    for (const std::uint32_t silo : silos.coordinator()->last_summed()) present[silo - 1] = 1;
  }
  ranks.broadcast(std::as_writable_bytes(std::span(present)));
  ranks.broadcast(std::as_writable_bytes(std::span(words)));
  ranks.together([&] {
    if (!is_silo) return;
    if (present[self - 1] == 0) {
      throw AggregationAborted("the persons of this silo were not counted; no row of it may be summed");
    }
    const Statistic sum = opened(lists->empty(), std::move(words), present, *key, silos.run());
    if (!std::ranges::equal(lists->place_of(self, sum.words()), own_list)) {
      throw AggregationAborted(
          "the counts of persons hold another list than its own in the place of this silo: a party that has the key "
          "(--person-key) has changed it; no row of this silo may be summed");
    }
    lists->add_up(sum, own.persons);
  });
  return own;
}

}  // namespace

PersonCount count_over_silos(std::uint64_t persons_of_silo, std::string key_file) {
  return [persons_of_silo, key_file = std::move(key_file)](WorkerRows& rows, ShardedArray* persons,
                                                           const PersonNeeds& needs, Communicator& ranks) {
    DPREDUCE_ASSERT(!needs.coins);
    return counted_over_silos(rows, persons, persons_of_silo, key_file, ranks);
  };
}

}  // namespace dpreduce
