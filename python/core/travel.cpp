#include "core/travel.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "aggregator/solvers/blas.hpp"
#include "commands/keyword_options.hpp"
#include "core/any_pickle.hpp"
#include "core/array_views.hpp"
#include "core/errors.hpp"
#include "core/fit_call.hpp"
#include "core/interpreter.hpp"
#include "fit/masked_silo.hpp"
#include "fit/traveling_plan.hpp"

namespace dpreduce::python {
namespace {

namespace py = pybind11;

std::shared_ptr<TravelingPlan> plan_of(const std::vector<Keyword>& keywords, std::size_t features, std::size_t targets,
                                       const std::vector<std::string>& class_names,
                                       const std::vector<std::string>& feature_names) {
  FitOptions options = fit_options_of(items_of(keywords));
  options.data.train.has_targets = targets > 0;
  options.data.train.class_names = class_names;
  options.data.train.feature_names = feature_names;
  return std::make_shared<TravelingPlan>(TravelingPlan::made(std::move(options), features, targets));
}

// All arguments are objects, so that pybind11 never tells a wrong one with those beside it, which are private rows.
template <typename Value>
Value given_as(const py::object& object, const char* name, const char* what) {
  try {
    return py::cast<Value>(object);
  } catch (const std::exception&) {
    throw UsageError(fmt::format("{}: {}", name, what));
  }
}

// Calls work(rows, on_chunk) without the interpreter's lock; signals are looked at between chunks.
template <typename Work>
auto with_rows(const py::object& x_given, const py::object& y_given, const py::object& person_given, const Work& work) {
  const auto x = given_as<py::array>(x_given, "X", "is no array");
  const auto y = given_as<py::array>(y_given, "y", "is no array");
  RowsInMemory rows{.train_x = view_of(x, "X", false), .train_y = view_of(y, "y", true)};
  std::optional<py::array> person;
  if (!person_given.is_none()) {
    person = given_as<py::array>(person_given, "person", "is no array");
    rows.train_person = view_of_persons(*person, "person");
  }
  PythonError error;
  try {
    const Unlocked unlocked;
    return work(rows, [&](double) {
      error.guard([] {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      });
    });
  } catch (const Error& failure) {
    error.rethrow(failure);
    throw;
  }
}

unsigned threads_given_as(const py::object& given) {
  return given_as<unsigned>(given, "threads", "is no number of threads; give 0 for all cores, or more");
}

PartialSum partial(const TravelingPlan& plan, const py::object& task_given, const py::object& x_given,
                   const py::object& y_given, const py::object& person_given, const py::object& partition_given,
                   const py::object& threads_given) {
  const auto task =
      given_as<TravelingTask>(task_given, "task", "is no task; take it from the session, or leave it out");
  const auto partition =
      given_as<std::string>(partition_given, "partition", "its name is no text; give a number or a text");
  const unsigned threads = threads_given_as(threads_given);
  return with_rows(x_given, y_given, person_given, [&](const RowsInMemory& rows, const OnChunk& on_chunk) {
    return partial_sum(plan, task, rows, partition, threads, on_chunk);
  });
}

MaskedPlan masked_plan(const TravelingPlan& plan, const std::string& stated, const std::string& roster) {
  return {plan, stated, read_roster(roster)};
}

MaskedCoordinator masked_coordinator(const TravelingPlan& plan, const std::string& stated, const std::string& roster,
                                     const std::string& identity) {
  return {masked_plan(plan, stated, roster), load_identity(identity, "--identity")};
}

MaskedSilo masked_silo(const TravelingPlan& plan, const std::string& stated, const std::string& roster,
                       const std::string& identity) {
  return {masked_plan(plan, stated, roster), load_identity(identity, "--identity")};
}

using Words = py::array_t<std::uint64_t, py::array::c_style>;

Words answer(MaskedSilo& silo, const py::bytes& request, const py::object& x, const py::object& y,
             const py::object& person, const py::object& threads_given) {
  const std::string message = request;
  const unsigned threads = threads_given_as(threads_given);
  const std::vector<std::uint64_t> words = with_rows(
      x, y, person,
      [&](const RowsInMemory& rows, const OnChunk& on_chunk) { return silo.answer(message, rows, threads, on_chunk); });
  return Words(static_cast<py::ssize_t>(words.size()), words.data());
}

PersonCounts count(const TravelingPlan& plan, const py::object& person_given, const py::object& partition_given) {
  const auto person = given_as<py::array>(person_given, "person", "is no array");
  const auto partition =
      given_as<std::string>(partition_given, "partition", "its name is no text; give a number or a text");
  const ArrayView view = view_of_persons(person, "person");
  const Unlocked unlocked;
  return person_counts(plan, view, partition);
}

// A session and the ranks that its result was told on: this process alone.
class Session {
 public:
  Session(std::shared_ptr<TravelingPlan> plan, const std::optional<std::string>& ledger,
          std::optional<std::vector<std::string>> partitions)
      : plan_(std::move(plan)) {
    const Unlocked unlocked;
    session_.emplace(*plan_, ledger, std::move(partitions));
  }

  std::optional<TravelingTask> task() const { return session_->task(); }

  void give(const PartialSum& sum) {
    const Unlocked unlocked;
    const KeptBlasThreads kept;
    session_->give(sum);
  }

  // The same whenever it is asked for.
  const Fitted& fitted() {
    const Unlocked unlocked;
    const std::lock_guard lock(telling_);
    if (!fitted_) {
      FittedRun& run = session_->fitted();
      Communicator alone = Communicator::alone();
      fitted_.emplace(finished(run, alone));
    }
    return *fitted_;
  }

 private:
  std::shared_ptr<TravelingPlan> plan_;
  std::optional<FitSession> session_;
  std::mutex telling_;
  std::optional<Fitted> fitted_;
};

template <typename Value>
py::bytes bytes_of(const Value& value) {
  return py::bytes(value.to_bytes());
}

template <typename Value>
Value value_of(const py::bytes& bytes) {
  return Value::from_bytes(std::string(bytes));
}

void declare_plans(py::module_& module) {
  py::class_<TravelingTask>(module, "Task")
      .def_readonly("step", &TravelingTask::step)
      .def_property_readonly("release", [](const TravelingTask& own) { return own.task.release; })
      .def("__reduce_ex__", &reduce_for_any_protocol, py::arg("protocol"))
      .def(py::pickle(&bytes_of<TravelingTask>, &value_of<TravelingTask>));
  py::class_<TravelingPlan, std::shared_ptr<TravelingPlan>>(module, "TravelingPlan")
      .def(py::init(&plan_of), py::arg("keywords"), py::arg("features"), py::arg("targets"), py::arg("class_names"),
           py::arg("feature_names"))
      .def_property_readonly("classes", [](const TravelingPlan& own) { return own.options.data.classes; })
      .def_property_readonly("tasks", &TravelingPlan::tasks)
      .def("first_task", &first_task)
      .def("count", &count, py::arg("person"), py::arg("partition"))
      .def("counted",
           [](const TravelingPlan& own, const PersonCounts& counts) {
             const Unlocked unlocked;
             return std::make_shared<TravelingPlan>(own.counted(counts));
           })
      .def("partial", &partial, py::arg("task"), py::arg("x"), py::arg("y"), py::arg("person"), py::arg("partition"),
           py::arg("threads"))
      .def("__reduce_ex__", &reduce_for_any_protocol, py::arg("protocol"))
      .def(py::pickle(&bytes_of<TravelingPlan>, [](const py::bytes& bytes) {
        return std::make_shared<TravelingPlan>(TravelingPlan::from_bytes(std::string(bytes)));
      }));
  py::class_<PartialSum>(module, "PartialSum")
      .def_property_readonly("step", &PartialSum::step)
      .def_property_readonly("partitions", &PartialSum::partitions)
      .def("plus",
           [](const PartialSum& own, const PartialSum& other) {
             const Unlocked unlocked;
             PartialSum sum = own;
             sum.add(other);
             return sum;
           })
      .def("__reduce_ex__", &reduce_for_any_protocol, py::arg("protocol"))
      .def(py::pickle(&bytes_of<PartialSum>, &value_of<PartialSum>));
}

void declare_masked_sums(py::module_& module) {
  py::class_<MaskedCoordinator>(module, "MaskedCoordinator")
      .def(py::init(&masked_coordinator), py::arg("plan"), py::arg("stated"), py::arg("roster"), py::arg("identity"))
      .def_property_readonly("silos", &MaskedCoordinator::silos)
      .def("invitation", [](const MaskedCoordinator& own) { return py::bytes(own.invitation()); })
      .def(
          "request",
          [](const MaskedCoordinator& own, const TravelingTask& task, const std::vector<py::bytes>& joins) {
            return py::bytes(own.request(task, {joins.begin(), joins.end()}));
          },
          py::arg("task"), py::arg("joins"))
      .def(
          "opened",
          [](const MaskedCoordinator& own, const py::bytes& request, const TravelingTask& task, const Words& sum) {
            const std::string message = request;
            const std::span<const std::uint64_t> words(sum.data(), static_cast<std::size_t>(sum.size()));
            const Unlocked unlocked;
            return own.opened(message, task, words);
          },
          py::arg("request"), py::arg("task"), py::arg("sum"));
  py::class_<MaskedSilo>(module, "MaskedSilo")
      .def(py::init(&masked_silo), py::arg("plan"), py::arg("stated"), py::arg("roster"), py::arg("identity"))
      .def(
          "join",
          [](MaskedSilo& own, const py::bytes& invitation) {
            const std::string message = invitation;
            return py::bytes([&] {
              const Unlocked unlocked;  // another thread may answer, and look at signals
              return own.join(message);
            }());
          },
          py::arg("invitation"))
      .def("answer", &answer, py::arg("request"), py::arg("x"), py::arg("y"), py::arg("person"), py::arg("threads"))
      .def(
          "end",
          [](MaskedSilo& own, const py::bytes& of_session) {
            const std::string message = of_session;
            const Unlocked unlocked;
            own.end(message);
          },
          py::arg("message"));
}

void declare_sessions(py::module_& module) {
  py::class_<PersonCounts>(module, "PersonCounts")
      .def_property_readonly("partitions", &PersonCounts::partitions)
      .def("plus",
           [](const PersonCounts& own, const PersonCounts& other) {
             const Unlocked unlocked;
             PersonCounts sum = own;
             sum.add(other);
             return sum;
           })
      .def("__reduce_ex__", &reduce_for_any_protocol, py::arg("protocol"))
      .def(py::pickle(&bytes_of<PersonCounts>, &value_of<PersonCounts>));
  py::class_<Session>(module, "Session")
      .def(py::init<std::shared_ptr<TravelingPlan>, const std::optional<std::string>&,
                    std::optional<std::vector<std::string>>>(),
           py::arg("plan"), py::arg("ledger"), py::arg("partitions"))
      .def_property_readonly("task", &Session::task)
      .def("give", &Session::give, py::arg("sum"))
      .def("fitted", [](Session& own) {
        const Fitted& fitted = own.fitted();
        return std::pair(std::const_pointer_cast<Classifier>(fitted.classifier), fitted.told);
      });
}

}  // namespace

void declare_travel(py::module_& module) {
  declare_plans(module);
  declare_masked_sums(module);
  declare_sessions(module);
}

}  // namespace dpreduce::python
