#include "audit/world_rows.hpp"

#include "common/base/error.hpp"
#include "fit/fit_rows.hpp"
#include "fit/person_rows.hpp"

namespace dpreduce {

WorkerRows open_world(const FitOptions& options, const WorldRows& files) {
  DPREDUCE_ASSERT(options.data.has_persons() != files.person.empty());
  WorkerRows all = WorkerRows::open(files.x, files.y, 0, 1);
  if (files.person.empty()) return all;
  FitOptions of_world = options;
  of_world.data.train.x = files.x;
  of_world.data.train.y = files.y;
  of_world.data.train.person = files.person;
  std::vector<std::vector<RowWeight>> of_ranks(kRanksOfPersons);
  Communicator::on_threads(kRanksOfPersons, [&](Communicator& ranks) {
    WorkerRows own = open_training_rows(of_world, ranks);
    std::optional<ShardedArray> persons = open_persons(of_world.data.train, own, ranks);
    weigh_by_person(own, *persons, of_world.data.bounded_rows(), ranks);
    std::vector<RowWeight>& weights = of_ranks[static_cast<std::size_t>(ranks.rank())];
    for (std::uint64_t row = own.range().first; row < own.range().end(); ++row) weights.push_back(own.weight(row));
  });
  std::vector<RowWeight> weights;
  for (const std::vector<RowWeight>& own : of_ranks) weights.insert(weights.end(), own.begin(), own.end());
  const PersonNeeds needs{.coins = options.method.batch.has_value(),
                          .whole = options.data.clips_persons(),
                          .classes = options.data.classes,
                          .bad_rows = options.data.train.bad_rows};
  if (needs.coins || needs.whole) {
    Communicator alone = Communicator::alone();
    std::optional<ShardedArray> persons = open_persons(of_world.data.train, all, alone);
    weigh_by_person(all, *persons, options.data.bounded_rows(), alone, needs);
  }
  all.set_weights(std::move(weights));
  return all;
}

}  // namespace dpreduce
