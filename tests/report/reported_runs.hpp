// Reports of runs, small and whole.
#pragma once

#include <nlohmann/json.hpp>

#include "report/reported_run.hpp"

namespace dpreduce {

/// Of two classes, tested on rows of its own.
inline nlohmann::json report_of_mean() {
  return nlohmann::json::parse(R"({
    "version": "0.1.0", "method": "mean", "private": true, "classes": 2, "input_dim": 3, "normalize": "l2",
    "clip_norm": 1.0, "center": "dp", "model": "m.safetensors", "class_names": ["well", "ill_*"],
    "privacy": {"epsilon": 2.0, "delta": 1e-05, "mu": 0.5, "rho": 0.125, "adjacency": "add-remove", "accountant": "gdp",
      "releases": [{"name": "class_sums", "release": "class_means", "coordinates": 6, "sensitivity": 32767.0,
                    "sigma": 131068.0, "mu": 0.25}], "selections": []},
    "test": {"accuracy": 0.953125, "balanced_accuracy": 0.9515, "rows": 6400, "per_class": [0.96875, null],
             "per_class_precision": [0.9, 0.91], "per_class_support": [3307, 3093], "note": "about the test rows"}
  })");
}

/// A choice alone, which is pure.
inline nlohmann::json report_of_choice() {
  nlohmann::json report = report_of_mean();
  report["method"] = "public";
  report["privacy"].update({{"delta", 0.0}, {"mu", 1.25}, {"rho", 0.5}});
  report["privacy"]["releases"] = nlohmann::json::array();
  report["privacy"]["selections"] = {{{"name", "prototypes"}, {"epsilon", 2.0}, {"candidates", 10}}};
  return report;
}

/// Of persons, among silos that add shares of the noise.
inline nlohmann::json report_of_silos() {
  nlohmann::json report = report_of_mean();
  report["privacy"].update({{"unit", "person"}, {"rows_per_person", 3}, {"silos_per_person", 2}});
  report["silos"] = {{"identities", "roster"}, {"colluding", 1}, {"noise", {{"source", "distributed"}}}};
  return report;
}

inline ReportedRun run_of(nlohmann::json report) {
  return reported_run(std::move(report), "r.json");
}

}  // namespace dpreduce
