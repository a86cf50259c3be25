#include "fit/traveling_persons.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/silos/payload_archive.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kWordsOfPerson = 3;  // high, low, rows
constexpr std::string_view kCounts = "count of persons";

KeyedHash hash_for(std::string_view purpose, const SumTicket& ticket) {
  return person_hash(ticket.key().stream(purpose, {}));
}

PersonsDigest digest_of_words(std::string_view purpose, const std::string& context,
                              std::span<const std::uint64_t> words, const SumTicket& ticket) {
  std::string message = context;
  message.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  const RandomBlock digest = hash_for(purpose, ticket).of(message);
  return {digest.first, digest.second};
}

std::vector<std::uint64_t> words_of(const CountedPersons& counted) {
  std::vector<std::uint64_t> words;
  words.reserve(kWordsOfPerson * counted.persons.size());
  for (std::size_t place = 0; place < counted.persons.size(); ++place) {
    words.insert(words.end(), {counted.persons[place].high, counted.persons[place].low, counted.rows[place]});
  }
  return words;
}

PersonsDigest digest_of(const CountedPersons& counted, const SumTicket& ticket) {
  return digest_of_words("digest of persons", {}, words_of(counted), ticket);
}

std::string context_of(const std::array<std::uint8_t, 16>& plan, const std::string& name,
                       const std::array<std::uint8_t, 16>& nonce) {
  std::string context = fmt::format("{}/", name.size()) + name;
  context.append(plan.begin(), plan.end());
  context.append(nonce.begin(), nonce.end());
  return context;
}

}  // namespace

template <typename Archive>
void PersonCounts::Sealed::serialize(Archive& archive, unsigned) {
  archive_all(archive, name, nonce, words, tag);
}

template <typename Archive>
void PersonCounts::serialize(Archive& archive, unsigned) {
  archive_all(archive, plan_, partitions_);
}

PersonCounts PersonCounts::sealed(const CountedPersons& of_partition, const SumTicket& ticket,
                                  const std::string& partition) {
  require_partition_name(partition);
  const NoiseKey key = ticket.key();
  Sealed own{.name = partition, .nonce = {}, .words = words_of(of_partition), .tag = {}};
  secure_bytes(std::as_writable_bytes(std::span(own.nonce)));
  const std::string context = context_of(ticket.session, own.name, own.nonce);
  RandomStream pads = key.stream("persons", std::as_bytes(std::span(context)));
  for (std::uint64_t& word : own.words) word += pads.next_u64();
  own.tag = digest_of_words("tag of persons", context, own.words, ticket);
  PersonCounts counts;
  counts.plan_ = ticket.session;
  counts.partitions_.push_back(std::move(own));
  return counts;
}

void PersonCounts::add(const PersonCounts& other) {
  if (plan_ != other.plan_) {
    throw UsageError("counts of persons of two plans do not add; make all of them from one plan");
  }
  partitions_ = merged_partitions(partitions_, other.partitions_, "counts of persons");
}

PersonTable PersonCounts::opened(const SumTicket& ticket) const {
  if (plan_ != ticket.session) {
    throw UsageError(
        "the counts of persons belong to another plan, or to one that already has its counts; make them from this "
        "plan");
  }
  const NoiseKey key = ticket.key();
  PersonTable table;
  std::vector<std::pair<PersonHash, std::uint64_t>> all;
  for (const Sealed& partition : partitions_) {
    const std::string context = context_of(plan_, partition.name, partition.nonce);
    if (digest_of_words("tag of persons", context, partition.words, ticket) != partition.tag ||
        partition.words.size() % kWordsOfPerson != 0) {
      throw AggregationAborted(
          "partition {}: its counts of persons do not match their seal: they were changed in transit; count again",
          shown_partition(partition.name));
    }
    RandomStream pads = key.stream("persons", std::as_bytes(std::span(context)));
    CountedPersons own;
    for (std::size_t place = 0; place < partition.words.size(); place += kWordsOfPerson) {
      std::array<std::uint64_t, kWordsOfPerson> words{};
      for (std::size_t word = 0; word < kWordsOfPerson; ++word) {
        words[word] = partition.words[place + word] - pads.next_u64();
      }
      own.persons.push_back({words[0], words[1]});
      own.rows.push_back(words[2]);
      all.emplace_back(own.persons.back(), words[2]);
    }
    table.partitions.push_back({partition.name, digest_of(own, ticket)});
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
  std::vector<std::string> names;
  for (const Sealed& partition : partitions_) names.push_back(partition.name);
  return names;
}

std::string PersonCounts::to_bytes() const {
  return message_of(kCounts, *this);
}

PersonCounts PersonCounts::from_bytes(const std::string& bytes) {
  PersonCounts counts = value_of_message<PersonCounts>(kCounts, bytes);
  if (!are_partitions(counts.partitions_)) refuse_message(kCounts);
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
    if (listed->digest != digest_of(own.persons, ticket)) {
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
