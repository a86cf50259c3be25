// Detection of rows of an HDF5 dataset that were never written. The library silently reads such rows as a fill value.
//
// Detected: chunks and contiguous space that were never allocated; raw files (external storage) that are missing or too
// short; in virtual datasets, mappings with gaps, and sources that are missing, of another size than a mapping, or have
// such parts themselves, used or not.
// Not detected: rows that were never written in allocated space, as in a chunk that others share. They hold the fill
// value in the file. If that was chosen, and is not zero, the array that is read (hdf5_array.cpp) finds them by it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

namespace dpreduce {

/// An identifier of the HDF5 library, given back with its scope. Below 0: none.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) : id_(id) {}
  ~Hdf5Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  hid_t get() const { return id_; }
  bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
};

/// Reason that the library reports for the failure just seen.
std::string hdf5_reason();

/// The file. Throws BadInput where it cannot be opened, as while a program writes it. Call it with the library
/// silenced.
Hdf5Handle open_to_read(const std::string& path);

/// Extents of a space; none for a scalar, or if they are unknown.
std::vector<hsize_t> extents_of(hid_t space);

/// Path of the file that contains the object; empty if it is unknown.
std::string file_name_of(hid_t object);

/// Throws BadInput, beginning with `name`, where parts of that dataset of the file were never written. Does nothing
/// where it cannot be opened. Call it with the library silenced, and before the dataset is open: how a virtual one ends
/// is decided by who opens it first. Cost: the library counts the chunks.
void require_written(hid_t file, const std::string& dataset, const std::string& name);

}  // namespace dpreduce
