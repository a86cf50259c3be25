// NumPy arrays as rows: where they lie, nothing copied.
#pragma once

#include <string>

#include <pybind11/numpy.h>

#include "common/data/memory_array.hpp"

namespace dpreduce::python {

/// The rows of `array`, n x d, or n as one column where `may_be_one_dimensional`; any strides and byte order. Valid as
/// long as the array is. Throws BadInput, beginning with `name`, where it has other dimensions, or elements that are no
/// numbers of a type that rows may have.
ArrayView view_of(const pybind11::array& array, const std::string& name, bool may_be_one_dimensional);

/// The same of identifiers of persons, one a row: integers, or strings of NumPy ("S" and "U").
ArrayView view_of_persons(const pybind11::array& array, const std::string& name);

}  // namespace dpreduce::python
