// Documents of pages, small and whole, and what stands on the page of one.
#pragma once

#include <nlohmann/json.hpp>

#include "report/ledger_report.hpp"
#include "report/page.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

inline nlohmann::json small_report() {
  return nlohmann::json::parse(R"({
    "version": "0.1.0", "method": "fc", "private": true, "classes": 2, "model": "m.safetensors",
    "privacy": {"epsilon": 2.0, "delta": 1e-05, "mu": 0.5, "adjacency": "add-remove", "accountant": "gdp",
      "releases": [
        {"name": "gram", "release": "gram", "coordinates": 3, "sensitivity": 3.375, "sigma": 11.25, "sigma_off_diagonal": 7.875, "mu": 0.3,
         "norm": 1234.5678901, "noise_norm": 33.25},
        {"name": "gradient", "release": "gradient/1", "coordinates": 4, "sensitivity": 7.5, "sigma": 21.5, "mu": 0.28,
         "norm": 101.5, "noise_norm": 43.0},
        {"name": "gradient", "release": "gradient/2", "coordinates": 4, "sensitivity": 7.5, "sigma": 21.5, "mu": 0.28,
         "norm": 99.75, "noise_norm": 43.0},
        {"name": "gradient", "release": "gradient/3", "coordinates": 4, "sensitivity": 7.5, "sigma": 21.5, "mu": 0.28,
         "norm": 97.5, "noise_norm": 43.0},
        {"name": "gradient", "release": "gradient/4", "coordinates": 4, "sensitivity": 7.5, "sigma": 21.5, "mu": 0.28,
         "norm": 95.25, "noise_norm": 43.0}],
      "selections": [{"name": "choice", "mechanism": "exponential", "epsilon": 0.125, "mu": 0.0625, "candidates": 6,
                      "chosen": 1, "groups": 1}]},
    "spectra": [{"release": "gram", "name": "gram", "eigenvalues": [812.5, 3.75, -2.125], "noise_radius": 4.5}],
    "test": {"accuracy": 0.953125, "balanced_accuracy": 0.9515, "rows": 64, "per_class": [0.96875, 0.934375],
             "per_class_precision": [0.9, 0.91], "per_class_f1": [0.92, 0.93], "per_class_support": [33, 31],
             "confusion_matrix": [[31, 2], [1, 30]], "note": "about the test rows"},
    "silos": {"count": 4, "threshold": 3, "colluding": 1, "left": 3, "summed": 3, "identities": "roster",
              "noise": {"source": "distributed"},
              "took_part": [{"silo": 1, "name": "north"}, {"silo": 2, "name": "east"}, {"silo": 4, "name": "west"}],
              "lost": [{"silo": 3, "name": "south", "phase": "shares", "round": 5, "reason": "its line was cut"}],
              "messages": {"masked": {"count": 9, "bytes": 8192, "waits": 3}}}
  })");
}

// "test" of a fit, or an evaluation, whose figures have noise.
inline nlohmann::json told() {
  return nlohmann::json::parse(R"({"figures": "private", "level": 0.95, "note": "with noise", "metrics": {
    "accuracy": {"value": 0.8125, "low": 0.78125, "high": 0.84375, "noise": 0.0078125},
    "best_f1": {"value": 0.375, "low": 0.25, "high": 0.5, "noise": 0.0625, "class": 1, "threshold": 0.03125, "weight": 31.0},
    "log_loss": {"value": 1.25, "low": 1.125, "high": 1.375, "noise": 0.03125, "largest": 3.0},
    "recall": [{"class": 0, "value": 0.90625, "low": 0.875, "high": 0.9375, "noise": 0.015625},
               {"class": 1, "value": null, "low": 0.0, "high": 1.0, "noise": 0.5, "note": "too little data"}],
    "confusion": {"counts": [[40.25, -3.5], [2.0, 12.0]], "low": [[30, 0], [0, 4]], "high": [[50, 6], [11, 20]], "noise": 3.0},
    "calibration": [{"from": 0.0, "to": 0.5, "value": 0.25, "low": 0.125, "high": 0.375, "noise": 0.0625}],
    "roc": {"points": [{"threshold": 0.5,
                        "true_positive_rate": {"value": 0.71875, "low": 0.625, "high": 0.75, "noise": 0.01},
                        "false_positive_rate": {"value": 0.1875, "low": 0.125, "high": 0.25, "noise": 0.01}}],
            "auc": {"value": 0.8, "low": 0.7, "high": 0.9, "noise": 0.02}}}})");
}

inline nlohmann::json report_with_told() {
  nlohmann::json report = small_report();
  report["test"] = told();
  report["class_names"] = {"well", "ill"};
  return report;
}

inline nlohmann::json evaluation_of_model() {
  nlohmann::json report = told();
  report.update({{"method", "evaluate"}, {"private", true}, {"class_names", {"well", "ill"}}, {"version", "0.1.0"}});
  report["privacy"] = nlohmann::json::parse(R"({"epsilon": 2.0, "delta": 1e-05, "mu": 0.5, "adjacency": "add-remove",
    "accountant": "gdp", "releases": [{"name": "totals", "release": "evaluation", "coordinates": 2, "sensitivity": 1.0,
                                       "sigma": 2.0, "mu": 0.5}]})");
  return report;
}

inline PageDocument fit_of(nlohmann::json report) {
  return fit_document(reported_run(std::move(report), "r.json"));
}

inline PageDocument document_of(const SampleText& ledger) {
  return {.name = "l.jsonl", .ledger = ledger_sections(state_of(ledger.text(), "l.jsonl"))};
}

// A release of "aa"; of `others` a run with a seed, too, and one of which 7 rounds are open.
inline SampleText ledger_of_a_run(bool has_others = false) {
  SampleText ledger;
  const auto add = [&](const LedgerEntry& entry) {
    ledger.add(reservation_for(entry)).add(entry).add(RunEnd{run_of(entry.release_id), RunOutcome::kFinished});
  };
  add(sample_entry("aa/gram"));
  if (!has_others) return ledger;
  LedgerEntry seeded = sample_entry("bb/gram");
  seeded.terms.method = "fc";
  seeded.terms.is_private = false;
  add(seeded);
  Reservation open = sample_reservation("cc", 7);
  open.releases.front().mu = 0.015625;
  ledger.add(open);
  return ledger;
}

inline PageDocument ledger_of_two_runs() {
  return document_of(ledger_of_a_run(true));
}

inline std::string page_of_one(const PageDocument& document, Audience audience = Audience::kOwner) {
  return page_of({&document, 1}, audience);
}
inline std::string page_of_report(const nlohmann::json& report, Audience audience = Audience::kOwner) {
  return page_of_one(fit_of(report), audience);
}

// Not a matcher: a page is too long to be printed.
inline bool has(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

inline void expect_shown(const std::string& page, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_TRUE(has(page, part)) << part;
}
inline void expect_hidden(const std::string& page, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_FALSE(has(page, part)) << part;
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Of a page as the text stands, without its script and style.
inline std::string without_inlined_texts(std::string page) {
  for (const std::string_view text : {page_script(), page_style()}) page.erase(page.find(text), text.size());
  return page;
}

}  // namespace dpreduce
