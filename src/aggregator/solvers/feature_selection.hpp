// Which features tell classes apart, by what has been released: post-processing, so that ranking costs nothing.
// Source: [shen2021], Definition 7 and Algorithm 1, corrected: it ranks exact means, at no charge.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dpreduce {

/// sum over pairs c < e of |m_ca - m_ea|, for every feature a: what the distance criterion is for two classes.
/// Shapes: means K x d, row-major. Cost: d K log K.
std::vector<double> class_distances(std::span<const double> means, std::size_t dim);

/// The indices of the `count` largest scores, ascending; of equal ones those with the smaller index.
/// Precondition (asserted): count <= scores.
std::vector<std::size_t> largest_features(std::span<const double> scores, std::size_t count);

/// Sets the entries of every row (of `dim` entries) to 0 but those at the indices.
void keep_features(std::span<double> rows, std::size_t dim, std::span<const std::size_t> indices);

}  // namespace dpreduce
