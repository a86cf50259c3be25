// Record and replay with whole persons: every registered statistic with one person more or less, who may have any
// number of rows, as plans hold them to their bound; and with every row weighed.
#include "worker/weighted_rows.hpp"

#include "common/data/memory_array.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "tests/testing.hpp"
#include "tests/worker/declared_squares.hpp"
#include "tests/worker/scoring_model.hpp"
#include "worker/row_digest.hpp"
#include "worker/statistic_entry.hpp"
#include "worker/statistics/registered_statistics.hpp"
#include "worker/utilities.hpp"

namespace dpreduce::weighted_rows_test {

constexpr std::size_t kWeighedClasses = 3;
constexpr std::size_t kWeighedDim = 20;

struct PersonalRow {
  std::vector<float> x;
  std::int32_t y = 0;
};
using Person = std::vector<PersonalRow>;

PersonalRow drawn_row(std::mt19937& engine) {
  PersonalRow row{.x = {}, .y = static_cast<std::int32_t>(engine() % kWeighedClasses)};
  row.x = normal_numbers<float>(engine, kWeighedDim);
  if (engine() % 5 == 0) std::fill(row.x.begin(), row.x.end(), 3e38F);
  if (engine() % 7 == 0) std::fill(row.x.begin(), row.x.end(), 0.0F);
  if (engine() % 5 == 0) {
    std::fill(row.x.begin(), row.x.end(), 0.0F);
    row.x[0] = 1000.0F;
  }
  return row;
}

// Rows that all point the same way, or that differ.
Person drawn_person(std::mt19937& engine, std::size_t rows) {
  Person person;
  const bool are_alike = engine() % 2 == 0;
  for (std::size_t row = 0; row < rows; ++row) {
    person.push_back(are_alike && row > 0 ? person.front() : drawn_row(engine));
  }
  return person;
}

enum class Held {
  kByWeights,  // in every statistic, as rows with stated weights are
  kAsPlanned   // clipped where the statistic clips
};

// Shows `compute` the rows of all persons, weighed; with `held` as planned, with their persons. Those of one person do
// not follow one another. With `counted` a person's rows count as so many.
template <typename Compute>
Statistic of_persons(const std::vector<Person>& persons, std::uint64_t rows_per_person, const RowTransform& transform,
                     const Compute& compute, Held held = Held::kByWeights, unsigned threads = 1,
                     const std::vector<std::uint64_t>& counted = {}) {
  const auto counted_of = [&](std::size_t person) {
    return counted.empty() ? persons[person].size() : counted[person];
  };
  std::vector<float> x;
  std::vector<std::int32_t> y;
  std::vector<RowWeight> weights;
  RowUnits of_rows{.are_whole = true};
  UnitParts parts;
  for (std::size_t person = 0; person < persons.size(); ++person) {
    of_rows.first_rows.push_back(7 * person + persons[person].size());
    parts.push_back(part_of_unit(persons[person].size(), counted_of(person)));
  }
  if (!counted.empty()) of_rows.parts = std::make_shared<const UnitParts>(std::move(parts));
  std::size_t most = 0;
  for (const Person& person : persons) most = std::max(most, person.size());
  for (std::size_t turn = 0; turn < most; ++turn) {
    for (std::uint32_t person = 0; person < persons.size(); ++person) {
      if (turn >= persons[person].size()) continue;
      const PersonalRow& row = persons[person][turn];
      x.insert(x.end(), row.x.begin(), row.x.end());
      y.push_back(row.y);
      weights.push_back(weight_of_rows(counted_of(person), rows_per_person));
      of_rows.of_rows.push_back(person);
    }
  }
  std::vector<double> targets;
  for (std::size_t first = 0; first < x.size(); first += kWeighedDim) {
    for (std::size_t t = 0; t < transform.preprocessing().targets.count; ++t) targets.push_back(double{x[first + t]});
  }
  const bool has_targets = !targets.empty();
  WorkerRows rows = WorkerRows::in_memory(array_view(x, kWeighedDim),
                                          has_targets ? array_view(targets, kWeighedClasses) : array_view(y), "x", "y",
                                          has_targets ? ArrayRole::kTargets : ArrayRole::kLabels);
  if (rows_per_person > 0) rows.set_weights(std::move(weights));
  if (held == Held::kAsPlanned) rows.set_units(std::move(of_rows));
  const StreamPlan plan{kWeighedClasses, BadRows::kFail, 4096, threads, rows.label_slots(1)};
  return compute(StatisticInputs{{rows, transform, plan, kUnwatched}});
}

Statistic registered_of(const StatisticEntry& entry, const ReleaseRequest& request, const std::vector<Person>& persons,
                        std::uint64_t rows_per_person, const RowTransform& of_classes, Held held = Held::kByWeights,
                        unsigned threads = 1, const std::vector<std::uint64_t>& counted = {}) {
  RowTransform transform = of_classes;
  if (entry.name.starts_with("target_")) transform.set_targets({.count = kWeighedClasses});
  const EvaluationTerms asked = all_terms(kWeighedClasses);
  const SteepPoints points(
      transform, {scoring_model(kWeighedDim, kWeighedClasses), scoring_model(kWeighedDim, kWeighedClasses, 1.1)},
      asked);
  const auto compute = [&](const StatisticInputs& of) {
    return entry.compute(request, {{of.rows, of.transform, of.plan, of.on_chunk}, points.of(entry)});
  };
  return of_persons(persons, rows_per_person, transform, compute, held, threads, counted);
}

// Where the rows of a person lie: together, or in three silos, each of which counts them three times, or knows how many
// there are in all.
enum class Spread { kTogether, kPromised, kCounted };

// Summed over the silos, as each of them holds persons to their bound.
Statistic spread_of(const StatisticEntry& entry, const ReleaseRequest& request, const std::vector<Person>& persons,
                    std::uint64_t rows_per_person, const RowTransform& transform, Held held, Spread spread) {
  constexpr std::size_t kSilos = 3;
  if (spread == Spread::kTogether) return registered_of(entry, request, persons, rows_per_person, transform, held);
  Statistic sum = empty_statistic(request);
  for (std::size_t silo = 0; silo < kSilos; ++silo) {
    std::vector<Person> here;
    std::vector<std::uint64_t> counted;
    for (const Person& person : persons) {
      Person own;
      for (std::size_t row = silo; row < person.size(); row += kSilos) own.push_back(person[row]);
      if (own.empty()) continue;
      counted.push_back(spread == Spread::kPromised ? kSilos * own.size() : person.size());
      here.push_back(std::move(own));
    }
    if (here.empty()) continue;
    const Statistic of_silo = registered_of(entry, request, here, rows_per_person, transform, held, 1, counted);
    std::ranges::transform(sum.words(), of_silo.words(), sum.words().begin(), std::plus());
  }
  return sum;
}

ReleaseTerms terms_of(const RowTransform& transform) {
  ReleaseTerms terms{.classes = kWeighedClasses, .dim = transform.output_dim(), .metric = Metric::kEuclidean};
  terms.has_units = true;
  terms.evaluation = all_terms(kWeighedClasses);
  return terms;
}

// As make_fit_plan makes it.
ReleaseRequest request_of(const StatisticEntry& entry, ReleaseTerms terms, Held held, std::uint64_t rows_per_person) {
  terms.clips_units = held == Held::kAsPlanned;
  ReleaseRequest request = entry.request(terms, 1.0);
  request.rows_per_unit = rows_per_person;
  return request;
}

class WeighedPersons : public testing::TestWithParam<std::tuple<std::uint64_t, Held, Spread>> {
 protected:
  // Calls it with every registered statistic, class means with counts and without.
  void for_each_request(const RowTransform& transform, Adjacency adjacency,
                        const std::function<void(const StatisticEntry&, const ReleaseRequest&)>& call) const {
    ReleaseTerms terms = terms_of(transform);
    terms.adjacency = adjacency;
    for (const StatisticEntry* entry : registered_statistics()) {
      for (const Metric metric : {Metric::kEuclidean, Metric::kCosine}) {
        if (metric == Metric::kCosine && entry->name != "class_means") continue;
        terms.metric = metric;
        call(*entry, request_of(*entry, terms, held_, bound_));
      }
    }
  }

  // Squared distance of the values of each block, in B times its unit.
  std::vector<long double> moves(const StatisticEntry& entry, const ReleaseRequest& request,
                                 const RowTransform& transform, const std::vector<Person>& persons,
                                 const std::vector<Person>& neighbor) const {
    const Statistic before = spread_of(entry, request, persons, bound_, transform, held_, spread_);
    const Statistic after = spread_of(entry, request, neighbor, bound_, transform, held_, spread_);
    std::vector<long double> moved = squared_differences(request, before, after);
    for (std::size_t block = 0; block < moved.size(); ++block) {
      const auto unit = static_cast<long double>(bound_ << request.blocks[block].fraction_bits);
      moved[block] /= unit * unit;
    }
    return moved;
  }

  static std::vector<Person> three_persons(std::mt19937& engine, std::size_t most_rows) {
    std::vector<Person> persons;
    for (int person = 0; person < 3; ++person) persons.push_back(drawn_person(engine, 1 + engine() % most_rows));
    return persons;
  }

  const std::uint64_t bound_ = std::get<0>(GetParam());
  const Held held_ = std::get<1>(GetParam());
  const Spread spread_ = std::get<2>(GetParam());
};

TEST_P(WeighedPersons, NobodyMovesAnyRegisteredStatisticFurtherThanSoManyRows) {
  const RowTransform transform({kWeighedDim, 1, Normalize::kNone, 2.5, {}, 0.1});
  const auto check = [&](const StatisticEntry& entry, const ReleaseRequest& request) {
    ASSERT_EQ(request.profiles.size(), 1u);
    std::mt19937 engine(7);
    std::vector<double> reach(request.blocks.size(), 0.0);
    for (int trial = 0; trial < 24; ++trial) {
      const std::vector<Person> persons = three_persons(engine, 4);
      std::vector<Person> neighbor = persons;
      neighbor.insert(neighbor.begin() + trial % 4, drawn_person(engine, 1 + engine() % 23));
      const std::vector<long double> moved = moves(entry, request, transform, persons, neighbor);
      for (std::size_t block = 0; block < reach.size(); ++block) {
        const auto most = static_cast<long double>(request.profiles[0].squared_l2[block]);
        EXPECT_LE(moved[block], most * (1.0L + 1e-15L)) << entry.name << " " << request.blocks[block].name;
        reach[block] = std::max(reach[block], static_cast<double>(moved[block] / most));
      }
    }
    // A person whose rows are all alike comes close; but few residuals are of full length.
    for (std::size_t block = 0; block < reach.size(); ++block) {
      EXPECT_GE(reach[block], entry.taken_at == TakenAt::kWeights ? 0.02 : 0.75)
          << entry.name << " " << request.blocks[block].name;
    }
  };
  for_each_request(transform, Adjacency::kAddRemove, check);
}

// The same with one person exchanged for another: no noise makes that cost more than the worst declared change, B times
// as far.
TEST_P(WeighedPersons, NobodyExchangedMovesAnyRegisteredStatisticFurtherThanDeclared) {
  std::mt19937 engine(17);
  const RowTransform transform({kWeighedDim, 1, Normalize::kNone, 2.5, {}, 0.0});
  const auto check = [&](const StatisticEntry& entry, const ReleaseRequest& request) {
    for (int trial = 0; trial < 24; ++trial) {
      const std::vector<Person> persons = three_persons(engine, 9);
      std::vector<Person> neighbor = persons;
      neighbor[1] = drawn_person(engine, 1 + engine() % 23);
      if (trial % 2 == 0) {  // the far end of the ball
        neighbor[1] = persons[1];
        for (PersonalRow& row : neighbor[1]) {
          for (float& entry_of_row : row.x) entry_of_row = -entry_of_row;
        }
      }
      const std::vector<long double> moved = moves(entry, request, transform, persons, neighbor);
      EXPECT_TRUE(is_within(moved, request.profiles, 1e-14L)) << entry.name;
    }
  };
  for_each_request(transform, Adjacency::kReplaceOne, check);
}

INSTANTIATE_TEST_SUITE_P(Bounds, WeighedPersons,
                         testing::Combine(testing::Values(1, 2, 5), testing::Values(Held::kByWeights, Held::kAsPlanned),
                                          testing::Values(Spread::kTogether)));
INSTANTIATE_TEST_SUITE_P(InSilosAndPartitions, WeighedPersons,
                         testing::Combine(testing::Values(1, 2, 5), testing::Values(Held::kAsPlanned),
                                          testing::Values(Spread::kPromised, Spread::kCounted)));

// Where rows are counted, sums and counts are of one form.
TEST(StatisticForms, SumsAreClippedAndWhatCountsRowsIsWeighed) {
  ReleaseTerms terms{.classes = kWeighedClasses, .dim = kWeighedDim};
  terms.has_units = terms.clips_units = true;
  terms.evaluation = all_terms(kWeighedClasses);
  const auto clipped = [&](Metric metric) {
    terms.metric = metric;
    std::set<std::string_view> names;
    for (const StatisticEntry* entry : registered_statistics()) {
      if (entry->request(terms, 1.0).clips_units) names.insert(entry->name);
    }
    return names;
  };
  std::set<std::string_view> sums{"gram", "pca", "least_squares", "class_least_squares", "gradient", "feature_sums"};
  EXPECT_EQ(clipped(Metric::kEuclidean), sums);
  sums.insert("class_means");
  EXPECT_EQ(clipped(Metric::kCosine), sums);
  terms.clips_units = false;
  EXPECT_TRUE(clipped(Metric::kCosine).empty());
}

const Preprocessing kAlike{kWeighedDim, 1, Normalize::kL2, 2.5, {}, 0.0};

std::vector<Person> persons_of_one_row(std::mt19937 engine, int count) {
  std::vector<Person> persons;
  for (int person = 0; person < count; ++person) persons.push_back(drawn_person(engine, 1));
  return persons;
}

TEST(WeightedRows, OneRowAPersonIsTheStatisticWithoutPersons) {
  const RowTransform transform(kAlike);
  const std::vector<Person> persons = persons_of_one_row(std::mt19937(9), 12);
  ReleaseTerms terms = terms_of(transform);
  for (const StatisticEntry* entry : registered_statistics()) {
    terms.has_units = false;
    const Statistic plain = registered_of(*entry, entry->request(terms, 1.0), persons, 0, transform);
    terms.has_units = true;
    const Statistic weighed = registered_of(*entry, entry->request(terms, 1.0), persons, 1, transform);
    for (std::size_t block = 0; block < plain.shape().size(); ++block) {
      const std::int64_t unit = std::int64_t{1} << weighed.shape()[block].fraction_bits;
      for (std::size_t e = 0; e < plain.block(block).size(); ++e) {
        ASSERT_EQ(weighed.block(block)[e], unit * plain.block(block)[e]) << entry->name;
      }
    }
  }
}

// Clipped as well: nobody has more than B rows.
TEST(WeightedRows, OneRowAPersonIsNotClipped) {
  const RowTransform transform(kAlike);
  const std::vector<Person> persons = persons_of_one_row(std::mt19937(10), 12);
  ReleaseTerms terms = terms_of(transform);
  terms.metric = ReleaseTerms().metric;
  for (const StatisticEntry* entry : registered_statistics()) {
    const ReleaseRequest clip = request_of(*entry, terms, Held::kAsPlanned, 1);
    if (!clip.clips_units) continue;
    const Statistic plain = registered_of(*entry, entry->request(terms, 1.0), persons, 0, transform);
    const Statistic clipped = registered_of(*entry, clip, persons, 1, transform, Held::kAsPlanned, 3);
    EXPECT_TRUE(std::ranges::equal(plain.words(), clipped.words())) << entry->name;
  }
}

TEST(WeightedRows, NobodyAddsMoreToAUtilityThanSoManyRows) {
  constexpr std::uint64_t kBound = 2;
  std::mt19937 engine(3);
  const RowTransform transform(kAlike);
  const Lattice lattice{2.5, transform.output_dim()};
  const std::vector<LatticeWeights> candidates{{steep_weights(lattice.dim), lattice}};
  std::int64_t largest = 0;
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<Person> persons{drawn_person(engine, 3)};
    const auto counts = [&] {
      return of_persons(persons, kBound, transform,
                        [&](const StatisticInputs& inputs) { return correct_counts(candidates, inputs); })
          .block(0)[0];
    };
    const std::int64_t fewer = counts();
    persons.push_back(drawn_person(engine, 1 + engine() % 9));
    const std::int64_t rise = counts() - fewer;
    EXPECT_GE(rise, 0);
    EXPECT_LE(rise, static_cast<std::int64_t>(kBound) << kWeightBits);
    largest = std::max(largest, rise);
  }
  EXPECT_GT(largest, std::int64_t{1} << kWeightBits);
}

TEST(WeightedRows, NobodyAddsMoreToAPrototypeThanSoManyRows) {
  constexpr std::uint64_t kBound = 2;
  std::mt19937 engine(4);
  const RowTransform transform(kAlike);
  std::vector<Person> candidates;
  for (int row = 0; row < 5; ++row) candidates.push_back(drawn_person(engine, 1));
  for (const CosineClip& clip : {cosine_clip(0.0, 2.0), cosine_clip(0.5, 1.5)}) {
    const PlannedSelection selection = prototype_selection(kWeighedClasses, candidates.size(), 1, clip, 1.0);
    // Utilities of all candidates; where nothing is clipped, but for what all of a class share.
    const auto utilities = [&](const std::vector<Person>& persons) {
      return of_persons(candidates, 0, transform, [&](const StatisticInputs& of_candidates) {
        return of_persons(persons, kBound, transform, [&](const StatisticInputs& inputs) {
          return prototype_utilities(
              selection, clip, {{inputs.rows, of_candidates.transform, inputs.plan, inputs.on_chunk}}, of_candidates);
        });
      });
    };
    for (int trial = 0; trial < 10; ++trial) {
      std::vector<Person> persons{drawn_person(engine, 3)};
      const Statistic fewer = utilities(persons);
      persons.push_back(drawn_person(engine, 1 + engine() % 9));
      const Statistic more = utilities(persons);
      std::int64_t widest = 0;
      for (std::size_t c = 0; c < kWeighedClasses; ++c) {
        std::vector<std::int64_t> rises;
        for (std::size_t e = c * candidates.size(); e < (c + 1) * candidates.size(); ++e) {
          rises.push_back(more.block(0)[e] - fewer.block(0)[e]);
        }
        widest = std::max(widest, std::ranges::max(rises) - std::ranges::min(rises));
      }
      EXPECT_LE(widest, static_cast<std::int64_t>(kBound * clip.range()));
    }
  }
}

TEST(WeightedRows, EveryNormIsHeldInIntegers) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  const Lattice lattice{1.0, 300};
  std::vector<double> u(lattice.dim);
  std::vector<std::int16_t> q(lattice.dim);
  std::vector<std::int16_t> out(lattice.dim);
  for (int trial = 0; trial < 200; ++trial) {
    for (double& entry : u) entry = trial % 3 == 0 ? 0.01 * normal(engine) : normal(engine);
    const double norm = std::sqrt(sum_of_squares(u));
    for (double& entry : u) entry /= norm;
    ASSERT_TRUE(quantize_row(u, lattice, q));
    const std::uint64_t rows = 1 + engine() % (trial % 2 == 0 ? 40 : 200000);
    const RowWeight weight = weight_of_rows(rows, 1 + engine() % 3);
    const long double share = static_cast<long double>(weight) / kWholeRow;
    weigh_row(q, weight, WeightPower::kWhole, out);
    EXPECT_LE(sum_of_squares<long double>(out), share * share * static_cast<long double>(kSquaredNorm));
    weigh_row(q, weight, WeightPower::kHalf, out);
    EXPECT_LE(sum_of_squares<long double>(out), share * static_cast<long double>(kSquaredNorm));
    out = q;
    shrink_row(out, weight);
    for (std::size_t a = 0; a < q.size(); ++a) {
      EXPECT_LE(static_cast<long double>(out[a]) * out[a], share * q[a] * q[a]);
    }
    std::vector<std::int16_t> in_place = q;
    weigh_row(q, weight, WeightPower::kWhole, out);
    weigh_row(in_place, weight, WeightPower::kWhole, in_place);
    EXPECT_EQ(in_place, out);
    weigh_row(q, kWholeRow, WeightPower::kHalf, out);
    EXPECT_EQ(out, q);
  }
  weigh_row(q, 0, WeightPower::kHalf, out);
  EXPECT_EQ(out, std::vector<std::int16_t>(lattice.dim, 0));
}

TEST(WeightedRows, APersonsRowsWeighAtMostSoManyRows) {
  for (const std::uint64_t bound : {1u, 2u, 7u, 65536u}) {
    for (const std::uint64_t rows : {1u, 2u, 3u, 7u, 8u, 1000u, 16777217u, 4294967295u}) {
      const RowWeight weight = weight_of_rows(rows, bound);
      EXPECT_LE(rows * weight, bound * kWholeRow);
      EXPECT_EQ(weight == kWholeRow, rows <= bound);
    }
  }
}

// Whole rows have the digest of rows without weights.
TEST(WeightedRows, DigestsTellWeightsApart) {
  const RowTransform transform(kAlike);
  const auto digest = [&](const std::vector<Person>& persons, std::uint64_t rows_per_person) {
    std::vector<RowDigest> of_classes(kWeighedClasses, RowDigest{});
    const auto take = [&](const StatisticInputs& inputs) {
      const RowHasher hasher(std::array<std::byte, 32>{}, transform.output_dim());
      for_each_chunk(inputs,
                     [&](const LatticeRows& chunk) { hasher.accumulate(chunk, chunk.weights(), of_classes, 1); });
      return Statistic({{"none", 1}});
    };
    of_persons(persons, rows_per_person, transform, take);
    return of_classes;
  };
  const std::vector<Person> alone = persons_of_one_row(std::mt19937(6), 2);
  const std::vector<Person> together{{alone[0].front(), alone[1].front()}};
  EXPECT_EQ(digest(alone, 1), digest(alone, 0));
  EXPECT_EQ(digest(together, 2), digest(alone, 0));
  EXPECT_NE(digest(together, 1), digest(alone, 0));
}

}  // namespace dpreduce::weighted_rows_test
