#include "core/errors.hpp"

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>

#include "core/interpreter.hpp"

namespace dpreduce::python {
namespace {

namespace py = pybind11;

constexpr std::string_view kRaised = "Python raised an exception";

void set_python_error(int code, const char* words, const char* name) {
  const py::object error = py::module_::import("dpreduce.errors").attr("error_of")(code, words, name);
  PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr());
}

// Returns the exit code of an exception of Python: its own, if it is one of dpreduce's, else kBadInput. Others are
// raised where the caller's objects are read.
ExitCode code_of(const py::error_already_set& error) {
  if (error.matches(PyExc_KeyboardInterrupt)) return ExitCode::kInterrupted;
  const py::object code = py::getattr(error.value(), "exit_code", py::none());
  return code.is_none() ? ExitCode::kBadInput : static_cast<ExitCode>(py::cast<int>(code));
}

}  // namespace

void translate_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const EntropyFailure& error) {
      set_python_error(static_cast<int>(error.code()), error.what(), "EntropyFailure");
    } catch (const Error& error) {
      set_python_error(static_cast<int>(error.code()), error.what(), "");
    } catch (const std::logic_error& error) {
      if (typeid(error) != typeid(std::logic_error)) throw;  // what pybind11 makes exceptions of Python of
      set_python_error(static_cast<int>(ExitCode::kInternal), error.what(), "InternalError");
    }
  });
}

PythonError::~PythonError() {
  if (!kept_) return;
  const py::gil_scoped_acquire lock;
  kept_.reset();
}

void PythonError::guard(const std::function<void()>& work) {
  require_interpreter();
  const py::gil_scoped_acquire lock;
  try {
    work();
  } catch (const py::error_already_set& error) {
    kept_ = error;
    throw Error(code_of(error), std::string(kRaised));
  }
}

void PythonError::rethrow(const Error& error) const {
  if (!kept_) return;
  const std::string_view words = error.what();
  const bool says_more = words.starts_with(kRaised) && words.size() > kRaised.size() + 2;  // "; ..."
  if (says_more && py::hasattr(kept_->value(), "add_note")) {
    const py::object in_keywords = py::module_::import("dpreduce.errors").attr("in_keywords");
    kept_->value().attr("add_note")(in_keywords(std::string(words.substr(kRaised.size() + 2))));
  }
  throw py::error_already_set(*kept_);
}

}  // namespace dpreduce::python
