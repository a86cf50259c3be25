// The header of an .npy file.
//
//     "\x93NUMPY" | major, minor: 1 byte each | length of the text: 2 bytes (1.0) or 4 (2.0, 3.0), little-endian |
//     text: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), } and spaces up to a newline | elements
//
// The text is a Python literal. It is read by a parser of just this form, never evaluated; whatever else it may hold
// is refused. Source: NumPy Enhancement Proposal 1 and numpy.lib.format.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/data/dtype.hpp"

namespace dpreduce {

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

}  // namespace dpreduce
