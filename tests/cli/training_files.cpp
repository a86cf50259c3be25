#include "tests/cli/training_files.hpp"

#include <hdf5.h>

#include "tests/common/data/data_files.hpp"

namespace dpreduce {
namespace {

// In [-1, 1), from the engine's bits alone: the library's distributions may differ between implementations.
float uniform(std::mt19937_64& engine) {
  return static_cast<float>(static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0);
}

void write_dataset(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& shape, const void* elements) {
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const bool written = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements) >= 0;
  H5Dclose(dataset);
  H5Sclose(space);
  if (!written) throw std::runtime_error("HDF5 cannot write");
}

}  // namespace

TrainingRows TrainingRows::part(std::size_t first, std::size_t count) const {
  const auto x = features.begin() + static_cast<std::ptrdiff_t>(first * dim);
  const auto y = labels.begin() + static_cast<std::ptrdiff_t>(first);
  return {dim, {x, x + static_cast<std::ptrdiff_t>(count * dim)}, {y, y + static_cast<std::ptrdiff_t>(count)}};
}

TrainingRows make_rows(const std::vector<std::size_t>& class_rows, std::size_t dim) {
  std::mt19937_64 engine(20240229);
  TrainingRows made;
  made.dim = dim;
  for (std::size_t c = 0; c < class_rows.size(); ++c) {
    made.labels.insert(made.labels.end(), class_rows[c], static_cast<std::int64_t>(c));
  }
  for (std::size_t row = made.rows(); row > 1; --row) std::swap(made.labels[row - 1], made.labels[engine() % row]);
  std::vector<float> means(class_rows.size() * dim);
  for (float& entry : means) entry = uniform(engine);
  for (const std::int64_t label : made.labels) {
    for (std::size_t a = 0; a < dim; ++a) {
      made.features.push_back(means[static_cast<std::size_t>(label) * dim + a] + 0.5F * uniform(engine));
    }
  }
  return made;
}

void write_npy(const TrainingRows& rows, const std::string& x_path, const std::string& y_path, MemoryOrder order) {
  const bool by_columns = order == MemoryOrder::kFortran;
  std::vector<float> features = rows.features;
  for (std::size_t e = 0; by_columns && e < features.size(); ++e) {
    features[e] = rows.features[e % rows.rows() * rows.dim + e / rows.rows()];
  }
  const std::string shape = fmt::format("({}, {})", rows.rows(), rows.dim);
  write_bytes(x_path, npy_header_bytes(npy_text("<f4", shape, by_columns)) + element_bytes(features));
  write_labels(y_path, rows.labels);
}

void write_hdf5(const TrainingRows& rows, const std::string& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_dataset(file, "x", H5T_NATIVE_FLOAT, {rows.rows(), rows.dim}, rows.features.data());
  write_dataset(file, "y", H5T_NATIVE_INT64, {rows.rows()}, rows.labels.data());
  H5Fclose(file);
}

std::map<std::string, std::string> content_of(const std::string& folder) {
  std::map<std::string, std::string> content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    content[name] = entry.is_regular_file() ? read_bytes(entry.path().string()) : std::string();
  }
  return content;
}

}  // namespace dpreduce
