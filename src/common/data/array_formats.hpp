// Arrays by the format of their file: NumPy (.npy, and those of .npz archives), .safetensors, CSV and HDF5.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/input_file.hpp"
#include "common/base/paths.hpp"
#include "common/data/array_file.hpp"
#include "common/data/element_conversion.hpp"

namespace dpreduce {

/// Elements in a file, and how they lie there.
struct ArrayLayout {
  DType dtype = DType::kFloat32;
  ByteOrder byte_order = ByteOrder::kLittle;
  MemoryOrder memory_order = MemoryOrder::kC;
  std::size_t element_bytes = size_of(DType::kFloat32);  ///< of strings what the dtype says, else its size
  Shape shape;
  std::size_t data_offset = 0;  ///< bytes before the first element
  bool is_text = false;         ///< they were cells of a table of text (ArrayFile::is_text)
};

/// The array of these elements, all bytes of a file or a part of it; `name` is for messages, `path` that of the file.
/// Throws BadInput where they are not exactly the bytes that the shape asks for: a file cut short, or one with
/// something after its end.
std::unique_ptr<ArrayFile> open_elements(StoredBytes bytes, const std::string& name, const std::string& path,
                                         const ArrayLayout& layout, std::vector<std::string> column_names = {});

/// Throws BadInput where the bytes begin as a file of a format that is not read, with what to do about it.
void refuse_other_formats(std::span<const std::byte> file, const std::string& name);

// An .npy file, mapped into memory and read in place; or the same bytes held by somebody else.
//
//     "\x93NUMPY" | major, minor: 1 byte each | length of the text: 2 bytes (1.0) or 4 (2.0, 3.0), little-endian |
//     text: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), } and spaces up to a newline | elements
//
// The text is a Python literal. It is read by a parser of just this form, never evaluated; whatever else it may hold
// is refused. Source: NumPy Enhancement Proposal 1 and numpy.lib.format.

/// Returns the header with which `file` (all its bytes, or at least the header's) begins.
///
/// Throws BadInput naming `name` where, in this order: the magic is wrong; the version is none of 1.0, 2.0, 3.0; the
/// text is longer than 64 KiB or than the file; it is not a dictionary of exactly 'descr', 'fortran_order' and 'shape',
/// each once; the dtype is none of bool, i1-i8, u1-u8, f2, f4, f8 and strings
/// (S and U, of 1 to 65536 characters), or has no byte order; an extent is negative or
/// does not fit 64 bits, or there are more than 32 of them.
ArrayLayout parse_npy_header(std::span<const std::byte> file, const std::string& name);

/// Opens an .npy file. Throws BadInput where its header cannot be parsed (see parse_npy_header), and as open_elements.
std::unique_ptr<ArrayFile> open_npy(StoredBytes bytes, const std::string& name, const std::string& path);

// One array of a zip file, as numpy.savez writes it (.npz).

/// Opens the array `name` of the archive; of an empty name its only one. `path` is that of the file. Throws BadInput
/// where the file is damaged, has no such array, or several and no name, which are then told; where torch.save wrote
/// it, with the line that converts it; and as open_npy does.
std::unique_ptr<ArrayFile> open_archive(MappedFile file, const std::string& path, const std::string& name);

/// Opens the tensor `name` of a .safetensors file, as open_archive does.
std::unique_ptr<ArrayFile> open_safetensors(MappedFile file, const std::string& path, const std::string& name);

// A table as text: a line a record, cells apart by commas, and a first line of names where there is one.
//
//     f0,f1          features: numbers, read as float32; an empty cell is a NaN
//     0.5,-1.25      labels and persons: integers where all are, else strings, one a line. A cell means the same
//                    whatever the others are
//
// A first line without a number has names of columns; a table of strings has none. Columns are chosen by these names,
// which the first line then must have: t.csv:age,income, and all but some: t.csv:-label,id. All of it is read into
// memory at once: 4 bytes a feature, 8 an integer. For small data: .npy is read in place, and faster.

/// Throws BadInput with the line and the cell that is not as above, and where lines have different numbers of cells,
/// there is no row, the first column has no name, as an index of pandas, all columns have one name, a name of a feature
/// or target is not UTF-8, or a number may have a decimal comma: 10,744
/// under one name, or as target or weight where all lines are two whole numbers without a line of names. Throws it too
/// where a chosen column is not there, and where labels in several columns are other than 0 and 1.
std::unique_ptr<ArrayFile> open_csv(MappedFile file, const ArrayPath& path, ArrayRole role);

// A dataset of an HDF5 file, read by ranges of rows.
//
// The library is silenced (its innermost reason goes into our message) and used by one thread at a time.

/// Opens a dataset of a file. Memory: besides the scratch rows, a chunked dataset holds one row of its chunks (at most
/// 256 MiB), so that reading a range of rows after another unpacks each chunk once.
/// Throws BadInput where the file or the dataset cannot be opened, or its elements are none of floats of up to 64 bits,
/// integers of 8, 16, 32 or 64 bits, booleans (an enumeration of one byte, as h5py writes them), and strings of fixed
/// or variable length; and where rows were never written (hdf5_written.hpp), also while they are read.
std::unique_ptr<ArrayFile> open_hdf5(const std::string& file, const std::string& dataset);

}  // namespace dpreduce
