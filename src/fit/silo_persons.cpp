#include "fit/silo_persons.hpp"

#include <algorithm>
#include <array>
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
#include "fit/person_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kTables = 4;
constexpr unsigned kPlaceBits = 18;
constexpr std::uint64_t kPlaces = std::uint64_t{1} << kPlaceBits;
constexpr std::size_t kCounts = kTables * kPlaces;
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

KeyedHash pseudonyms_of(const NoiseKey& key) {
  RandomStream stream = key.stream("pseudonyms of persons", {});
  SecretVector<std::byte> bytes;
  while (bytes.size() < 32) {
    const std::uint64_t word = stream.next_u64();
    const auto of_word = std::as_bytes(std::span(&word, 1));
    bytes.insert(bytes.end(), of_word.begin(), of_word.end());
  }
  return KeyedHash(std::span<const std::byte, 32>(bytes));
}

// Places of a person's counts: 4 x 18 of the 112 bits of the hash, whose upper 64 are `high`.
std::array<std::size_t, kTables> places_of(const PersonHash& person) {
  const std::array<std::uint64_t, kTables> bits{person.high, person.high >> kPlaceBits, person.high >> (2 * kPlaceBits),
                                                person.low >> (64 - kPlaceBits)};
  std::array<std::size_t, kTables> places{};
  for (std::size_t table = 0; table < kTables; ++table) places[table] = table * kPlaces + bits[table] % kPlaces;
  return places;
}

// PRF(K, run, silo), word by word.
RandomStream pad_of(const NoiseKey& key, const RunId& run, std::uint32_t silo) {
  std::vector<std::byte> context(run.begin(), run.end());
  const auto number = std::as_bytes(std::span(&silo, 1));
  context.insert(context.end(), number.begin(), number.end());
  return key.stream("counts of persons of a silo", context);
}

FingerprintPart fingerprint_of_counts(const Statistic& counts, const NoiseKey& key, const RunId& run) {
  RandomStream coefficients = key.stream("fingerprint of counts of persons", run);
  return fingerprint_part(counts, coefficients);
}

Statistic empty_counts() {
  return Statistic({{"rows_of_persons", kCounts}});
}

// The sum of all silos' counts, from the padded one. Throws where it is not what the silos in `present` have sealed.
Statistic opened(std::vector<std::uint64_t> words, const std::vector<std::uint64_t>& present, const NoiseKey& key,
                 const RunId& run) {
  for (std::uint32_t silo = 1; silo <= present.size(); ++silo) {
    if (present[silo - 1] == 0) continue;
    RandomStream pad = pad_of(key, run, silo);
    for (std::uint64_t& word : words) word -= pad.next_u64();
  }
  Statistic sum = empty_counts();
  std::copy_n(words.begin(), kCounts, sum.words().begin());
  FingerprintPart came{};
  std::copy(words.begin() + kCounts, words.end(), came.begin());
  if (fingerprint_of(came) == fingerprint_of(fingerprint_of_counts(sum, key, run))) return sum;
  throw AggregationAborted(
      "the counts of persons are not what the silos have sealed: they have different keys (--person-key), or the "
      "counts were changed on the way");
}

}  // namespace

void weigh_over_silos(WorkerRows& rows, std::optional<ShardedArray>& persons, std::uint64_t rows_per_person,
                      const std::string& key_file, Communicator& ranks) {
  const SiloJob& silos = *ranks.silos();
  const bool is_silo = !ranks.is_coordinator();
  std::vector<std::uint64_t> words(kCounts + FingerprintPart{}.size(), 0);
  std::optional<NoiseKey> key;
  std::vector<PersonHash> hashes;
  ranks.together([&] {
    if (!is_silo) return;
    key.emplace(shared_key_of(key_file));
    hashes = hashes_of_rows(*persons, rows.range(), pseudonyms_of(*key));
    Statistic counts = empty_counts();
    for (const PersonHash& person : hashes) {
      for (const std::size_t place : places_of(person)) ++counts.words()[place];
    }
    const FingerprintPart fingerprint = fingerprint_of_counts(counts, *key, silos.run());
    std::copy(counts.words().begin(), counts.words().end(), words.begin());
    std::copy(fingerprint.begin(), fingerprint.end(), words.begin() + kCounts);
    RandomStream pad = pad_of(*key, silos.run(), static_cast<std::uint32_t>(ranks.rank()));
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
    std::vector<RowWeight> weights;
    if (is_silo) {
      if (present[static_cast<std::size_t>(ranks.rank()) - 1] == 0) {
        throw AggregationAborted("the persons of this silo were not counted; no row of it may be summed");
      }
      const Statistic sum = opened(std::move(words), present, *key, silos.run());
      const CountedPersons own = counted(hashes);
      weights.reserve(hashes.size());
      for (const PersonHash& person : hashes) {
        std::uint64_t total = ~std::uint64_t{0};
        for (const std::size_t place : places_of(person)) total = std::min(total, sum.words()[place]);
        weights.push_back(weight_of_rows(std::max(total, *own.rows_of(person)), rows_per_person));
      }
    }
    rows.set_weights(std::move(weights));
  });
}

}  // namespace dpreduce
