// Rows that the tests of the command line train on, and the files that hold them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/data/array_formats.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {

/// n x d features, row after row, and a label a row.
struct TrainingRows {
  std::size_t dim = 0;
  std::vector<float> features;
  std::vector<std::int64_t> labels;
  std::size_t rows() const { return labels.size(); }
  TrainingRows part(std::size_t first, std::size_t count) const;
};

/// `class_rows[c]` rows of class c around a mean of its own, in an order without pattern; the same in every run.
TrainingRows make_rows(const std::vector<std::size_t>& class_rows, std::size_t dim);

/// x.npy and y.npy for ("x.npy", "y.npy"), as float32 and int64.
void write_npy(const TrainingRows& rows, const std::string& x_path, const std::string& y_path,
               MemoryOrder order = MemoryOrder::kC);

/// The datasets /x (float32) and /y (int64).
void write_hdf5(const TrainingRows& rows, const std::string& path);

/// Every file under the folder with what it holds; directories with nothing.
std::map<std::string, std::string> content_of(const std::string& folder);

}  // namespace dpreduce
