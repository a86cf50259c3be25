#include "worker/person_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/paths.hpp"
#include "common/data/label_slots.hpp"
#include "common/randomness/keyed_hash.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {
namespace {

// Unused bits of a hash hold a number of rows in messages.
constexpr std::uint64_t kCountMask = PersonHash::kUnused;

// 32 MiB of rows that move from one rank at a time.
constexpr std::uint64_t kWordsOnTheWay = std::uint64_t{1} << 22;

// In messages a number of rows stands below 2^48, above it a rank.
constexpr unsigned kOwnerShift = 48;

void take_first_rows(IdentifiedRows& own, std::uint64_t first_row) {
  std::vector<std::uint64_t>& first_rows = own.persons.first_rows;
  first_rows.assign(own.persons.persons.size(), 0);
  for (std::size_t row = own.of_rows.size(); row-- > 0;) first_rows[own.of_rows[row]] = first_row + row;
}

// A part of a person's rows that a rank has counted; it is answered where it stands.
struct CountedPart {
  PersonHash person;
  std::uint64_t rank;
  std::uint64_t* answer;  // a number of rows; then, behind the hash, a first row
};

// Answers the parts of each person, which follow one another: with their sum, the rank that has most, the least first
// row.
void answer_each_person(std::vector<CountedPart>& entries, bool has_first_rows) {
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t end = first;
    std::uint64_t rows = 0;
    std::uint64_t of_rank = 0;
    std::uint64_t most = 0;
    std::uint64_t owner = 0;
    std::uint64_t first_row = std::numeric_limits<std::uint64_t>::max();
    for (; end < entries.size() && entries[end].person == entries[first].person; ++end) {
      const CountedPart& entry = entries[end];
      rows += *entry.answer;
      of_rank = *entry.answer + (end > first && entries[end - 1].rank == entry.rank ? of_rank : 0);
      if (of_rank > most) {
        most = of_rank;
        owner = entry.rank;
      }
      if (has_first_rows) first_row = std::min(first_row, entry.answer[1]);
    }
    for (; first < end; ++first) {
      *entries[first].answer = rows | owner << kOwnerShift;
      if (has_first_rows) entries[first].answer[1] = first_row;
    }
  }
}

// Turns the questions of every rank, whose persons are this rank's to count, into answers.
void answer_questions(std::vector<std::vector<std::uint64_t>>& received, bool has_first_rows) {
  // Words of an answer: the number of rows and the owner; with first rows, the first of them. A question has one more.
  const std::size_t answer_words = has_first_rows ? 2 : 1;
  const std::size_t asked_words = answer_words + 1;
  std::vector<CountedPart> entries;
  for (std::size_t rank = 0; rank < received.size(); ++rank) {
    std::vector<std::uint64_t>& message = received[rank];
    for (std::size_t word = 0; word + 1 < message.size(); word += asked_words) {
      entries.push_back({{message[word], message[word + 1] & ~kCountMask}, rank, &message[word]});
      message[word] = message[word + 1] & kCountMask;
      if (has_first_rows) message[word + 1] = message[word + 2];
    }
  }
  // The parts that one rank has counted follow one another.
  std::sort(entries.begin(), entries.end(), [](const CountedPart& a, const CountedPart& b) {
    return std::tie(a.person, a.rank) < std::tie(b.person, b.rank);
  });
  answer_each_person(entries, has_first_rows);
  for (std::vector<std::uint64_t>& message : received) {
    const std::size_t answers = message.size() / asked_words;
    for (std::size_t answer = 0; answer < answers; ++answer) {
      for (std::size_t word = 0; word < answer_words; ++word) {
        message[answer * answer_words + word] = message[answer * asked_words + word];
      }
    }
    message.resize(answers * answer_words);
  }
}

// Sums the numbers of rows of each person over the ranks, in place, and finds the persons' owners; with first rows,
// these become those of all ranks. The same choice on every rank.
void sum_over_ranks(CountedPersons& own, bool has_first_rows, Communicator& ranks) {
  const auto size = static_cast<std::size_t>(ranks.size());
  if (size == 1) {  // they are those of all ranks
    own.owners.assign(own.persons.size(), 0);
    return;
  }
  const std::size_t answer_words = has_first_rows ? 2 : 1;
  const auto counter_of = [&](const PersonHash& person) { return static_cast<std::size_t>(person.high % size); };

  std::vector<std::vector<std::uint64_t>> messages(size);
  for (std::size_t place = 0; place < own.persons.size(); ++place) {
    std::vector<std::uint64_t>& message = messages[counter_of(own.persons[place])];
    for (std::uint64_t left = own.rows[place]; left > 0;) {
      const std::uint64_t part = std::min(left, kCountMask);
      message.push_back(own.persons[place].high);
      message.push_back(own.persons[place].low | part);
      if (has_first_rows) message.push_back(own.first_rows[place]);
      left -= part;
    }
  }
  std::vector<std::vector<std::uint64_t>> received = ranks.exchange(std::move(messages));

  answer_questions(received, has_first_rows);
  const std::vector<std::vector<std::uint64_t>> answers = ranks.exchange(std::move(received));

  std::vector<std::size_t> next(size, 0);
  for (std::size_t place = 0; place < own.persons.size(); ++place) {
    const std::size_t counter = counter_of(own.persons[place]);
    const std::uint64_t parts = (own.rows[place] + kCountMask - 1) / kCountMask;
    const std::uint64_t* const answer = &answers[counter][next[counter]];
    own.rows[place] = answer[0] & ((std::uint64_t{1} << kOwnerShift) - 1);
    own.owners.push_back(static_cast<std::uint32_t>(answer[0] >> kOwnerShift));
    if (has_first_rows) own.first_rows[place] = answer[1];
    next[counter] += parts * answer_words;
  }
}

// One row as it travels: whose it is, then classes and features, four bytes each.
class TravelingRows {
 public:
  TravelingRows(WorkerRows& rows, const PersonNeeds& needs)
      : rows_(rows),
        needs_(needs),
        dim_(rows.dim()),
        slots_(rows.label_slots(rows.labels().columns())),
        words_(kHashWords + (slots_ + dim_ + 1) / 2),
        features_(dim_),
        labels_(slots_) {}

  std::size_t words() const { return words_; }

  // Reads the row at `place`. Throws BadInput where it could not be trained on: nobody else knows its file.
  void pack(std::uint64_t place, const PersonHash& person, std::vector<std::uint64_t>& message) {
    rows_.features().read_features(place, 1, features_);
    rows_.labels().read_labels(place, 1, needs_.classes, labels_);
    if (needs_.bad_rows == BadRows::kFail) refuse_bad_row(place);
    message.insert(message.end(), {person.high, person.low});
    const std::size_t first = message.size();
    message.resize(first + words_ - kHashWords);
    auto* const bytes = reinterpret_cast<std::byte*>(&message[first]);
    std::memcpy(bytes, labels_.data(), slots_ * sizeof(std::int32_t));
    std::memcpy(bytes + slots_ * sizeof(std::int32_t), features_.data(), dim_ * sizeof(float));
  }

  // Returns whose it is.
  PersonHash unpack(std::span<const std::uint64_t> row, OtherRows& others) {
    const PersonHash person{row[0], row[1]};
    const auto* const bytes = reinterpret_cast<const std::byte*>(&row[kHashWords]);
    std::memcpy(labels_.data(), bytes, slots_ * sizeof(std::int32_t));
    std::memcpy(features_.data(), bytes + slots_ * sizeof(std::int32_t), dim_ * sizeof(float));
    others.features.insert(others.features.end(), features_.begin(), features_.end());
    for (std::size_t place = 0; place < rows_.targets(); ++place) {
      others.targets.push_back(target_in(labels_, place));
    }
    if (rows_.has_label_sets()) {
      const std::size_t first = others.label_sets.size();
      others.label_sets.resize(first + slots_, 0);
      for (const std::int32_t label : classes_in(labels_))
        others.label_sets[first + static_cast<std::size_t>(label)] = 1;
    } else if (rows_.targets() == 0) {
      others.labels.push_back(labels_.front());
    }
    return person;
  }

 private:
  static constexpr std::size_t kHashWords = 2;

  // The stream of rows that stay refuses such rows in the same way.
  void refuse_bad_row(std::uint64_t place) const {
    const std::size_t labels = rows_.targets() > 0 ? 0 : classes_in(labels_).size();
    if (labels > needs_.most_labels && !rows_.takes_any_number_of_labels())
      refuse_surplus_labels(rows_.where_labels(place), labels, needs_.most_labels);
    if (!are_finite(features_)) refuse_not_finite(rows_.where(place));
  }

  WorkerRows& rows_;
  PersonNeeds needs_;
  std::size_t dim_;
  std::size_t slots_;  // 1, or all classes: a set that has more than --max-labels stays what it is
  std::size_t words_;
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

// Sends the rows that are others' persons' to these, in messages of bounded size, and takes this rank's: they are of
// persons who have rows here. Who has more rows than are clipped together keeps them where they are. own.of_rows is of
// the rows of rows.range(), and becomes that of the rows that this rank then has. Collective.
void gather_persons(WorkerRows& rows, IdentifiedRows& own, const PersonNeeds& needs, Communicator& ranks) {
  const CountedPersons& persons = own.persons;
  const std::uint64_t most_together = most_rows_clipped_together(rows.dim());
  const auto stays = [&, rank = static_cast<std::uint32_t>(ranks.rank())](std::uint32_t person) {
    return persons.owners[person] == rank || persons.rows[person] > most_together;
  };
  const auto moved = own.of_rows.size() - static_cast<std::size_t>(std::ranges::count_if(own.of_rows, stays));
  const auto most_moved = static_cast<std::uint64_t>(ranks.max_everywhere(static_cast<double>(moved)));
  if (most_moved == 0) return;
  std::vector<std::uint64_t> stay;
  std::vector<std::uint64_t> go;
  for (std::uint64_t row = 0; row < own.of_rows.size(); ++row) {
    (stays(own.of_rows[row]) ? stay : go).push_back(row);
  }

  const std::uint64_t first = rows.range().first;
  TravelingRows traveling(rows, needs);
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kWordsOnTheWay / traveling.words());
  std::vector<std::uint32_t> taken;  // whose, by place among persons
  OtherRows others;
  for (std::uint64_t sent = 0; sent < most_moved; sent += at_once) {
    std::vector<std::vector<std::uint64_t>> messages(static_cast<std::size_t>(ranks.size()));
    ranks.together([&] {
      for (std::uint64_t next = sent; next < std::min<std::uint64_t>(go.size(), sent + at_once); ++next) {
        const std::uint32_t person = own.of_rows[go[next]];
        traveling.pack(first + go[next], persons.persons[person], messages[persons.owners[person]]);
      }
    });
    for (const std::vector<std::uint64_t>& message : ranks.exchange(std::move(messages))) {
      for (std::size_t word = 0; word < message.size(); word += traveling.words()) {
        const PersonHash person = traveling.unpack(std::span(message).subspan(word, traveling.words()), others);
        DPREDUCE_ASSERT(persons.rows_of(person).has_value());
        taken.push_back(static_cast<std::uint32_t>(persons.place_of(person)));
      }
    }
  }
  for (std::size_t place = 0; place < stay.size(); ++place) {
    own.of_rows[place] = own.of_rows[stay[place]];
    stay[place] += first;
  }
  own.of_rows.resize(stay.size());
  own.of_rows.insert(own.of_rows.end(), taken.begin(), taken.end());
  rows.exchange(std::move(stay), std::move(others));
}

}  // namespace

std::uint64_t first_row_of(const WorkerRows& rows, Communicator& ranks) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks.size()), 0);
  counts[static_cast<std::size_t>(ranks.rank())] = rows.range().count;
  ranks.sum_everywhere(counts);
  return std::accumulate(counts.begin(), counts.begin() + ranks.rank(), std::uint64_t{0});
}

std::optional<ShardedArray> open_beside(ArrayRole role, const RowFiles& train, const WorkerRows& rows,
                                        Communicator& ranks, const std::optional<ArrayView>& in_memory) {
  const bool are_persons = role == ArrayRole::kPersons;
  const std::vector<std::string>& files = are_persons ? train.person : train.weight;
  const std::string option = train.option(are_persons ? "person" : "weight");
  const char* const entry = are_persons ? "identifier" : "weight";
  std::optional<ShardedArray> opened;
  ranks.together([&] {
    if (rows.is_none()) return;  // the coordinator of silos
    const std::string& pattern = files.front();
    if (!in_memory) require_same_workers(train.x, files, are_persons ? "identifiers" : "weights");
    if (in_memory) {
      opened.emplace(std::make_unique<MemoryArray>(*in_memory, pattern), role);
    } else {
      opened.emplace(expand_paths(files, static_cast<std::size_t>(ranks.rank())), role);
    }
    if (opened->rows() == rows.features().rows()) return;
    throw BadInput("{} {}: {} {}s for {} rows of features ({}): row {} has {}; give one {} a row{}", option, pattern,
                   opened->rows(), entry, rows.features().rows(), train.x.front(),
                   std::min(opened->rows(), rows.features().rows()),
                   opened->rows() < rows.features().rows()
                       ? fmt::format("no {}", entry)
                       : fmt::format("{} {} and no features", are_persons ? "an" : "a", entry),
                   entry, kForOwnerOnly);
  });
  return opened;
}

void weigh(WorkerRows& rows, ShardedArray* weights, float bound) {
  std::vector<float> stated(rows.range().count);
  if (weights != nullptr) weights->read_features(rows.range().first, rows.range().count, stated);
  std::vector<RowWeight> of_rows(stated.size());
  for (std::size_t row = 0; row < stated.size(); ++row) {
    if (!(stated[row] >= 0.0f && stated[row] <= bound)) {
      throw BadInput("--train-weight {} has weight {}; give a number from 0 to --weight-bound {}{}",
                     weights->where(rows.range().first + row), stated[row], bound, kForOwnerOnly);
    }
    of_rows[row] = weight_of_given(stated[row], bound);
  }
  rows.set_weights(std::move(of_rows));
}

IdentifiedRows count_over_ranks(WorkerRows& rows, ShardedArray* persons, const PersonNeeds& needs,
                                Communicator& ranks) {
  SecretVector<std::byte> key(32);
  ranks.at_coordinator([&] { secure_bytes(key); });
  ranks.broadcast(key);
  IdentifiedRows own;
  ranks.together([&] { own = identified(*persons, rows.range(), KeyedHash(std::span<const std::byte, 32>(key))); });
  if (needs.coins) take_first_rows(own, first_row_of(rows, ranks));
  sum_over_ranks(own.persons, needs.coins, ranks);
  if (needs.whole) gather_persons(rows, own, needs, ranks);
  return own;
}

PersonCount count_in_silo(std::uint64_t silos_per_person) {
  return [=](WorkerRows& rows, ShardedArray* persons, const PersonNeeds& needs, Communicator& ranks) {
    DPREDUCE_ASSERT(!needs.coins);
    IdentifiedRows own;
    ranks.together([&] {
      if (persons == nullptr) return;
      SecretVector<std::byte> key(32);
      secure_bytes(key);
      own = identified(*persons, rows.range(), KeyedHash(std::span<const std::byte, 32>(key)));
      // w = floor(J min(1, (B / s) / m)) is the weight of a row of a person with s m rows.
      for (std::uint64_t& of_person : own.persons.rows) of_person *= silos_per_person;
    });
    return own;
  };
}

void weigh(WorkerRows& rows, ShardedArray* persons, std::uint64_t rows_per_person, const PersonCount& count,
           Communicator& ranks, const PersonNeeds& needs) {
  const IdentifiedRows own = count(rows, persons, needs, ranks);
  ranks.together([&] {
    rows.set_weights(own.weights(rows_per_person));
    if (needs.whole) {
      rows.set_units(own.numbered_to_clip(most_rows_clipped_together(rows.dim())));
    } else if (needs.coins) {
      rows.set_units(own.numbered());
    }
  });
}

}  // namespace dpreduce
