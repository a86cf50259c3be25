// A classifier as an ONNX graph, its preparation of rows included. The only room that knows protobuf.
//
// Legend: n rows, d_in features of a raw row, K classes.
//
//     input     x               [n, d_in]  float32
//     outputs   label           [n]        int64, or the class's name where the model has names; the smallest class of
//                                          the largest score
//               scores          [n, K]     as Classifier
//               probabilities   [n, K]     where scores have some
//               sets            [n, K]     uint8, where the model has a threshold: 1 where score >= threshold
//
// The graph computes with `width`, and scores and probabilities are of it. Rows of a projection are rounded to the
// lattice (lattice_rows.hpp), so that in float64 its products are exact integers here, too. Scores in float64 are
// Classifier's but for the rounding of sums in another order; in float32 they differ by about 1e-5 of their range. What
// the graph cannot do: refuse a row with a NaN or an infinity (its outputs are of no meaning), and shrink a row that
// the lattice refuses by an ulp. In float32 entries above 1e18 overflow in the norm.
//
// Operators are of opset 13 (ONNX 1.8 of 2020), so that runtimes since then read it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/spelling.hpp"
#include "common/model/classifier.hpp"

namespace dpreduce {

enum class FloatWidth {
  kFloat32,  ///< what accelerators take
  kFloat64   ///< what dpreduce predicts with
};

template <>
inline constexpr std::array spellings<FloatWidth>{std::pair{std::string_view{"float32"}, FloatWidth::kFloat32},
                                                  std::pair{std::string_view{"float64"}, FloatWidth::kFloat64}};

inline constexpr std::int64_t kOnnxOpset = 13;

/// The bytes of an ONNX file; a function of classifier and width alone. Its metadata_props are the metadata of the
/// model file (metadata_of) but for the format's own two. Throws BadInput where they pass the 2 GiB of a protobuf
/// message.
std::string onnx_bytes(const Classifier& classifier, FloatWidth width);

}  // namespace dpreduce
