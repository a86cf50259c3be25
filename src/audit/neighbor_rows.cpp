#include "audit/neighbor_rows.hpp"

#include <cmath>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/npy_writer.hpp"
#include "fit/ranked_rows.hpp"
#include "worker/person_rows.hpp"

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
    WorkerRows own = open_ranked_rows(of_world.data.train, ranks);
    std::optional<ShardedArray> persons = open_beside(ArrayRole::kPersons, of_world.data.train, own, ranks);
    silos ? weigh(own, &*persons, bound, count_in_silo(*silos), ranks, needs)
          : weigh(own, &*persons, bound, count_over_ranks, ranks);
    RowsOfRank& of_rank = of_ranks[static_cast<std::size_t>(ranks.rank())];
    for (std::uint64_t row = own.range().first; row < own.range().end(); ++row) {
      of_rank.weights.push_back(own.weight(row));
    }
    if (silos) of_rank.persons = own.units();
  });
  std::vector<RowWeight> weights;
  for (const RowsOfRank& own : of_ranks) weights.insert(weights.end(), own.weights.begin(), own.weights.end());
  if (silos) {
    all.set_units(side_by_side(of_ranks));
  } else {
    Communicator alone = Communicator::alone();
    std::optional<ShardedArray> persons = open_beside(ArrayRole::kPersons, of_world.data.train, all, alone);
    weigh(all, &*persons, bound, count_over_ranks, alone, needs);
  }
  all.set_weights(std::move(weights));
  return all;
}

namespace {

constexpr std::int32_t kCanaryClass = 0;
constexpr std::int32_t kOtherClass = 1;
constexpr std::int32_t kBalancingClass = 2;

std::vector<float> along_diagonal(const NeighborTerms& terms, double length) {
  return std::vector<float>(terms.dim,
                            static_cast<float>(length * terms.clip_norm / std::sqrt(static_cast<double>(terms.dim))));
}

// Row at right angles to a row along the diagonal, if the number of features is even.
std::vector<float> at_right_angles_to(std::vector<float> row) {
  for (std::size_t a = 1; a < row.size(); a += 2) row[a] = -row[a];
  return row;
}

// n rows -C u in class `label`, and those that balance the mean.
LabeledRows other_rows(const NeighborTerms& terms, std::int32_t label) {
  LabeledRows rows{terms.dim, {}, {}};
  for (std::size_t row = 0; row < terms.other_rows; ++row) rows.add(along_diagonal(terms, -1.0), label);
  for (std::size_t row = 0; row < terms.balancing_rows; ++row) {
    rows.add(along_diagonal(terms, row % 2 == 0 ? 1.0 : -1.0), kBalancingClass);
  }
  return rows;
}

// n rows C u, and 2 n rows -C u.
LabeledRows rows_taken_for(const NeighborTerms& terms) {
  LabeledRows rows{terms.dim, {}, {}};
  for (std::size_t row = 0; row < terms.rows_taken_for; ++row) {
    rows.add(along_diagonal(terms, 1.0), kOtherClass);
    for (int opposite = 0; opposite < 2; ++opposite) rows.add(along_diagonal(terms, -1.0), kBalancingClass);
  }
  return rows;
}

// Every row is a person, and the last, where a canary has rows, the first of these; of a hollow one the others are
// zero. A third of the others comes before each third of the canary's rows.
LabeledRows as_persons(const LabeledRows& rows, std::size_t canary_rows, bool is_hollow) {
  LabeledRows result{rows.dim, {}, {}, {}};
  const std::size_t others = rows.rows() - (canary_rows > 0 ? 1 : 0);
  const std::vector<float> zero(rows.dim, 0.0F);
  constexpr std::size_t kParts = static_cast<std::size_t>(kRanksOfPersons);
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto first = [&](std::size_t count) { return count * part / kParts; };
    const auto end = [&](std::size_t count) { return count * (part + 1) / kParts; };
    for (std::size_t row = first(others); row < end(others); ++row) {
      result.add(rows.row(row), rows.y[row]);
      result.person.push_back(static_cast<std::int64_t>(row) + 1);
    }
    for (std::size_t row = first(canary_rows); row < end(canary_rows); ++row) {
      const bool is_zero = is_hollow && row > 0;
      result.add(is_zero ? std::span<const float>(zero) : rows.row(others), rows.y[others]);
      result.person.push_back(0);
    }
  }
  return result;
}

void make_persons(std::vector<NeighborPair>& pairs, const NeighborTerms& terms) {
  const bool adds = terms.adjacency == Adjacency::kAddRemove;
  if (adds && terms.has_counts) {
    pairs.push_back(pairs.back());
    pairs.back().name = "hollow";
  }
  for (NeighborPair& pair : pairs) {
    const bool is_hollow = pair.name == "hollow";
    pair.without = as_persons(pair.without, adds ? 0 : terms.person_rows, is_hollow);
    pair.with = as_persons(pair.with, terms.person_rows, is_hollow);
  }
}

}  // namespace

void LabeledRows::add(std::span<const float> row, std::int32_t label) {
  DPREDUCE_ASSERT(row.size() == dim);
  x.insert(x.end(), row.begin(), row.end());
  y.push_back(label);
}

WorldRows LabeledRows::write(const std::filesystem::path& folder, const std::string& name) const {
  const auto path_of = [&](const char* what) { return (folder / fmt::format("{}_{}.npy", what, name)).string(); };
  WorldRows files{.x = {path_of("x")}, .y = {path_of("y")}};
  const auto write = [](const std::string& path, DType dtype, const Shape& shape, const auto& elements) {
    NpyWriter writer(path, dtype, shape);
    writer.append(std::span(elements));
    writer.commit();
  };
  write(files.x.front(), DType::kFloat32, {rows(), dim}, x);
  write(files.y.front(), DType::kInt64, {rows()}, y);
  if (person.empty()) return files;
  DPREDUCE_ASSERT(person.size() == rows());
  files.person = {path_of("person")};
  write(files.person.front(), DType::kInt64, {rows()}, person);
  return files;
}

LabeledRows opposed_public_rows(std::size_t dim, double clip_norm) {
  LabeledRows rows{dim, {}, {}};
  const NeighborTerms terms{.dim = dim, .clip_norm = clip_norm};
  rows.add(along_diagonal(terms, 1.0), 0);
  rows.add(along_diagonal(terms, -1.0), 0);
  rows.add(at_right_angles_to(along_diagonal(terms, 1.0)), 0);
  return rows;
}

std::vector<NeighborPair> worst_case_pairs(const NeighborTerms& terms) {
  DPREDUCE_ASSERT(terms.classes >= 3 && terms.dim >= 1 && terms.clip_norm > 0.0);
  const std::vector<float> canary = along_diagonal(terms, kCanaryLength);
  std::vector<NeighborPair> pairs;
  if (terms.adjacency == Adjacency::kAddRemove) {
    pairs.push_back({"alone", rows_taken_for(terms), rows_taken_for(terms)});
    pairs.push_back({"opposed", other_rows(terms, kCanaryClass), other_rows(terms, kCanaryClass)});
  } else {
    pairs.push_back({"turned", other_rows(terms, kOtherClass), other_rows(terms, kOtherClass)});
    pairs.back().without.add(along_diagonal(terms, -kCanaryLength), kCanaryClass);
    pairs.push_back({"moved", other_rows(terms, kOtherClass), other_rows(terms, kOtherClass)});
    pairs.back().without.add(at_right_angles_to(canary), kOtherClass);
  }
  for (NeighborPair& pair : pairs) pair.with.add(canary, kCanaryClass);
  if (terms.person_rows > 0) make_persons(pairs, terms);
  return pairs;
}

std::size_t rows_of_canary(const DataOptions& data) {
  constexpr std::size_t kTimesBound = 2 * kRanksOfPersons;
  return data.has_units() ? kTimesBound * static_cast<std::size_t>(data.bounded_rows()) : 0;
}

}  // namespace dpreduce
