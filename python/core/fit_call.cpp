#include "core/fit_call.hpp"

#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "aggregator/solvers/blas.hpp"
#include "commands/commands.hpp"
#include "commands/keyword_options.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/ranks/lifetime.hpp"
#include "core/array_views.hpp"
#include "core/errors.hpp"
#include "core/interpreter.hpp"
#include "fit/fit.hpp"
#include "methods/registry.hpp"
#include "refit/refit.hpp"
#include "report/fit_report.hpp"
#include "report/ledger_report.hpp"
#include "report/private_evaluation.hpp"

namespace dpreduce::python {
namespace {

namespace py = pybind11;

// Between chunks Python is asked at most so often.
constexpr std::chrono::milliseconds kBetweenLooks{50};

// What is given to fit(): views of arrays that `made` keeps alive.
struct Given {
  py::dict made;
  RowsInMemory rows;
  std::size_t classes = 0;  // 0: the options say
  std::vector<std::string> class_names;
  std::vector<std::string> feature_names;
  std::vector<double> class_weights;
  bool classes_are_of_rows = false;
  bool has_targets = false;  // train_y is numbers to predict
};

Given given_by(const py::object& arrays) {
  Given given;
  given.made = arrays();
  given.has_targets = given.made.contains("targets");
  const auto array = [&](const char* name) { return py::cast<py::array>(given.made[name]); };
  const auto persons_where_given = [&]() -> std::optional<ArrayView> {
    if (!given.made.contains("train_person")) return std::nullopt;
    return view_of_persons(array("train_person"), "identifiers of persons in memory");
  };
  const auto view_where_given = [&](const char* name, const std::string& words,
                                    bool are_labels) -> std::optional<ArrayView> {
    if (!given.made.contains(name)) return std::nullopt;
    return view_of(array(name), words, are_labels);
  };
  given.rows = {.train_x = view_of(array("train_x"), "training features in memory", false),
                .train_y = given.has_targets ? view_of(array("targets"), "targets in memory", true)
                                             : view_of(array("train_y"), "training labels in memory", true),
                .public_x = view_where_given("public_x", "public rows in memory", false),
                .validation_x = view_where_given("validation_x", "validation features in memory", false),
                .validation_y = view_where_given("validation_y", "validation labels in memory", true),
                .train_person = persons_where_given(),
                .train_weight = view_where_given("train_weight", "weights of rows in memory", true)};
  if (given.made.contains("classes")) given.classes = py::cast<std::size_t>(given.made["classes"]);
  given.classes_are_of_rows = given.made.contains("classes_are_of_rows");
  const auto take_list = [&]<typename List>(const char* name, List& list) {
    if (given.made.contains(name)) list = py::cast<List>(given.made[name]);
  };
  take_list("class_names", given.class_names);
  take_list("feature_names", given.feature_names);
  take_list("class_weights", given.class_weights);
  return given;
}

// Lets Python handle signals, and tells it how far a fit is, now and then.
class Onlooker {
 public:
  Onlooker(const py::object& on_progress, PythonError& error) : on_progress_(on_progress), error_(error) {}

  ProgressOf of_passes() {
    return [this](std::string_view pass) -> OnChunk {
      pass_ = pass;
      look(0.0);
      return [this](double share) {
        if (std::chrono::steady_clock::now() - last_ >= kBetweenLooks || share >= 1.0) look(share);
      };
    };
  }

 private:
  void look(double share) {
    error_.guard([&] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!on_progress_.is_none()) on_progress_(pass_, share);
    });
    last_ = std::chrono::steady_clock::now();
  }

  const py::object& on_progress_;
  PythonError& error_;
  std::string pass_;
  std::chrono::steady_clock::time_point last_;
};

// The account on the run's ledger, beside its report, where there is one.
std::string with_account(nlohmann::json told, const FittedRun& run) {
  if (told["report"].contains("ledger")) {
    told["account"] = {{"runs", charges_by_run(run.releaser->run().ledger()).size()}, {"balance", ledger_balance(run)}};
  }
  return json_text(told);
}

std::string told_of(const FittedRun& run, Communicator& ranks, const StatisticsKeeper& keeper) {
  std::string text;
  ranks.at_coordinator([&] {
    const FitOptions& options = run.fit->options();
    const unsigned threads = options.machine.threads == 0 ? default_threads() : options.machine.threads;
    nlohmann::json report = fit_report(run, std::nullopt, nullptr, ranks.size(), threads);
    if (options.data.has_targets()) report["coefficients"] = coefficients_json(run, keeper);
    text = with_account({{"report", report}, {"timings", timings_json(run.timings.phases(), {})["phases"]}}, run);
  });
  return ranks.trusted().broadcast(std::move(text));
}

FitOptions evaluation_of_call(const std::vector<TomlItem>& keywords, const Classifier& model) {
  std::vector<TomlItem> items = keywords;
  items.push_back({.section = {}, .key = "private", .values = {"true"}});
  FitOptions options = run_of_call(evaluate_command(), items).target<FitCommand>()->options;
  options.evaluation.models = {text_of(model)};
  return evaluation_of(std::move(options));
}

// What rank 0 has made of the run, on every rank; the run is finished.
std::string finished_evaluation(FittedRun& run, const std::vector<Release>& releases, Communicator& ranks) {
  std::string text;
  ranks.together([&] {
    if (ranks.is_coordinator()) {
      text = with_account({{"report", private_report(run, releases, ranks.size())}}, run);
    }
  });
  text = ranks.trusted().broadcast(std::move(text));
  run.finish();
  return text;
}

// What a call works with, whose errors come back to Python.
struct CallState {
  Given given{};
  PythonError error{};
  std::string way_to_resume{};

  Warn keep() {
    return [this](const std::string& line) { way_to_resume = "; " + line; };
  }
};

std::string evaluate_unlocked(const FitCall& call, const Classifier& model, Communicator& ranks, CallState& state) {
  const Unlocked unlocked;
  FitOptions options;
  ranks.together([&] {
    state.error.guard([&] { state.given = given_by(call.arrays); });
    options = evaluation_of_call(call.keywords, model);
  });
  Onlooker onlooker(call.on_progress, state.error);
  std::vector<Release> releases;
  const ReleaseWatcher keep = [&releases](const WatchedRelease& watched) { releases.push_back(watched.release); };
  FittedRun run = fit(options, state.given.rows, ranks, call.has_ledger ? Accounts::kLedger : Accounts::kElsewhere,
                      {.progress = onlooker.of_passes(), .observer = keep, .warn = state.keep()});
  return finished_evaluation(run, releases, ranks);
}

Fitted fit_unlocked(const FitCall& call, Communicator& ranks, CallState& state) {
  const Unlocked unlocked;
  const KeptBlasThreads kept;
  Given& given = state.given;
  PythonError& error = state.error;
  FitOptions options;
  ranks.together([&] {
    error.guard([&] { given = given_by(call.arrays); });
    options = fit_options_of(call.keywords);
    if (given.classes > 0) options.data.classes = given.classes;
    options.data.classes_are_of_rows = given.classes_are_of_rows;
    options.data.train.has_targets = given.has_targets;
    if (!given.class_names.empty()) options.data.train.class_names = given.class_names;
    options.data.train.feature_names = given.feature_names;
  });
  Onlooker onlooker(call.on_progress, error);
  StatisticsKeeper keeper;
  ReleaseWatcher keep;
  if (options.data.has_targets()) keep = [&keeper](const WatchedRelease& watched) { keeper.add(watched); };
  FittedRun run = fit(
      options, given.rows, ranks, call.has_ledger ? Accounts::kLedger : Accounts::kElsewhere,
      {.progress = onlooker.of_passes(), .observer = keep, .warn = state.keep(), .class_weights = given.class_weights});
  return finished(run, ranks, keeper);
}

// What `work` returns. Throws what Python raised, in the place of the error that it ended the work with.
template <typename Work>
auto with_errors_of_python(const Work& work) {
  CallState state;
  try {
    return work(state);
  } catch (const PeerFailed& failure) {  // what this rank has failed at itself is not what the ranks agreed on
    throw Error(failure.code(), fmt::format("{}; its own exception says why{}", failure.what(), state.way_to_resume));
  } catch (const Error& failure) {
    state.error.rethrow(failure);
    throw;
  }
}

}  // namespace

std::vector<TomlItem> items_of(const std::vector<Keyword>& keywords) {
  std::vector<TomlItem> items;
  for (const auto& [name, values] : keywords) items.push_back({.section = {}, .key = name, .values = values});
  return items;
}

Fitted finished(FittedRun& run, Communicator& ranks, const StatisticsKeeper& keeper) {
  std::string told = told_of(run, ranks, keeper);
  run.finish();
  return {.classifier = std::make_shared<const Classifier>(std::move(run.classifier)), .told = std::move(told)};
}

Fitted fit_arrays(const FitCall& call, Communicator& ranks) {
  return with_errors_of_python([&](CallState& state) { return fit_unlocked(call, ranks, state); });
}

std::string evaluate_arrays(const FitCall& call, const Classifier& model, Communicator& ranks) {
  return with_errors_of_python([&](CallState& state) { return evaluate_unlocked(call, model, ranks, state); });
}

}  // namespace dpreduce::python
