// Plans, partial sums and sessions (fit/traveling_plan.hpp) for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace dpreduce::python {

void declare_travel(pybind11::module_& module);

}  // namespace dpreduce::python
