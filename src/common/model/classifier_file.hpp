// A classifier as a file: model.safetensors.
//
// Tensors, F64 so that a loaded model predicts with the very bits that training ended with, and I64 for indices:
//
//     weights [K, m]    bias [K]    prototypes [K, m] with the second head
//     center [d] where rows are centered    selected [m], I64, where features are selected
//     projection [k, d], I16, and projection_largest [k] where rows are projected: P_ja = projection_ja
//     projection_largest_j / 32767
//     feature_center [d_in], feature_scale [d_in] where raw columns are scaled
//     target_center [K], target_scale [K] where scores predict K numbers
//
// d features after pooling, m in the end. A projection is kept as rows are projected by it, on the lattice
// (lattice_rows.hpp): a quarter of the bytes, and the same bits of predictions. It cannot be folded into the
// weights, since rows are scaled to one norm behind it.
//
// Metadata: format, format_version, version (of the library), method, classes (or targets, for numbers), input_dim,
// pool, normalize, clip_norm, privacy (a JSON object as a string). Named classes or features add class_names and
// feature_names (JSON lists as strings). Scores with probabilities add link (softmax or sigmoid). The bytes are a
// function of the released model alone: no times, no ranks, no counts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/classifier.hpp"

namespace dpreduce {

/// The file's metadata, by key.
std::map<std::string, std::string> metadata_of(const Classifier& classifier);

/// Returns the bytes of the file; the caller writes them.
std::vector<std::byte> to_bytes(const Classifier& classifier);

/// The classifier in `bytes`. Throws BadInput, naming `source`, where they are no safetensors file, were not written
/// as a classifier or by a newer version, lack or have too many tensors, or hold what Classifier refuses.
Classifier classifier_from_bytes(std::span<const std::byte> bytes, std::string_view source);

/// The classifier in a file. Throws BadInput as above, and where the file cannot be read.
Classifier load_classifier(const std::filesystem::path& path);

}  // namespace dpreduce
