// A release in parts, class by class: TrainingRun::release_class_grams.
//
//     first pass  ->  reservation  ->  G and class sums, noised, to every rank
//     round of P classes, one owner each:
//       every rank:  A_j of its rows, for a few classes at a time  ->  noise, reduction to the owners
//       every owner: its class is handed over, all at once, and dropped; what was made of it goes to the coordinator
//     charge, record of G, class sums and what was made of all classes  ->  shown
//
// All parts are one release: until its charge is on the disk, nobody is shown any of it, and a run that dies has paid
// nothing.
//
// Reductions go on while the next few matrices are computed, and while classes are handed over.
//
// Classes of one round lie K / P apart in number: where files are sorted by class and cut evenly, every rank then has
// rows of some class of every round.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <utility>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"
#include "common/ledger/triangle.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "methods/training_run.hpp"
#include "worker/class_grams.hpp"

namespace dpreduce {
namespace {

constexpr const char* kClassGrams = "class_least_squares";
constexpr const char* kMatrices = "class_grams";  // the block of them
constexpr const char* kSolutions = "solutions";   // the last block of a record

std::vector<std::size_t> strided_order(std::size_t classes, std::size_t ranks) {
  const std::size_t stride = (classes + ranks - 1) / ranks;
  std::vector<std::size_t> order;
  for (std::size_t first = 0; first < stride; ++first) {
    for (std::size_t label = first; label < classes; label += stride) order.push_back(label);
  }
  return order;
}

// Statistics that the first pass and each class add to the release: of this rank's rows, or, from a source, of all
// rows.
struct AddedGrams {
  Statistic sums;
  std::function<void(std::span<std::int64_t> triangle)> next;  // does what ClassGrams::next does
};

SecretVector<std::byte> secret_of_digests() {
  SecretVector<std::byte> secret(32);
  secure_bytes(secret);
  return secret;
}

AddedGrams grams_of_rows(const ReleaseRequest& request, const StatisticInputs& inputs, std::vector<std::size_t> order) {
  const auto hasher = std::make_shared<const RowHasher>(std::span<const std::byte, 32>(secret_of_digests()),
                                                        inputs.transform.output_dim());
  const auto grams = std::make_shared<ClassGrams>(request, inputs, *hasher, std::move(order));
  return {grams->take_sums(), [hasher, grams](std::span<std::int64_t> triangle) { grams->next(triangle); }};
}

AddedGrams grams_of_source(StatisticSource& source, StatisticTask task, std::vector<std::size_t> order) {
  task.part = StatisticPart::kClassSums;
  std::ranges::copy(secret_of_digests(), std::as_writable_bytes(std::span(task.secret)).begin());
  const Statistic whole = source.sum(task);
  std::vector<BlockShape> shape = whole.shape();
  shape.pop_back();  // of digests
  Statistic sums(std::move(shape));
  std::copy_n(whole.words().begin(), sums.words().size(), sums.words().begin());
  task.part = StatisticPart::kGramOfClass;
  const auto next = [&source, task, order = std::move(order), digests = digests_of(whole),
                     place = std::size_t{0}](std::span<std::int64_t> triangle) mutable {
    task.label = order[place++];
    const Statistic gram = source.sum(task);
    // Rows that are summed now must be the rows of the first sum, under the same labels: a row that moved would count
    // twice.
    if (digests_of(gram).front() != digests.at(task.label)) {
      throw BadInput(std::string("the training rows changed between two sums; partitions must hold the same rows and "
                                 "labels whenever they are read") +
                     kForOwnerOnly);
    }
    std::copy(gram.block(0).begin(), gram.block(0).end(), triangle.begin());
  };
  return {std::move(sums), next};
}

// Puts 1 + the class and the bits of what was made of it into `words`, which are a rank's of a round: of one class at
// most.
void put_solution(std::size_t label, const std::vector<double>& solution, std::size_t width,
                  std::vector<std::uint64_t>& words) {
  DPREDUCE_ASSERT(words.empty() && solution.size() == width);
  words.push_back(1 + label);
  for (const double number : solution) words.push_back(std::bit_cast<std::uint64_t>(number));
}

// Brings what ranks have made of their classes of a round to `all` at the coordinator, K x width: post-processing of
// noised matrices, and much smaller. Each rank has a slot: 1 + its class, then the bits of its numbers; zeros where it
// has no class, and `own` is empty. Only one rank writes at each place, so the sum over ranks is what that rank has
// written. Collective. Wire: P (width + 1) words.
void gather_solutions(Communicator& ranks, std::size_t width, std::span<const std::uint64_t> own,
                      std::vector<std::int64_t>& all) {
  const std::size_t slot = 1 + width;
  const auto owners = static_cast<std::size_t>(ranks.owners());
  std::vector<std::uint64_t> words(owners * slot, 0);
  const std::size_t first = owners == 1 ? 0 : static_cast<std::size_t>(ranks.rank()) * slot;
  std::ranges::copy(own, words.begin() + static_cast<std::ptrdiff_t>(first));
  if (owners > 1) ranks.sum_to_coordinator(words);
  if (!ranks.is_coordinator()) return;
  for (std::size_t place = 0; place < words.size(); place += slot) {
    if (words[place] == 0) continue;
    const auto numbers = std::span<const std::uint64_t>(words).subspan(place + 1, width);
    std::ranges::copy(numbers, all.begin() + static_cast<std::ptrdiff_t>((words[place] - 1) * width));
  }
}

// The matrices of the classes, a few at a time. One set of them is summed while the next is computed.
class GramRounds {
 public:
  // Called with a round's matrices of this rank's classes, and `advance`, which moves on what is being summed.
  using OnRound = std::function<void(const PartRelease::Owned&, const std::function<void()>& advance)>;

  GramRounds(Communicator& ranks, Timings& timings, PartRelease& parts, const decltype(AddedGrams::next)& add_next,
             std::size_t elements)
      : ranks_(ranks), timings_(timings), parts_(parts), add_next_(add_next), elements_(elements) {}

  // Collective. Releases the classes of `order`, one of a round for each owner.
  void release(const std::vector<std::size_t>& order, std::size_t owners, const OnRound& on_round) {
    for (auto& set : triangles_) {
      set.resize(std::min({owners, kGramsAtOnce, order.size()}));
      for (auto& triangle : set) triangle.resize(elements_);
    }
    bool ends_round = false;  // of what is pending
    for (std::size_t round = 0; round < order.size(); round += owners) {
      const std::size_t round_end = std::min(order.size(), round + owners);
      for (std::size_t first = round; first < round_end;) {
        const std::size_t end = std::min(round_end, first + triangles_[0].size());
        const std::vector<PartRelease::Part> group = computed(order, round, first, end);
        std::optional<PartRelease::Pending> before = std::exchange(pending_, parts_.start(kMatrices, group));
        if (before) finish(*before, ends_round, on_round);
        ends_round = end == round_end;
        first = end;
      }
    }
    if (std::optional<PartRelease::Pending> last = std::exchange(pending_, std::nullopt)) finish(*last, true, on_round);
  }

 private:
  // This rank's matrices of the classes at [first, end) of the order, in a set that is not being summed.
  std::vector<PartRelease::Part> computed(const std::vector<std::size_t>& order, std::size_t round, std::size_t first,
                                          std::size_t end) {
    auto& set = triangles_[groups_++ % triangles_.size()];
    std::vector<PartRelease::Part> group;
    for (std::size_t place = first; place < end; ++place) {
      group.push_back({order[place], static_cast<int>(place - round), set[place - first]});
    }
    ranks_.together([&] {
      for (const PartRelease::Part& part : group) {
        add_next_(part.local);
        advance();
      }
      ranks_.check_peers();
    });
    timings_.end_phase("gram");
    return group;
  }

  void finish(PartRelease::Pending& group, bool is_last_of_round, const OnRound& on_round) {
    for (auto& released : group.finish()) own_.push_back(std::move(released));
    timings_.end_phase("reduce");
    if (!is_last_of_round) return;
    on_round(own_, [this] { advance(); });
    own_.clear();
    timings_.end_phase("solve");
  }

  void advance() {
    if (pending_) pending_->advance();
  }

  Communicator& ranks_;
  Timings& timings_;
  PartRelease& parts_;
  const decltype(AddedGrams::next)& add_next_;
  std::size_t elements_;
  std::array<std::vector<SecretVector<std::int64_t>>, 2> triangles_;
  std::size_t groups_ = 0;
  PartRelease::Owned own_;  // of the round that is being summed
  std::optional<PartRelease::Pending> pending_;
};

// The blocks beside the class matrices, as every rank knows them. Collective.
std::vector<ReleasedBlock> released_sums(Statistic sums, PartRelease& parts, Communicator& ranks) {
  std::vector<ReleasedBlock> known;
  for (std::size_t b = 0; b < sums.shape().size(); ++b) {
    const std::string& block = sums.shape()[b].name;
    const PartRelease::Part whole{0, 0, sums.block(b)};
    const PartRelease::Owned owned = parts.start(block, {&whole, 1}).finish();
    std::vector<std::int64_t> values(whole.local.size());
    if (ranks.is_coordinator()) std::ranges::copy(owned.front().second.values(), values.begin());
    ranks.broadcast(std::as_writable_bytes(std::span(values)));
    known.emplace_back(block, std::move(values), parts.sigma(block));
  }
  return known;
}

// Number of released integers beside those of each class.
std::uint64_t integers_of_first_pass(const ReleaseRequest& request) {
  std::uint64_t integers = 0;
  for (const BlockRequest& block : request.blocks) integers += block.triangles > 1 ? 0 : block.elements;
  return integers;
}

}  // namespace

// The blocks of its record: those of the first pass, and the bits of what was made of all classes.
NamedIntegers TrainingRun::made_class_grams(std::size_t width, const OnClassGram& on_gram) {
  const ReleaseRequest& request = plan_.request(kClassGrams);
  const std::size_t owners = static_cast<std::size_t>(ranks_.owners());
  DPREDUCE_ASSERT(!sides_.watcher || owners == 1);
  const std::vector<std::size_t> order = strided_order(rows_.classes(), owners);
  OnChunk shown;  // of the first pass; passes for the classes show nothing
  const OnChunk on_chunk = [&](double share) { shown ? shown(share) : ranks_.check_peers(); };
  std::optional<AddedGrams> grams;
  rows_.in_pass(kClassGrams, [&](const OnChunk& show) {
    if (sides_.source == nullptr) {
      shown = show;
      grams = grams_of_rows(request, rows_.inputs(on_chunk), order);
      shown = nullptr;
    } else {
      grams = grams_of_source(*sides_.source, task_of(kClassGrams, rows_.preprocessing(), {}), order);
    }
  });
  std::vector<std::int64_t> watched;  // matrices for the watcher, whose one rank has all classes in their order
  std::optional<Release> whole;       // likewise
  const std::uint64_t integers = rows_.classes() * width + integers_of_first_pass(request);  // of the record
  NamedIntegers record = releaser_.release_in_parts(kClassGrams, integers, [&](PartRelease& parts) {
    const Release sums(released_sums(std::move(grams->sums), parts, ranks_));
    end_phase("sums");
    std::vector<std::int64_t> solutions(ranks_.is_coordinator() ? rows_.classes() * width : 0);  // bits of numbers
    GramRounds rounds(ranks_, timings_, parts, grams->next, triangle_elements(rows_.lattice().dim));
    rounds.release(order, owners, [&](const PartRelease::Owned& own, const std::function<void()>& advance) {
      std::vector<std::uint64_t> words;  // of this rank's class
      ranks_.together([&] {
        for (const auto& [label, gram] : own) {
          if (sides_.watcher) watched.insert(watched.end(), gram.values().begin(), gram.values().end());
          put_solution(label, on_gram(sums, label, gram), width, words);
          advance();
        }
      });
      gather_solutions(ranks_, width, words, solutions);
    });
    NamedIntegers made;
    for (const ReleasedBlock& block : sums.blocks()) {
      made.emplace_back(block.name(), std::vector(block.values().begin(), block.values().end()));
    }
    made.emplace_back(kSolutions, std::move(solutions));
    if (sides_.watcher) {
      std::vector<ReleasedBlock> blocks = sums.blocks();
      blocks.insert(blocks.begin(), {kMatrices, std::move(watched), parts.sigma(kMatrices)});
      whole.emplace(std::move(blocks));
    }
    return made;
  });
  if (whole) sides_.watcher({kClassGrams, *whole, rows_.preprocessing(), {}});
  return record;
}

std::vector<double> TrainingRun::release_class_grams(std::size_t width, const OnClassGram& on_gram) {
  std::optional<NamedIntegers> record = releaser_.saved(kClassGrams);
  if (!record) record = made_class_grams(width, on_gram);
  std::vector<double> solutions;
  ranks_.at_coordinator([&] {
    solutions.reserve(record->back().second.size());
    for (const std::int64_t bits : record->back().second) solutions.push_back(std::bit_cast<double>(bits));
    record->pop_back();
    DPREDUCE_ASSERT(solutions.size() == rows_.classes() * width);
    if (sides_.observer) show_observer(kClassGrams, releaser_.release_of(kClassGrams, std::move(*record)), {});
  });
  return solutions;
}

void TrainingRun::keep_class_grams() {
  const std::vector<double> kept = release_class_grams(
      triangle_elements(rows_.lattice().dim), [](const Release&, std::size_t, const ReleasedBlock& class_gram) {
        std::vector<double> bits(class_gram.values().size());
        std::ranges::transform(class_gram.values(), bits.begin(),
                               [](std::int64_t entry) { return std::bit_cast<double>(entry); });
        return bits;
      });
  ranks_.together([&] {
    if (!sides_.observer) return;
    std::vector<std::int64_t> matrices(kept.size());
    std::ranges::transform(kept, matrices.begin(), [](double bits) { return std::bit_cast<std::int64_t>(bits); });
    NamedIntegers blocks;
    blocks.emplace_back(kMatrices, std::move(matrices));
    show_observer(kWholeClassGrams, releaser_.release_of(kClassGrams, std::move(blocks)), {});
  });
}

}  // namespace dpreduce
