#include "audit/neighbor_rows.hpp"

#include <cmath>
#include <functional>

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

}  // namespace

void LabeledRows::add(std::span<const float> row, std::int32_t label) {
  DPREDUCE_ASSERT(row.size() == dim);
  x.insert(x.end(), row.begin(), row.end());
  y.push_back(label);
}

void LabeledRows::write(const std::string& x_path, const std::string& y_path) const {
  NpyWriter features(x_path, DType::kFloat32, {y.size(), dim});
  features.append(std::span(x));
  features.commit();
  NpyWriter labels(y_path, DType::kInt64, {y.size()});
  labels.append(std::span(y));
  labels.commit();
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
  return pairs;
}

}  // namespace dpreduce
