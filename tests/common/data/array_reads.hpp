// What arrays hold, read into memory.
#pragma once

#include "common/data/array_file.hpp"
#include "common/data/array_formats.hpp"
#include "tests/common/data/data_files.hpp"

namespace dpreduce {

/// An .npy file of these bytes.
inline std::unique_ptr<ArrayFile> npy_of(std::string_view bytes, const std::string& name) {
  const auto all = std::as_bytes(std::span(bytes));
  StoredBytes stored;
  stored.unpacked.assign(all.begin(), all.end());
  stored.is_packed = true;
  return open_npy(std::move(stored), name, name);
}

inline std::vector<float> decoded_floats(const StoredFloats& floats, std::size_t first, std::size_t count) {
  std::vector<float> scratch;
  const std::span<const float> decoded = floats.decoded(first, count, scratch);
  return {decoded.begin(), decoded.end()};
}

inline std::vector<float> some_features(ArrayFile& array, std::uint64_t first, std::uint64_t count) {
  array.require_holds_features();
  std::vector<float> features(count * array.columns());
  array.read_features(first, count, features);
  return features;
}

inline std::vector<float> all_features(ArrayFile& array) {
  return some_features(array, 0, array.rows());
}

inline std::vector<std::int32_t> all_labels(ArrayFile& array, std::uint64_t classes,
                                            const NamedClasses* names = nullptr,
                                            UnlistedLabels unlisted = UnlistedLabels::kRefused) {
  array.require_holds_labels(names);
  std::vector<std::int32_t> labels(array.rows());
  array.read_labels(0, array.rows(), classes, labels, names, unlisted);
  return labels;
}

inline std::vector<std::string> all_persons(ArrayFile& array) {
  std::vector<std::string> persons;
  array.require_holds_persons();
  array.visit_persons(0, array.rows(),
                      {[&](std::span<const std::int64_t> some) {
                         for (const std::int64_t person : some) persons.push_back(std::to_string(person));
                       },
                       [&](std::string_view person) { persons.emplace_back(person); }});
  return persons;
}

}  // namespace dpreduce
