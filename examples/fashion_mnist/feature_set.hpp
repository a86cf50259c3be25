// A folder of features: shards of rows and labels, and a manifest written last, which makes the set complete.
//
//   train_x_00.npy, train_y_00.npy, ...   shard k holds training images [k n / shards, (k + 1) n / shards)
//   test_x.npy, test_y.npy                x: n x d, float16 or float32; y: n, int64
//   manifest.json                         the parameters, and the size in bytes of every other file
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/output_file.hpp"
#include "common/data/element_conversion.hpp"
#include "feature_rows.hpp"

namespace dpreduce::fashion_mnist {

struct SetParameters {
  std::string dataset;  ///< folder of the images
  RowSettings rows;
  DType dtype = DType::kFloat16;  ///< kFloat16 or kFloat32
  int shards = 6;                 ///< 1 to 99
};

class FeatureSet {
 public:
  FeatureSet(std::filesystem::path folder, SetParameters parameters);

  /// True where the manifest has these parameters and every file that it names is there with its size.
  bool is_complete() const;

  /// Makes the folder, and removes the manifest and the shards of an earlier set: from here until finish() the folder
  /// is not complete, and never holds rows of two sets. Throws BadInput where the folder cannot be written.
  void begin();

  /// Writes `<part>_x<suffix>.npy` (n x d) and `<part>_y<suffix>.npy` (n), each whole or not at all. Preconditions:
  /// begin() was called; rows.size() = n d. Throws BadInput where a file cannot be written.
  void write(std::string_view part, std::string_view suffix, std::span<const float> rows,
             std::span<const std::uint8_t> labels);

  /// Writes the manifest. Precondition: begin() was called. Throws BadInput where it cannot be written.
  void finish();

 private:
  std::filesystem::path folder_;
  SetParameters parameters_;
  std::optional<AtomicFile> manifest_;           // between begin() and finish()
  std::map<std::string, std::uintmax_t> bytes_;  // of each file written
};

}  // namespace dpreduce::fashion_mnist
