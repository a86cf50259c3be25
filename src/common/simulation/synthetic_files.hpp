// Synthetic data on disk.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/data/atomic_file.hpp"
#include "common/simulation/synthetic.hpp"

namespace dpreduce {

struct SyntheticFiles {
  std::vector<std::string> train_x;
  std::vector<std::string> train_y;
  std::vector<std::string> train_person{};  ///< none without persons
  std::vector<std::string> test_x;
  std::vector<std::string> test_y;
};

/// Writes train_x.npy (float32), train_y.npy (int64; with max_labels n x K zeros and ones, uint8) and, where there are
/// test rows, test_x.npy and test_y.npy, where there are persons train_person.npy (int64) into `directory`, which is
/// made if need be. With shards > 1 training rows are cut evenly into train_x_0.npy, ... and train_y_0.npy, ..., names
/// that 'train_x_{rank}.npy' fits. Returns the paths. Memory: a chunk of at most 8 MiB or one row, whatever the number
/// of rows. Throws UsageError where shards is 0 or above the number of training rows; BadInput where a file cannot be
/// written, or is there already and is to be kept: those that this call has written before are then removed.
SyntheticFiles write_synthetic(const SyntheticRows& rows, const std::string& directory, std::size_t shards,
                               Existing existing = Existing::kKeep);

}  // namespace dpreduce
