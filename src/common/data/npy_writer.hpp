// Arrays as .npy files, row after row, appearing whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/output_file.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {

/// Little-endian, C order, version 1.0, elements from a multiple of 64 bytes on: what numpy.save writes.
class NpyWriter {
 public:
  /// `shape` counts all rows that will come. Takes the disk space at once.
  /// Throws BadInput as AtomicFile does. Precondition (asserted): shape has one or two extents.
  NpyWriter(const std::string& path, DType dtype, const Shape& shape, Existing existing = Existing::kKeep);

  /// Appends elements in C order, in pieces of any length, which are written once there are 32 KiB of them. float16 is
  /// rounded to nearest, ties to even, from a double by way of a float.
  /// Preconditions (asserted): the type fits (float to float16 or float32; double to any float type; integers to
  /// int64); not more elements than the shape has. Throws BadInput.
  void append(std::span<const float> elements);
  void append(std::span<const double> elements);
  void append(std::span<const std::int64_t> elements);
  void append(std::span<const std::int32_t> elements);

  /// Appends elements of the array's type as ArrayFile::read_stored gives them.
  /// Preconditions (asserted): whole elements; not more than the shape has. Throws BadInput.
  void append_stored(std::span<const std::byte> elements);

  /// Makes the file appear. Precondition (asserted): every element has been appended. Throws BadInput.
  void commit();
  /// The same of a file that is then one of those.
  void commit(MadeFiles& made) {
    commit();
    made.add(file_.path());
  }

 private:
  template <typename Stored, typename Element, typename Encode>
  void append_encoded(std::span<const Element> elements, Encode encode);

  AtomicFile file_;
  DType dtype_;
  std::uint64_t missing_;  // elements still to come
  std::vector<std::byte> gathered_;
};

}  // namespace dpreduce
