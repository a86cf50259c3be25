#include "audit/neighbor_rows.hpp"

#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/npy_writer.hpp"

namespace dpreduce {
namespace {

constexpr std::int32_t kCanaryClass = 0;
constexpr std::int32_t kOtherClass = 1;
constexpr std::int32_t kBalancingClass = 2;

std::vector<float> along_diagonal(const NeighborTerms& terms, double length) {
  return std::vector<float>(terms.dim,
                            static_cast<float>(length * terms.clip_norm / std::sqrt(static_cast<double>(terms.dim))));
}

// Of a row along the diagonal, where the number of features is even.
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

// What the canary of a pair is made of, where the unit is a person.
struct CanaryPerson {
  std::size_t rows = 0;
  bool is_hollow = false;  // all rows but one are zero
};

// Every row is a person, and the last, where `has_canary`, the first of several rows of one. A third of the others
// comes before each third of the canary's rows.
LabeledRows as_persons(const LabeledRows& rows, bool has_canary, const CanaryPerson& canary) {
  LabeledRows result{rows.dim, {}, {}, {}};
  const std::size_t others = rows.rows() - (has_canary ? 1 : 0);
  const std::vector<float> zero(rows.dim, 0.0F);
  constexpr std::size_t kParts = static_cast<std::size_t>(kRanksOfPersons);
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto first = [&](std::size_t count) { return count * part / kParts; };
    const auto end = [&](std::size_t count) { return count * (part + 1) / kParts; };
    for (std::size_t row = first(others); row < end(others); ++row) {
      result.add(rows.row(row), rows.y[row]);
      result.person.push_back(static_cast<std::int64_t>(row) + 1);
    }
    if (!has_canary) continue;
    for (std::size_t row = first(canary.rows); row < end(canary.rows); ++row) {
      const bool is_zero = canary.is_hollow && row > 0;
      result.add(is_zero ? std::span<const float>(zero) : rows.row(others), rows.y[others]);
      result.person.push_back(0);
    }
  }
  return result;
}

void make_persons(std::vector<NeighborPair>& pairs, const NeighborTerms& terms) {
  const bool adds = terms.adjacency == Adjacency::kAddRemove;
  const std::size_t pairs_of_rows = pairs.size();
  if (adds && terms.has_counts) {
    pairs.push_back(pairs.back());
    pairs.back().name = "hollow";
  }
  for (NeighborPair& pair : pairs) {
    const CanaryPerson canary{terms.person_rows, &pair - pairs.data() >= static_cast<std::ptrdiff_t>(pairs_of_rows)};
    pair.without = as_persons(pair.without, !adds, canary);
    pair.with = as_persons(pair.with, true, canary);
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
  NpyWriter features(files.x.front(), DType::kFloat32, {rows(), dim});
  features.append(std::span(x));
  features.commit();
  NpyWriter labels(files.y.front(), DType::kInt64, {rows()});
  labels.append(std::span(y));
  labels.commit();
  if (person.empty()) return files;
  DPREDUCE_ASSERT(person.size() == rows());
  files.person = {path_of("person")};
  NpyWriter persons(files.person.front(), DType::kInt64, {rows()});
  persons.append(std::span(person));
  persons.commit();
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
    for (NeighborPair& pair : pairs) pair.with.add(canary, kCanaryClass);
    if (terms.person_rows > 0) make_persons(pairs, terms);
    return pairs;
  }
  NeighborPair turned{"turned", other_rows(terms, kOtherClass), other_rows(terms, kOtherClass)};
  turned.without.add(along_diagonal(terms, -kCanaryLength), kCanaryClass);
  NeighborPair moved{"moved", other_rows(terms, kOtherClass), other_rows(terms, kOtherClass)};
  moved.without.add(at_right_angles_to(canary), kOtherClass);
  for (NeighborPair& pair : {std::ref(turned), std::ref(moved)}) {
    pair.with.add(canary, kCanaryClass);
    pairs.push_back(std::move(pair));
  }
  if (terms.person_rows > 0) make_persons(pairs, terms);
  return pairs;
}

}  // namespace dpreduce
