// One array of a zip file, as numpy.savez writes it (.npz).
#pragma once

#include <memory>
#include <string>

#include "common/data/array_file.hpp"
#include "common/files/zip_file.hpp"

namespace dpreduce {

/// Opens the array `name` of the archive; of an empty name its only one. `path` is that of the file. Throws BadInput
/// where the file is damaged, has no such array, or several and no name, which are then told; where torch.save wrote
/// it, with the line that converts it; and as NpyArray does.
std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name);

}  // namespace dpreduce
