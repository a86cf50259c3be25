// Threads that work without the interpreter's lock, and its end.
#pragma once

#include <pybind11/pybind11.h>

namespace dpreduce::python {

/// The interpreter's lock is released while this lives. Where the interpreter has begun to end, the destructor does not
/// return, but in the thread that ends it: there is no Python left to return to.
class Unlocked {
 public:
  Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

 private:
  PyThreadState* state_;
};

/// Throws Interrupted where the interpreter has begun to end.
void require_interpreter();

/// From here on the interpreter ends once all that is unlocked has ended, which it does where it next calls
/// require_interpreter.
void end_with_interpreter();

}  // namespace dpreduce::python
