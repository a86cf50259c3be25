// Pickles of every protocol.
#pragma once

#include <algorithm>

#include <pybind11/pybind11.h>

namespace dpreduce::python {

/// __reduce_ex__ of a class that has py::pickle. By protocols 0 and 1 it would be read as an object without what C++
/// keeps in it, which ends the process.
inline pybind11::object reduce_for_any_protocol(const pybind11::object& own, int protocol) {
  const pybind11::object object = pybind11::module_::import("builtins").attr("object");
  return object.attr("__reduce_ex__")(own, std::max(protocol, 2));
}

}  // namespace dpreduce::python
