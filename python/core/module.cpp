// dpreduce._core: fit, predict, accounts and ledgers for the package's own use.
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "commands/commands.hpp"
#include "commands/evaluation.hpp"
#include "commands/job.hpp"
#include "commands/keyword_options.hpp"
#include "commands/refit_options.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"
#include "common/base/public_names.hpp"
#include "common/base/standard_output.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/ledger/ledger.hpp"
#include "common/model/classifier_file.hpp"
#include "common/ranks/lifetime.hpp"
#include "core/any_pickle.hpp"
#include "core/array_views.hpp"
#include "core/errors.hpp"
#include "core/fit_call.hpp"
#include "core/interpreter.hpp"
#include "core/travel.hpp"
#include "fit/ranked_rows.hpp"
#include "methods/registry.hpp"
#include "refit/kept_statistics.hpp"
#include "refit/refit.hpp"
#include "report/explanation.hpp"
#include "report/ledger_report.hpp"
#include "report/model_card.hpp"
#include "report/page.hpp"
#include "report/reported_run.hpp"

namespace dpreduce::python {
namespace {

namespace py = pybind11;

// The result of a command that programs call, as JSON.
std::string call(const std::string& name, const std::vector<Keyword>& keywords) {
  const std::vector<TomlItem> items = items_of(keywords);
  const Unlocked unlocked;
  for (const auto make :
       {calibrate_command, convert_command, compose_command, split_command, sweep_command, audit_command}) {
    CommandEntry command = make();
    if (command.name == name) return result_of_call(std::move(command), items);
  }
  throw std::logic_error("dpreduce: internal error: a command without a result");
}

std::string ledger(const std::string& path, std::optional<double> delta) {
  const Unlocked unlocked;
  if (!is_file(path)) throw BadInput(path + ": no such ledger; check the path");
  return json_text(json_of_ledger(Ledger::read(path), delta));
}

// Whose account each run of a ledger is that was made among silos, in words.
std::map<std::string, std::string> ledger_silos(const std::string& path) {
  const Unlocked unlocked;
  const LedgerState state = Ledger::read(path);
  std::map<std::string, std::string> words;
  const auto add = [&](const std::string& run, const RunTerms& terms) {
    if (terms.silos) words.emplace(run, silos_text(*terms.silos));
  };
  for (const auto& [run, charges] : charges_by_run(state)) add(run, charges.front().entry.terms);
  for (const auto& [run, open] : state.open_runs()) add(run, open.remains.terms);
  return words;
}

// Calls visit(first row, scores of a block) for the rows of `x`, without the interpreter's lock.
template <typename Visit>
void predict(const Classifier& classifier, const py::array& x, const Visit& visit) {
  const ArrayView view = view_of(x, "X", false);
  PythonError error;
  try {
    const Unlocked unlocked;
    WorkerRows rows = WorkerRows::in_memory(view, std::nullopt, "X");
    require_features_of(rows, classifier.input_dim(), "X");
    Communicator alone = Communicator::alone();
    std::size_t first = 0;
    for_each_chunk(alone, classifier, rows, BadRows::kFail, [&](const RowChunk&, std::span<const float> features) {
      visit(first, features);
      first += features.size() / classifier.input_dim();
      error.guard([] {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      });
    });
  } catch (const Error& failure) {
    error.rethrow(failure);
    throw;
  }
}

py::array_t<std::int32_t> labels(const Classifier& classifier, const py::array& x) {
  py::array_t<std::int32_t> labels(x.ndim() > 0 ? x.shape(0) : 0);
  std::int32_t* const out = labels.mutable_data();
  predict(classifier, x, [&](std::size_t first, std::span<const float> features) {
    const std::vector<std::int32_t> of_block = classifier.predict_labels(features, default_threads(), first);
    std::copy(of_block.begin(), of_block.end(), out + first);
  });
  return labels;
}

// n x K of what `finish` makes of a row's scores.
template <typename Finish>
py::array_t<double> scored(const Classifier& classifier, const py::array& x, const Finish& finish) {
  const std::size_t classes = classifier.classes();
  py::array_t<double> scores({x.ndim() > 0 ? x.shape(0) : py::ssize_t{0}, static_cast<py::ssize_t>(classes)});
  double* const out = scores.mutable_data();
  predict(classifier, x, [&](std::size_t first, std::span<const float> features) {
    std::vector<double> of_block = classifier.predict_scores(features, default_threads(), first);
    for (std::size_t at = 0; at < of_block.size(); at += classes) finish(std::span(of_block).subspan(at, classes));
    std::copy(of_block.begin(), of_block.end(), out + first * classes);
  });
  return scores;
}

py::array_t<double> scores(const Classifier& classifier, const py::array& x) {
  return scored(classifier, x, [](std::span<double>) {});
}

py::array_t<double> probabilities(const Classifier& classifier, const py::array& x) {
  if (classifier.predicts_numbers()) throw UsageError("probabilities: the model predicts numbers, and has no classes");
  if (!classifier.parts().link) {
    throw UsageError(
        fmt::format("probabilities: there are none: scores of method {} only rank classes; use scores, or fit with a "
                    "method whose loss is softmax or sigmoid, such as auto",
                    classifier.parts().method));
  }
  return scored(classifier, x, [&](std::span<double> row) { classifier.to_probabilities(row); });
}

py::bytes bytes_of(const Classifier& classifier) {
  const std::vector<std::byte> bytes = to_bytes(classifier);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::shared_ptr<Classifier> classifier_of(const py::bytes& bytes) {
  const auto text = static_cast<std::string_view>(bytes);
  return std::make_shared<Classifier>(
      classifier_from_bytes(std::as_bytes(std::span(text.data(), text.size())), "a pickled classifier"));
}

template <typename Bytes>
void write_file(const std::string& path, bool overwrite, const Bytes& bytes) {
  AtomicFile file(path, overwrite ? Existing::kReplace : Existing::kKeep);
  file.write(bytes);
  file.commit();
}

void save(const Classifier& classifier, const std::string& path, bool overwrite) {
  write_file(path, overwrite, to_bytes(classifier));
}

void save_card(const Classifier& classifier, const std::string& path, const std::string& name,
               const std::optional<std::string>& report, bool overwrite) {
  std::optional<ReportedRun> run;
  if (report) run = parse_report(*report, "report");
  write_file(path, overwrite, model_card(classifier, name, run));
}

// Headings and sentences of a report's promise.
std::vector<std::pair<std::string, std::vector<std::string>>> explain(const std::string& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> explained;
  for (const Words& words : words_of(parse_report(report, "report"))) {
    explained.emplace_back(words.key, words.sentences);
  }
  return explained;
}

// A page on reports of fits, and on files as `dpreduce report` takes them.
void save_page(const std::string& path, const std::vector<std::string>& reports, const std::vector<std::string>& files,
               bool for_public, bool overwrite) {
  std::vector<PageDocument> documents;
  for (const std::string& report : reports) documents.push_back(fit_document(parse_report(report, "report")));
  for (const std::string& file : files) documents.push_back(document_of_file(file));
  write_file(path, overwrite, page_of(documents, for_public ? Audience::kPublic : Audience::kOwner));
}

// Numbers of a model whose rows are linear in the raw ones, but for a step that shortens them.
py::dict parts_of(const Classifier& classifier) {
  const ClassifierParts& parts = classifier.parts();
  const Preprocessing& rows = parts.preprocessing;
  const auto array = [](const std::vector<double>& values) {
    return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
  };
  py::dict numbers;
  numbers["weights"] = array(parts.weights);
  numbers["bias"] = array(parts.bias);
  numbers["prototypes"] = array(parts.cosine_head);
  numbers["column_center"] = array(rows.columns.center);
  numbers["column_scale"] = array(rows.columns.scale);
  numbers["center"] = array(rows.center);
  numbers["center_factor"] = rows.center_factor;
  numbers["projection"] = array(rows.projection);
  numbers["selected"] = py::cast(rows.selected);
  numbers["pool"] = rows.pool;
  return numbers;
}

void declare_classifier(py::module_& module) {
  py::class_<Classifier, std::shared_ptr<Classifier>>(module, "Classifier")
      .def_property_readonly("classes", &Classifier::classes)
      .def_property_readonly("predicts_numbers", &Classifier::predicts_numbers)
      .def_property_readonly("input_dim", &Classifier::input_dim)
      .def_property_readonly("method", [](const Classifier& own) { return own.parts().method; })
      .def_property_readonly("class_names", [](const Classifier& own) { return own.parts().class_names; })
      .def_property_readonly("feature_names", [](const Classifier& own) { return own.parts().feature_names; })
      .def_property_readonly("parts", &parts_of)
      .def_property_readonly("metadata", [](const Classifier& own) { return metadata_of(own); })
      .def_property_readonly("threshold", [](const Classifier& own) { return own.parts().threshold; })
      .def_property_readonly("has_probabilities", [](const Classifier& own) { return own.parts().link.has_value(); })
      .def("labels", &labels, py::arg("x"))
      .def("scores", &scores, py::arg("x"))
      .def("probabilities", &probabilities, py::arg("x"))
      .def("save", &save, py::arg("path"), py::arg("overwrite"))
      .def("save_card", &save_card, py::arg("path"), py::arg("name"), py::arg("report"), py::arg("overwrite"))
      .def("to_bytes", &bytes_of)
      .def("__reduce_ex__", &reduce_for_any_protocol, py::arg("protocol"))
      .def(py::pickle(&bytes_of, &classifier_of));
  module.def(
      "load",
      [](const std::string& path) {
        const Unlocked unlocked;
        return std::make_shared<Classifier>(load_classifier(path));
      },
      py::arg("path"));
}

// The weights of a refit with intervals, and of scores of `x`, m x d, as JSON.
std::string intervals(const KeptStatistics& statistics, const std::vector<Keyword>& keywords, double level,
                      const py::array_t<float, py::array::c_style>& x) {
  const std::vector<TomlItem> items = items_of(keywords);
  const std::span<const float> rows(x.data(), static_cast<std::size_t>(x.size()));
  const bool has_columns =
      x.ndim() == 2 && static_cast<std::size_t>(x.shape(1)) == statistics.of_rows.preprocessing.input_dim;
  if (!rows.empty() && !has_columns) {
    throw UsageError(fmt::format("x: rows must have {} features", statistics.of_rows.preprocessing.input_dim));
  }
  const Unlocked unlocked;
  const RefitOptions options = refit_options_of(items, statistics);
  const Refit made = refit(statistics, options);
  if (!made.ridge) throw UsageError("intervals go with method ls and a shared Gram matrix");
  return json_text(intervals_json(statistics, options, *made.ridge, level, rows));
}

void declare_statistics(py::module_& module) {
  py::class_<KeptStatistics, std::shared_ptr<KeptStatistics>>(module, "Statistics")
      .def_static("load",
                  [](const std::string& path) { return std::make_shared<KeptStatistics>(load_statistics(path)); })
      .def_property_readonly("classes", [](const KeptStatistics& own) { return own.of_rows.classes; })
      .def_property_readonly("dim", [](const KeptStatistics& own) { return own.lattice().dim; })
      .def_property_readonly("metadata", [](const KeptStatistics& own) { return metadata_of(own); })
      .def_property_readonly("sigma",
                             [](const KeptStatistics& own) {
                               py::dict sigma;
                               for (const ReleasedBlock& block : own.blocks)
                                 sigma[py::str(block.name())] = block.sigma();
                               return sigma;
                             })
      .def_property_readonly("blocks",
                             [](const KeptStatistics& own) {
                               py::dict blocks;
                               for (const ReleasedBlock& block : own.blocks) {
                                 blocks[py::str(block.name())] = py::array_t<std::int64_t>(
                                     static_cast<py::ssize_t>(block.values().size()), block.values().data());
                               }
                               return blocks;
                             })
      .def("plus", [](const KeptStatistics& one, const KeptStatistics& other) { return one + other; })
      .def("save", [](const KeptStatistics& own, const std::string& path,
                      bool overwrite) { write_file(path, overwrite, to_bytes(own)); })
      .def("refit",
           [](const KeptStatistics& own, const std::vector<Keyword>& keywords) {
             const std::vector<TomlItem> items = items_of(keywords);
             const Unlocked unlocked;
             Refit made = refit(own, refit_options_of(items, own));
             return std::pair(std::make_shared<Classifier>(made.classifier), json_text(refit_json(made)));
           })
      .def("intervals", &intervals);
}

void declare_ranks(py::module_& module) {
  py::class_<Communicator, std::shared_ptr<Communicator>>(module, "Ranks")
      .def_static("join", [] { return std::make_shared<Communicator>(Communicator::join()); })
      .def_static("alone", [] { return std::make_shared<Communicator>(Communicator::alone()); })
      .def_property_readonly("rank", &Communicator::rank)
      .def_property_readonly("size", &Communicator::size);
  module.def("require_single_process", &require_single_process);
}

void declare_fit(py::module_& module) {
  module.def(
      "fit",
      [](py::object arrays, const std::vector<Keyword>& keywords, bool has_ledger, Communicator& ranks,
         py::object on_progress) {
        Fitted fitted = fit_arrays({.arrays = std::move(arrays),
                                    .keywords = items_of(keywords),
                                    .has_ledger = has_ledger,
                                    .on_progress = std::move(on_progress)},
                                   ranks);
        return std::pair(std::const_pointer_cast<Classifier>(fitted.classifier), std::move(fitted.told));
      },
      py::arg("arrays"), py::arg("keywords"), py::arg("has_ledger"), py::arg("ranks"), py::arg("on_progress"));
  module.def(
      "evaluate",
      [](const Classifier& model, py::object arrays, const std::vector<Keyword>& keywords, bool has_ledger,
         Communicator& ranks) {
        return evaluate_arrays({.arrays = std::move(arrays),
                                .keywords = items_of(keywords),
                                .has_ledger = has_ledger,
                                .on_progress = py::none()},
                               model, ranks);
      },
      py::arg("model"), py::arg("arrays"), py::arg("keywords"), py::arg("has_ledger"), py::arg("ranks"));
  module.def(
      "check_fit_keywords", [](const std::vector<Keyword>& keywords) { fit_options_of(items_of(keywords)); },
      py::arg("keywords"));
  module.def("keywords_of_classes", [] {
    std::vector<std::string> names;
    for (const KeywordHelp& keyword : fit_keywords()) {
      if (keyword.is_about_classes) names.push_back(keyword.name);
    }
    return names;
  });
  module.def("methods_that_descend",
             [] { return names_where([](const MethodEntry& entry) { return entry.takes_option("--loss"); }); });
  module.def("fit_keywords", [] {
    std::vector<std::array<std::string, 3>> keywords;
    for (KeywordHelp& keyword : fit_keywords()) {
      keywords.push_back({std::move(keyword.name), std::move(keyword.help), std::move(keyword.type)});
    }
    return keywords;
  });
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  translate_errors();
  end_with_interpreter();
  declare_classifier(module);
  declare_statistics(module);
  declare_ranks(module);
  declare_fit(module);
  declare_travel(module);
  module.def("call", &call, py::arg("name"), py::arg("keywords"));
  module.def("save_page", &save_page, py::arg("path"), py::arg("reports"), py::arg("files"), py::arg("for_public"),
             py::arg("overwrite"));
  module.def(
      "write_file",
      [](const std::string& path, const py::bytes& bytes, bool overwrite) {
        write_file(path, overwrite, static_cast<std::string_view>(bytes));
      },
      py::arg("path"), py::arg("bytes"), py::arg("overwrite"));
  module.def("ledger", &ledger, py::arg("path"), py::arg("delta"));
  module.def("ledger_silos", &ledger_silos, py::arg("path"));
  module.def("explain", &explain, py::arg("report"));
  module.def(
      "require_same_features",
      [](const std::vector<std::string>& names, const std::vector<std::string>& expected, const std::string& whose,
         const std::string& where) { require_same_features(names, expected, whose, where); },
      py::arg("names"), py::arg("expected"), py::arg("whose"), py::arg("where"));
  module.def("version", &version);
  module.def(
      "run_program",
      [](const std::vector<std::string>& words) {
        const Unlocked unlocked;
        keep_errors_of_standard_output();
        return closed_standard_output(run_program(dpreduce_command, words));
      },
      py::arg("words"));
}

}  // namespace dpreduce::python
