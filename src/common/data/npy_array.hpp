// Arrays of NumPy: .npy files, and those of .npz archives. Tensors of .safetensors files, which are read alike.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "common/base/input_file.hpp"
#include "common/data/array_file.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {

// An .npy file, mapped into memory and read in place; or the same bytes held by somebody else.
//
//     "\x93NUMPY" | major, minor: 1 byte each | length of the text: 2 bytes (1.0) or 4 (2.0, 3.0), little-endian |
//     text: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), } and spaces up to a newline | elements
//
// The text is a Python literal. It is read by a parser of just this form, never evaluated; whatever else it may hold
// is refused. Source: NumPy Enhancement Proposal 1 and numpy.lib.format.

struct NpyHeader {
  DType dtype = DType::kFloat32;
  ByteOrder byte_order = ByteOrder::kLittle;
  MemoryOrder memory_order = MemoryOrder::kC;
  std::size_t element_bytes = size_of(DType::kFloat32);  ///< of strings what the dtype says, else its size
  Shape shape;
  std::size_t data_offset = 0;  ///< bytes before the first element
};

/// Returns the header with which `file` (all its bytes, or at least the header's) begins.
///
/// Throws BadInput naming `name` where, in this order: the magic is wrong; the version is none of 1.0, 2.0, 3.0; the
/// text is longer than 64 KiB or than the file; it is not a dictionary of exactly 'descr', 'fortran_order' and 'shape',
/// each once; the dtype is none of bool, i1-i8, u1-u8, f2, f4, f8 and strings
/// (S and U, of 1 to 65536 characters), or has no byte order; an extent is negative or
/// does not fit 64 bits, or there are more than 32 of them.
NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name);

/// Throws BadInput where the bytes begin as a file of a format that is not read, with what to do about it.
void refuse_other_formats(std::span<const std::byte> file, const std::string& name);

/// Opens an .npy file, all bytes of a file or a part of it; `name` is for messages, `path` that of the file. Throws
/// BadInput where its header cannot be parsed (see parse_npy_header), or it does not hold exactly the bytes that its
/// shape asks for: a file cut short, or one with something after its end.
std::unique_ptr<ArrayFile> open_npy(StoredBytes bytes, const std::string& name, const std::string& path);

// One array of a zip file, as numpy.savez writes it (.npz).

/// Opens the array `name` of the archive; of an empty name its only one. `path` is that of the file. Throws BadInput
/// where the file is damaged, has no such array, or several and no name, which are then told; where torch.save wrote
/// it, with the line that converts it; and as open_npy does.
std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name);

/// Opens the tensor `name` of a .safetensors file, as open_archive does.
std::unique_ptr<ArrayFile> open_safetensors(MappedFile file, const std::string& path, const std::string& name);

}  // namespace dpreduce
