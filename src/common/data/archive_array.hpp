// One array of a zip file: of numpy.savez (.npz), or a tensor of torch.save (.pt).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "common/data/array_file.hpp"
#include "common/files/zip_file.hpp"

namespace dpreduce {

/// Opens the array `name` of the archive; of an empty name its only one. `path` is that of the file. Throws BadInput
/// where the file is damaged, has no such array, or several and no name, which are then told; and as NpyArray, or
/// torch_tensors.hpp, does.
std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name);

/// The place of `name` among `names`; of an empty name that of the only one. Throws BadInput as open_archive.
std::size_t place_of_array(const std::vector<std::string>& names, const std::string& path, const std::string& name);

}  // namespace dpreduce
