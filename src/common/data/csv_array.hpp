// A table as text: a line a record, cells apart by commas, and a first line of names where there is one.
//
//     f0,f1          features: numbers, read as float32; an empty cell is a NaN
//     0.5,-1.25      labels and persons: integers where all are, else strings, one a line. A cell means the same
//                    whatever the others are
//
// A first line without a number has names of columns; a table of strings has none. Columns are chosen by these names,
// which the first line then must have: t.csv:age,income, and all but some: t.csv:-label,id. All of it is read into
// memory at once: 4 bytes a feature, 8 an integer. For small data: .npy is read in place, and faster.
#pragma once

#include <memory>

#include "common/base/input_file.hpp"
#include "common/base/paths.hpp"
#include "common/data/array_file.hpp"

namespace dpreduce {

/// Throws BadInput with the line and the cell that is not as above, and where lines have different numbers of cells,
/// there is no row, the first column has no name, as an index of pandas, all columns have one name, a name of a feature
/// or target is not UTF-8, or a number may have a decimal comma: 10,744
/// under one name, or as target or weight where all lines are two whole numbers without a line of names. Throws it too
/// where a chosen column is not there, and where labels in several columns are other than 0 and 1.
std::unique_ptr<ArrayFile> open_csv(MappedFile file, const ArrayPath& path, ArrayRole role);

}  // namespace dpreduce
