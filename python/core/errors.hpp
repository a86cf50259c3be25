// Exceptions of C++ as those of dpreduce/errors.py, with the same words.
#pragma once

#include <functional>
#include <optional>

#include <pybind11/pybind11.h>

#include "common/base/error.hpp"

namespace dpreduce::python {

/// From here on an Error that leaves the module becomes the Python exception of its class; Interrupted, or another
/// rank's, KeyboardInterrupt.
void translate_errors();

/// What Python raised inside a fit, which C++ carries as an Error to the end of it, so that all ranks fail together.
class PythonError {
 public:
  PythonError() = default;
  PythonError(const PythonError&) = delete;
  PythonError& operator=(const PythonError&) = delete;
  ~PythonError();

  /// Runs `work` with the interpreter's lock. What Python raises in it is kept, and an Error of the same class is
  /// thrown in its place. Throws Interrupted, and runs nothing, where the interpreter ends.
  void guard(const std::function<void()>& work);

  /// Throws what was kept, if anything was, with a note of what `error`, which took its place, has come to say since:
  /// how to go on with the run. With the interpreter's lock.
  void rethrow(const Error& error) const;

 private:
  std::optional<pybind11::error_already_set> kept_;
};

}  // namespace dpreduce::python
