#include "audit/world_rows.hpp"

#include "common/base/error.hpp"
#include "fit/open_fit.hpp"
#include "persons/person_rows.hpp"

namespace dpreduce {
namespace {

// One of the ranks, or silos, knows this of its rows.
struct RowsOfRank {
  std::vector<RowWeight> weights;
  RowUnits persons;
};

// The persons of one silo are not those of another, whoever they are.
RowUnits side_by_side(const std::vector<RowsOfRank>& silos) {
  RowUnits all{.are_whole = true};
  UnitParts parts;
  for (const RowsOfRank& silo : silos) {
    const auto first = static_cast<std::uint32_t>(all.first_rows.size());
    for (const std::uint32_t person : silo.persons.of_rows) all.of_rows.push_back(first + person);
    all.first_rows.insert(all.first_rows.end(), silo.persons.first_rows.begin(), silo.persons.first_rows.end());
    const UnitParts whole(silo.persons.first_rows.size());
    const UnitParts& own = silo.persons.parts ? *silo.persons.parts : whole;
    parts.insert(parts.end(), own.begin(), own.end());
  }
  all.parts = std::make_shared<const UnitParts>(std::move(parts));
  return all;
}

}  // namespace

WorkerRows open_world(const FitOptions& options, const WorldRows& files) {
  DPREDUCE_ASSERT(options.data.has_units() != files.person.empty());
  WorkerRows all = WorkerRows::open(files.x, files.y, 0, 1, {}, options.data.train.role_of_y());
  if (files.person.empty()) return all;
  FitOptions of_world = options;
  of_world.data.train.x = files.x;
  of_world.data.train.y = files.y;
  of_world.data.train.person = files.person;
  const std::uint64_t bound = options.data.bounded_rows();
  const std::optional<std::uint32_t>& silos = options.silos.silos_per_person;
  const PersonNeeds needs{.coins = options.method.batch.has_value(),
                          .whole = true,
                          .classes = options.data.classes,
                          .bad_rows = options.data.train.bad_rows};
  std::vector<RowsOfRank> of_ranks(kRanksOfPersons);
  Communicator::on_threads(kRanksOfPersons, [&](Communicator& ranks) {
    WorkerRows own = open_training_rows(of_world, ranks);
    std::optional<ShardedArray> persons = open_persons(of_world.data.train, own, ranks);
    silos ? weigh(own, &*persons, bound, count_in_silo(*silos), ranks, needs)
          : weigh(own, &*persons, bound, count_over_ranks, ranks);
    RowsOfRank& of_rank = of_ranks[static_cast<std::size_t>(ranks.rank())];
    for (std::uint64_t row = own.range().first; row < own.range().end(); ++row) {
      of_rank.weights.push_back(own.weight(row));
    }
    if (silos && needs.whole) of_rank.persons = own.units();
  });
  std::vector<RowWeight> weights;
  for (const RowsOfRank& own : of_ranks) weights.insert(weights.end(), own.weights.begin(), own.weights.end());
  if (silos && needs.whole) {
    all.set_units(side_by_side(of_ranks));
  } else if (needs.coins || needs.whole) {
    Communicator alone = Communicator::alone();
    std::optional<ShardedArray> persons = open_persons(of_world.data.train, all, alone);
    weigh(all, &*persons, bound, count_over_ranks, alone, needs);
  }
  all.set_weights(std::move(weights));
  return all;
}

}  // namespace dpreduce
