// An array in memory that owns what it looks at: of a file whose elements do not lie there as rows.
#pragma once

#include <string>
#include <utility>

#include "common/data/memory_array.hpp"
#include "common/files/zip_file.hpp"

namespace dpreduce {

struct HeldBytes {
  StoredBytes held;
};

class HeldArray final : private HeldBytes, public MemoryArray {
 public:
  /// `view` looks at bytes.bytes(); `place` tells it from other arrays of the file.
  HeldArray(StoredBytes bytes, const ArrayView& view, std::string name, std::string file, std::uint64_t place)
      : HeldBytes{std::move(bytes)}, MemoryArray(view, std::move(name)), file_(std::move(file)), place_(place) {}

  FileIdentity identity() const override { return file_identity(file_, place_); }
  std::uint64_t held_bytes() const override { return held.unpacked.size(); }
  /// But where all of it is in memory.
  bool is_cheap_to_keep_open() const override { return !held.is_packed; }

 private:
  std::string file_;
  std::uint64_t place_;
};

}  // namespace dpreduce
