// A dataset of an HDF5 file, read by ranges of rows.
//
// The library is silenced (its innermost reason goes into our message) and used by one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "common/data/array_file.hpp"

namespace dpreduce {

/// Opens a dataset of a file. Memory: besides the scratch rows, a chunked dataset holds one row of its chunks (at most
/// 256 MiB), so that reading a range of rows after another unpacks each chunk once.
/// Throws BadInput where the file or the dataset cannot be opened, or its elements are none of floats of up to 64 bits,
/// integers of 8, 16, 32 or 64 bits, booleans (an enumeration of one byte, as h5py writes them), and strings of fixed
/// or variable length; and where rows were never written (hdf5_written.hpp), also while they are read.
std::unique_ptr<ArrayFile> open_hdf5(const std::string& file, const std::string& dataset);

}  // namespace dpreduce
