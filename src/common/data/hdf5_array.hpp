// A dataset of an HDF5 file, read by ranges of rows.
//
// The library is silenced (its innermost reason goes into our message) and used by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/data/array_file.hpp"

namespace dpreduce {

/// Memory: besides the scratch rows, a chunked dataset holds one row of its chunks (at most 256 MiB), so that reading
/// a range of rows after another unpacks each chunk once.
class Hdf5Array final : public ArrayFile {
 public:
  /// Throws BadInput where the file or the dataset cannot be opened, or its elements are none of floats of up to 64
  /// bits, integers of 8, 16, 32 or 64 bits, booleans (an enumeration of one byte, as h5py writes them), and strings of
  /// fixed or variable length; and where rows were never written (hdf5_written.hpp), also while they are read.
  Hdf5Array(const std::string& file, const std::string& dataset);
  ~Hdf5Array() override;

  FileIdentity identity() const override;
  bool lies_in_other_files() const override;  ///< of virtual data sets, and of those with raw files
  bool is_cheap_to_keep_open() const override { return false; }

 private:
  struct Dataset;
  Hdf5Array(std::unique_ptr<Dataset> dataset, const std::string& name);

  std::span<const std::byte> stored_rows(std::uint64_t first_row, std::uint64_t count,
                                         std::vector<std::byte>& scratch) override;
  void visit_names(std::uint64_t first_row, std::uint64_t count, const VisitName& visit) override;
  void refuse_fill(std::uint64_t first_row, std::span<const std::byte> stored) const;
  void read_rows(std::uint64_t first_row, std::uint64_t count, void* out) const;

  std::unique_ptr<Dataset> dataset_;
};

}  // namespace dpreduce
