// A tensor that torch.save has written (torch_pickle.hpp), as an array.
#pragma once

#include <memory>
#include <string>

#include "common/data/array_file.hpp"
#include "common/files/zip_file.hpp"

namespace dpreduce {

/// Opens the tensor `name` of the archive whose pickle that is, as open_archive. Throws BadInput as tensors_of_pickle,
/// and where the tensor has not one or two dimensions, is of bfloat16 or another type that is not read, lies outside of
/// its storage, or repeats elements of it.
std::unique_ptr<ArrayFile> open_tensor(ZipFile archive, const ZipFile::Member& pickle, const std::string& path,
                                       const std::string& name);

}  // namespace dpreduce
