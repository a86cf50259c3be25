// fit() on arrays of Python.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "common/base/toml_items.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/communicator.hpp"
#include "fit/fit.hpp"
#include "refit/kept_statistics.hpp"

namespace dpreduce::python {

/// An option's name, and the words that it is given.
using Keyword = std::pair<std::string, std::vector<std::string>>;

std::vector<TomlItem> items_of(const std::vector<Keyword>& keywords);

struct FitCall {
  /// Makes the arrays, by the names of their options ("train_x", "train_y", "public_x", ...), and what is known with
  /// them: how many classes there are ("classes"), or their names ("class_names"), and names of features. It is called
  /// when all ranks are there, so that what it raises ends the call on all of them.
  pybind11::object arrays;
  std::vector<TomlItem> keywords;
  bool has_ledger = false;  ///< else accounts are kept elsewhere
  pybind11::object
      on_progress{};  ///< called with a pass over rows and the share of them that is done; None: nothing is
};

struct Fitted {
  std::shared_ptr<const Classifier> classifier;
  /// JSON, the same on every rank: "report", as fit --report writes it, and where a ledger is charged "account":
  /// {"runs", "balance"}, how many runs have charged it by now, and what they have spent.
  std::string told;
};

/// Report of a run, which is then finished: its file is removed. `keeper` has the Gram matrix of a run on numbers,
/// whose coefficients get intervals by it. Collective. Throws as FittedRun::finish.
Fitted finished(FittedRun& run, Communicator& ranks, const StatisticsKeeper& keeper = {});

/// What the model is on private rows: JSON, the same on every rank, {"report", "account"} as of a fit, the report being
/// that of `dpreduce evaluate --private`. Only training arrays are looked at, which are the test rows; keywords are
/// options of that command. Collective. Throws as fit_arrays.
std::string evaluate_arrays(const FitCall& call, const Classifier& model, Communicator& ranks);

/// The whole fit, finished: its file is removed. The interpreter's lock is released while rows are
/// read; signals are looked after between chunks of them. Collective. Throws as fit(), and what Python raised.
Fitted fit_arrays(const FitCall& call, Communicator& ranks);

}  // namespace dpreduce::python
