#include "fit/partial_sum.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregator/release/statistic_fingerprint.hpp"
#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/randomness/signing_key.hpp"
#include "common/silos/payload_archive.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kFingerprintWords = FingerprintPart{}.size();
constexpr std::size_t kSealWords = kFingerprintWords + 1;  // and whether there are rows
constexpr std::size_t kMostNamed = 3;
constexpr std::string_view kPartialSum = "partial sum";

// Calls apply(word, pad) with each word and the next of the partition's stream.
template <typename Apply>
void with_pad(std::span<std::uint64_t> words, const NoiseKey& key, const SumTicket& ticket,
              const SummedPartition& partition, Apply apply) {
  std::string context =
      fmt::format("{}/{}/{}", to_hex(std::as_bytes(std::span(ticket.task))), partition.name.size(), partition.name);
  context.append(partition.nonce.begin(), partition.nonce.end());
  RandomStream stream = key.stream("partial sum", std::as_bytes(std::span(context)));
  for (std::uint64_t& word : words) apply(word, stream.next_u64());
}

// Fingerprint of a statistic, and of the number of partitions with rows that it is of.
FingerprintPart fingerprint_of_sum(const Statistic& statistic, std::uint64_t with_rows, const NoiseKey& key,
                                   const SumTicket& ticket) {
  Statistic number({{"partitions_with_rows", 1}});
  number.words().front() = with_rows;
  RandomStream coefficients = key.stream("partial sum's fingerprint", std::as_bytes(std::span(ticket.task)));
  FingerprintPart part = fingerprint_part(statistic, coefficients);
  const FingerprintPart of_number = fingerprint_part(number, coefficients);
  std::ranges::transform(part, of_number, part.begin(), std::plus());
  return part;
}

bool is_partition_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName;
}

// Throws BadInput, as value_of_message, unless each partition has a name, and names rise: a partition listed twice
// would count twice.
template <typename Partition, typename NameOf>
void require_listed_once(const std::vector<Partition>& listed, NameOf name_of, std::string_view kind) {
  const auto falls = std::ranges::adjacent_find(listed, std::greater_equal(), name_of);
  if (falls == listed.end() && std::ranges::all_of(listed, is_partition_name, name_of)) return;
  refuse_message(kind);
}

// Returns the partitions of both lists, by name; `kind` names what holds them, as in "partial sums". Throws UsageError
// if one partition is in both. Precondition: require_listed_once of each.
template <typename Partition, typename NameOf>
std::vector<Partition> merged_partitions(const std::vector<Partition>& a, const std::vector<Partition>& b,
                                         NameOf name_of, std::string_view kind) {
  std::vector<Partition> all;
  std::ranges::merge(a, b, std::back_inserter(all), {}, name_of, name_of);
  const auto twice = std::ranges::adjacent_find(all, {}, name_of);
  if (twice == all.end()) return all;
  throw UsageError("partition {} is in both {}, and may count only once; keep one result of each partition",
                   shown_partition(std::invoke(name_of, *twice)), kind);
}

template <typename Partition, typename NameOf>
std::vector<std::string> names_of(const std::vector<Partition>& listed, NameOf name_of) {
  std::vector<std::string> names;
  std::ranges::transform(listed, std::back_inserter(names), name_of);
  return names;
}

std::string first_names(const std::vector<std::string>& names) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed));
  std::vector<std::string> first;
  std::transform(names.begin(), names.begin() + shown, std::back_inserter(first), shown_partition);
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
  return text;
}

}  // namespace

DPREDUCE_ARCHIVE(SummedPartition, name, nonce)

template <typename Archive>
void PartialSum::serialize(Archive& archive, unsigned) {
  archive_all(archive, session_, step_, task_, partitions_, words_);
}

std::string shown_partition(const std::string& name) {
  return shown_text(name, kLongestName);
}

PartialSum PartialSum::sealed(const Statistic& of_partition, bool has_rows, const SumTicket& ticket,
                              const std::string& partition) {
  if (!is_partition_name(partition)) {
    throw UsageError("partition: its name has {} bytes; give each partition its own name, of 1 to {} bytes",
                     partition.size(), kLongestName);
  }
  PartialSum sum;
  sum.session_ = ticket.session;
  sum.step_ = ticket.step;
  sum.task_ = ticket.task;
  SummedPartition own{partition, {}};
  secure_bytes(std::as_writable_bytes(std::span(own.nonce)));
  const NoiseKey key = ticket.key();
  const std::uint64_t with_rows = has_rows ? 1 : 0;
  const FingerprintPart fingerprint = fingerprint_of_sum(of_partition, with_rows, key, ticket);
  sum.words_.assign(of_partition.words().begin(), of_partition.words().end());
  sum.words_.insert(sum.words_.end(), fingerprint.begin(), fingerprint.end());
  sum.words_.push_back(with_rows);
  with_pad(sum.words_, key, ticket, own, [](std::uint64_t& word, std::uint64_t pad) { word += pad; });
  sum.partitions_.push_back(std::move(own));
  return sum;
}

void PartialSum::add(const PartialSum& other) {
  if (session_ != other.session_ || task_ != other.task_ || words_.size() != other.words_.size()) {
    throw UsageError(session_ != other.session_
                         ? "partial sums of two sessions do not add; make all of them from one plan"
                         : fmt::format("partial sums of two tasks, of steps {} and {}, do not add; make all of them "
                                       "from one task",
                                       step_, other.step_));
  }
  partitions_ = merged_partitions(partitions_, other.partitions_, &SummedPartition::name, "partial sums");
  for (std::size_t word = 0; word < words_.size(); ++word) words_[word] += other.words_[word];
}

Statistic PartialSum::opened(const SumTicket& ticket, std::vector<BlockShape> shape) const {
  if (session_ != ticket.session || task_ != ticket.task) {
    throw UsageError(session_ != ticket.session
                         ? "the partial sum is of another plan's session; make it from this session's plan"
                         : fmt::format("the partial sum is of step {} of this or another session of the plan, and the "
                                       "session waits for its own step {}; make it from the session's current task",
                                       step_, ticket.step));
  }
  Statistic statistic(std::move(shape));
  const std::size_t elements = statistic.words().size();
  const char* const kDamaged =
      "the partial sum does not match the seals of its partitions: words or names were changed in transit; compute it "
      "again";
  if (words_.size() != elements + kSealWords) throw AggregationAborted(kDamaged);
  std::vector<std::uint64_t> words = words_;
  const NoiseKey key = ticket.key();
  const auto twice = std::ranges::adjacent_find(partitions_, {}, &SummedPartition::name);
  if (twice != partitions_.end()) throw AggregationAborted(kDamaged);
  for (const SummedPartition& partition : partitions_) {
    with_pad(words, key, ticket, partition, [](std::uint64_t& word, std::uint64_t pad) { word -= pad; });
  }
  std::copy_n(words.begin(), elements, statistic.words().begin());
  FingerprintPart came{};
  std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(elements), kFingerprintWords, came.begin());
  const std::uint64_t with_rows = words.back();
  cleanse(words.data(), words.size() * sizeof(words.front()));
  const std::string expected = fingerprint_of(fingerprint_of_sum(statistic, with_rows, key, ticket));
  if (fingerprint_of(came) != expected) throw AggregationAborted(kDamaged);
  if (with_rows == 0) throw BadInput("no partition has a row; give at least one row");
  return statistic;
}

std::vector<std::string> PartialSum::partitions() const {
  return names_of(partitions_, &SummedPartition::name);
}

std::string PartialSum::to_bytes() const {
  return message_of(kPartialSum, *this);
}

PartialSum PartialSum::from_bytes(const std::string& bytes) {
  PartialSum sum = value_of_message<PartialSum>(kPartialSum, bytes);
  require_listed_once(sum.partitions_, &SummedPartition::name, kPartialSum);
  return sum;
}

void require_partitions(const std::vector<std::string>& there, const std::vector<std::string>& expected,
                        const char* where) {
  const std::set<std::string> wanted(expected.begin(), expected.end());
  std::vector<std::string> missing;
  std::vector<std::string> unknown;
  std::ranges::set_difference(wanted, there, std::back_inserter(missing));
  std::ranges::set_difference(there, wanted, std::back_inserter(unknown));
  if (!missing.empty()) {
    throw UsageError("partitions are missing from the {}: {}; add theirs, or correct the list of expected partitions",
                     where, first_names(missing));
  }
  if (!unknown.empty()) {
    throw UsageError("the {} holds partitions that are not expected: {}; list all partitions as expected", where,
                     first_names(unknown));
  }
}

namespace {

constexpr std::size_t kWordsOfPerson = 3;  // high, low, rows
constexpr std::string_view kCounts = "count of persons";

KeyedHash hash_for(std::string_view purpose, const SumTicket& ticket) {
  return person_hash(ticket.key().stream(purpose, {}));
}

// The number of persons, then the words of each: a statistic has at least one element.
std::vector<std::uint64_t> words_of(const CountedPersons& counted) {
  std::vector<std::uint64_t> words{counted.persons.size()};
  words.reserve(1 + kWordsOfPerson * counted.persons.size());
  for (std::size_t place = 0; place < counted.persons.size(); ++place) {
    words.insert(words.end(), {counted.persons[place].high, counted.persons[place].low, counted.rows[place]});
  }
  return words;
}

PersonsDigest digest_of(std::span<const std::uint64_t> words, const SumTicket& ticket) {
  const std::string message(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  const RandomBlock digest = hash_for("digest of persons", ticket).of(message);
  return {digest.first, digest.second};
}

}  // namespace

template <typename Archive>
void PersonCounts::serialize(Archive& archive, unsigned) {
  archive_all(archive, plan_, partitions_);
}

PersonCounts PersonCounts::sealed(const CountedPersons& of_partition, const SumTicket& ticket,
                                  const std::string& partition) {
  const std::vector<std::uint64_t> words = words_of(of_partition);
  Statistic listed({{"persons", words.size()}});
  std::ranges::copy(words, listed.words().begin());
  PersonCounts counts;
  counts.plan_ = ticket.session;
  counts.partitions_.push_back(PartialSum::sealed(listed, true, ticket, partition));
  return counts;
}

void PersonCounts::add(const PersonCounts& other) {
  if (plan_ != other.plan_) {
    throw UsageError("counts of persons of two plans do not add; make all of them from one plan");
  }
  partitions_ = merged_partitions(partitions_, other.partitions_, name_of, "counts of persons");
}

// Throws AggregationAborted.
Statistic PersonCounts::opened_list(const PartialSum& sealed, const SumTicket& ticket) {
  try {
    const std::size_t elements = std::max(sealed.words_.size(), kSealWords + 1) - kSealWords;
    return sealed.opened(ticket, {{"persons", elements}});
  } catch (const Error&) {
    throw AggregationAborted(
        "partition {}: its counts of persons do not match their seal: they were changed in transit; count again",
        shown_partition(name_of(sealed)));
  }
}

PersonTable PersonCounts::opened(const SumTicket& ticket) const {
  if (plan_ != ticket.session) {
    throw UsageError(
        "the counts of persons belong to another plan, or to one that already has its counts; make them from this "
        "plan");
  }
  PersonTable table;
  std::vector<std::pair<PersonHash, std::uint64_t>> all;
  for (const PartialSum& sealed : partitions_) {
    const Statistic listed = opened_list(sealed, ticket);
    const std::span<const std::uint64_t> words = listed.words();
    for (std::size_t place = 1; place + kWordsOfPerson <= words.size(); place += kWordsOfPerson) {
      all.emplace_back(PersonHash{words[place], words[place + 1]}, words[place + 2]);
    }
    table.partitions.push_back({name_of(sealed), digest_of(words, ticket)});
  }
  std::sort(all.begin(), all.end());
  for (std::size_t first = 0; first < all.size();) {
    std::size_t end = first;
    std::uint64_t rows = 0;
    for (; end < all.size() && all[end].first == all[first].first; ++end) rows += all[end].second;
    if (end - first > 1) {
      table.shared.persons.push_back(all[first].first);
      table.shared.rows.push_back(rows);
    }
    first = end;
  }
  return table;
}

std::vector<std::string> PersonCounts::partitions() const {
  return names_of(partitions_, name_of);
}

std::string PersonCounts::to_bytes() const {
  return message_of(kCounts, *this);
}

PersonCounts PersonCounts::from_bytes(const std::string& bytes) {
  PersonCounts counts = value_of_message<PersonCounts>(kCounts, bytes);
  const auto is_of_one = [](const PartialSum& sealed) { return sealed.partitions_.size() == 1; };
  if (!std::ranges::all_of(counts.partitions_, is_of_one)) refuse_message(kCounts);
  require_listed_once(counts.partitions_, name_of, kCounts);
  return counts;
}

IdentifiedRows traveling_persons(ShardedArray& persons, RowRange range, const SumTicket& ticket) {
  return identified(persons, range, hash_for("hashes of persons", ticket));
}

PersonCount count_over_partitions(const PersonTable& table, const SumTicket& ticket, const std::string& partition) {
  return [&](WorkerRows& rows, ShardedArray* persons, const PersonNeeds&, Communicator&) {
    IdentifiedRows own = traveling_persons(*persons, rows.range(), ticket);
    const auto listed = std::ranges::find(table.partitions, partition, &CountedPartition::name);
    if (listed == table.partitions.end()) {
      throw UsageError("partition {}: its persons were not counted; count all partitions, under the same names",
                       shown_partition(partition));
    }
    if (listed->digest != digest_of(words_of(own.persons), ticket)) {
      throw BadInput(
          "partition {}: its persons differ from those that were counted; a partition must hold the same "
          "rows whenever it is read",
          shown_partition(partition));
    }
    for (std::size_t place = 0; place < own.persons.persons.size(); ++place) {
      const std::optional<std::uint64_t> elsewhere = table.shared.rows_of(own.persons.persons[place]);
      if (elsewhere) own.persons.rows[place] = *elsewhere;
    }
    return own;
  };
}

}  // namespace dpreduce
