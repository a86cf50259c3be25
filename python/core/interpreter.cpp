#include "core/interpreter.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "common/base/error.hpp"

namespace dpreduce::python {
namespace {

namespace py = pybind11;

std::atomic<int> unlocked_threads{0};
std::atomic<bool> has_begun_to_end{false};
std::thread::id thread_that_ends;  // where has_begun_to_end

bool is_over_here() {
  return has_begun_to_end && std::this_thread::get_id() != thread_that_ends;
}

// With the interpreter's lock.
void end() {
  thread_that_ends = std::this_thread::get_id();
  has_begun_to_end = true;
  while (unlocked_threads > 0) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    const py::gil_scoped_release unlocked;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

Unlocked::Unlocked() {
  ++unlocked_threads;
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  if (is_over_here()) {
    --unlocked_threads;
    while (true) ::pause();
  }
  PyEval_RestoreThread(state_);
  --unlocked_threads;
}

void require_interpreter() {
  if (is_over_here()) throw Interrupted("the interpreter ends");
}

void end_with_interpreter() {
  ::pthread_atfork(nullptr, nullptr, [] { unlocked_threads = 0; });  // a child has the thread alone that forked
  py::module_::import("atexit").attr("register")(py::cpp_function(&end));
}

}  // namespace dpreduce::python
