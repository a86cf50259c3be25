#include "report/fit_report.hpp"

#include <algorithm>
#include <cmath>

#include "common/base/json_text.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/ledger/spending.hpp"
#include "common/ranks/silo_job.hpp"
#include "fit/resolved_fit.hpp"
#include "methods/fit_options.hpp"
#include "methods/registry.hpp"
#include "report/ledger_report.hpp"
#include "report/plan_report.hpp"
#include "report/reported_run.hpp"

namespace dpreduce {

nlohmann::json finite_epsilon(const Spending& spent, double delta) {
  const double epsilon = epsilon_of(spent, delta);
  return std::isfinite(epsilon) ? nlohmann::json(epsilon) : nlohmann::json();
}

nlohmann::json training_rows_note() {
  return {{"rows_are_training_rows", true},
          {"note", "exact figures about training rows: outside the privacy guarantee, do not publish them"}};
}

namespace {

// K^2 counts of more classes would be most of the report; evaluate writes them up to kMostClassesInMatrix.
constexpr std::size_t kMostClassesInConfusion = 64;

// Figures of each class, from the largest training share to the smallest, as a plot over class sizes needs them. The
// shares are the experimenter's word, and public.
nlohmann::json by_class_json(const ClassCounts& counts, std::span<const double> shares) {
  const std::vector<std::size_t> minority = minority_classes(shares);
  nlohmann::json by_class = nlohmann::json::array();
  for (std::size_t c = 0; c < shares.size(); ++c) {  // shares fall
    by_class.push_back({{"class", c},
                        {"training_share", shares[c]},
                        {"recall", or_null(recall(counts, c))},
                        {"support", counts.support(c)},
                        {"minority", std::binary_search(minority.begin(), minority.end(), c)}});
  }
  return by_class;
}

nlohmann::json test_of_fit(const TestFigures& figures, const FitOptions& options) {
  const std::optional<LongTail> tail = long_tail_of(options.data);
  const std::vector<double> shares = tail ? long_tail_shares(options.data.classes, tail->ratio) : std::vector<double>{};
  nlohmann::json json = test_json(figures, shares, kMostClassesInConfusion);
  const ClassCounts* const counts = std::get_if<ClassCounts>(&figures);
  if (tail && counts != nullptr) json["by_class"] = by_class_json(*counts, shares);
  return json;
}

// Setting that --choose or --isotropy-share chose, and the criterion.
nlohmann::json choice_json(const FittedRun& run) {
  const FitOptions& options = run.fit->options();
  const char* const by = options.method.isotropy_share        ? "a release of how evenly rows spread"
                         : !options.data.validation.x.empty() ? "validation rows"
                         : run.fit->plan().choice             ? "exponential mechanism on training rows"
                                                              : "training rows, without noise";
  return {{"setting", run.chosen_setting}, {"candidates", run.fit->method().candidates()}, {"by", by}};
}

// Public rows chosen for each class, counted from 0 over --public-x.
nlohmann::json chosen_rows_json(const Selection& chosen) {
  nlohmann::json of_classes = nlohmann::json::array();
  for (std::size_t c = 0; c < chosen.groups(); ++c) {
    const auto rows = chosen.of_group(c);
    of_classes.push_back(std::vector<std::uint64_t>(rows.begin(), rows.end()));
  }
  return of_classes;
}

// Budget that all runs on the ledger have spent together.
nlohmann::json spent_json(const LedgerState& state, const PrivacyOptions& privacy) {
  const double delta = privacy.budget.delta.value_or(kReportedDelta);
  const Adjacency adjacency = strictest_adjacency(state, privacy.adjacency);
  const Spending spent = spending_of(state.charges(), adjacency);
  return {{"epsilon", finite_epsilon(spent, delta)},
          {"delta", delta},
          {"rho", rho_of(spent)},
          {"adjacency", to_string(adjacency)},
          {"runs", charges_by_run(state).size()}};
}

// Adds "class_shares", if the run has them, and "spectra".
void add_figures(nlohmann::json& report, ReleaseFigures& figures) {
  if (const std::optional<ClassShares>& sizes = figures.class_shares()) {
    report["class_shares"] = {{"shares", sizes->shares}, {"noise", sizes->noise}};
  }
  for (const SpectrumFigures& spectrum : figures.spectra()) {
    report["spectra"].push_back({{"release", spectrum.release},
                                 {"name", spectrum.block},
                                 {"eigenvalues", spectrum.eigenvalues},
                                 {"noise_radius", spectrum.noise_radius}});
  }
}

}  // namespace

nlohmann::json test_json(const TestFigures& figures, std::span<const double> shares, std::size_t most_classes) {
  const ClassCounts* const counts = std::get_if<ClassCounts>(&figures);
  nlohmann::json json = counts != nullptr ? to_json(*counts, shares)
                                          : std::visit([](const auto& some) { return to_json(some); }, figures);
  json["figures"] = "exact";
  json["note"] = "figures about the test rows: outside the privacy guarantee";
  if (counts == nullptr || counts->classes() > most_classes) return json;
  nlohmann::json& rows = json["confusion_matrix"];
  for (std::size_t label = 0; label < counts->classes(); ++label) {
    for (std::size_t k = 0; k < counts->classes(); ++k) rows[label].push_back(counts->count(label, k));
  }
  return json;
}

std::string note_of(const Forfeits& forfeits) {
  std::string note;
  for (const Forfeit own : forfeits) note += (note.empty() ? "" : "; ") + std::string(reason_of(own));
  return note + ": this run is NOT private";
}

void add_words(nlohmann::json& report, const FitOptions& options) {
  for (const PublicByWord word : public_by_word(options)) report["public_by_word"].push_back(to_string(word));
}

nlohmann::json ledger_json(const Releaser& releaser, const PrivacyOptions& privacy) {
  nlohmann::json json = json_of(releaser.run().ledger().head());
  json["run"] = releaser.run().run_id();
  json["spent"] = spent_json(releaser.run().ledger(), privacy);
  if (const auto before = releaser.run().runs_before(); !before.empty()) json["goes_on_from"] = before;
  return json;
}

nlohmann::json fit_report(const FittedRun& run, const std::optional<TestFigures>& test, ReleaseFigures* figures,
                          int ranks, unsigned threads) {
  const FitOptions& options = run.fit->options();
  const FitPlan& plan = run.fit->plan();
  const Preprocessing& preprocessing = run.classifier.parts().preprocessing;
  nlohmann::json report = settings_json(options, preprocessing);
  report.update(
      {{"private", plan.is_private},
       {"privacy", figures == nullptr ? privacy_json(plan, options) : privacy_json(plan, options, figures->blocks())},
       {"dim", preprocessing.dim()},
       {"lattice", {{"norm", kLatticeNorm}, {"scale", Lattice{preprocessing.clip_norm, preprocessing.dim()}.scale()}}},
       {"model", options.output.out},
       {"ranks", ranks},
       {"threads", threads}});
  if (!options.data.train.class_names.empty()) report["class_names"] = options.data.train.class_names;
  if (const TargetColumns& targets = preprocessing.targets; targets.count > 0) {
    report["target_center"] = targets.center;
    report["target_scale"] = targets.scale;
  }
  if (options.data.max_labels) report["max_labels"] = *options.data.max_labels;
  if (options.rows.finds_ranges == FindRanges::kWhereColumnsDiffer) {
    report["columns"] = preprocessing.columns.scale.empty() ? "as they are" : "scaled";
  }
  // If rows keep their lengths because the options say so, noise may have hidden these: then C is as it was.
  const bool is_clip_found = preprocessing.normalize == Normalize::kNone &&
                             (!options.rows.sets_length || preprocessing.clip_norm != options.rows.clip_norm);
  if (options.rows.chooses_clip && is_clip_found) report["clip_chosen"] = true;
  if (!run.hidden_targets.empty()) report["hidden_targets"] = run.hidden_targets;
  if (options.rows.pca > 0) report["pca"] = options.rows.pca;
  if (options.rows.select > 0) report["select"] = options.rows.select;
  report.update(run.fit->method().settings());
  if (!options.method.asked.empty()) report["adaptive"] = adaptive_json(options.method);
  if (!plan.forfeits.empty()) report["note"] = note_of(plan.forfeits);
  if (!plan.noise) report["note"] = "no noise: this run is NOT private";
  add_words(report, options);
  if (test) report["test"] = test_of_fit(*test, options);
  if (report.contains("imbalance")) {
    report["imbalance"]["note"] =
        "an experiment: trained on a subset of the rows; order and shares of classes are public, and whether a row is "
        "kept depends on its own bytes alone: the guarantee covers all rows";
  }
  if (run.chosen_public_rows) report["prototypes"] = chosen_rows_json(*run.chosen_public_rows);
  if (!run.chosen_setting.empty()) report["choice"] = choice_json(run);
  if (figures != nullptr) add_figures(report, *figures);
  // Runs whose accounts are kept elsewhere have had a ledger of their own, which is gone with the run.
  if (plan.noise && !run.folder) report["ledger"] = ledger_json(*run.releaser, options.privacy);
  return report;
}

nlohmann::json timings_json(const RankTimings& phases, const std::vector<RankTimings>& of_ranks) {
  const auto seconds_of = [](const RankTimings& timings) { return std::map(timings.begin(), timings.end()); };
  nlohmann::json json{
      {"for_release", false},
      {"note",
       "running times depend on rows, and may reveal a single person: for the data's owner alone, never for release"},
      {"phases", seconds_of(phases)}};
  for (const RankTimings& of_rank : of_ranks) json["ranks"].push_back(seconds_of(of_rank));
  return json;
}

nlohmann::json adaptive_json(const MethodOptions& method) {
  return {{"method", method.asked},
          {"chosen", method.name},
          {"by", method_entry(MethodOptions{.name = method.asked}).resolved_by}};
}

nlohmann::json silos_json(const Communicator& ranks, NoiseSource noise) {
  const SiloJob& job = *ranks.silos();
  const CoordinatorSession& session = *job.coordinator();
  const SiloTerms& terms = job.entry().terms;
  nlohmann::json json = json_of(ReportedSilos{noise, terms.colluding, !job.entry().roster, session.lost()});
  json.update({{"count", terms.silos},
               {"threshold", terms.threshold},
               {"left", session.left().size()},
               {"summed", session.last_summed().size()},
               {"took_part", nlohmann::json::array()},
               {"messages", nlohmann::json::object()}});
  if (noise == NoiseSource::kDistributed) {
    json["noise"]["shares_at_least"] = terms.honest_shares();
    json["noise"]["shares_in_last_sum"] = session.last_summed().size();
  }
  for (const std::uint32_t silo : session.left()) {
    json["took_part"].push_back({{"silo", silo}, {"name", session.name_of(silo)}});
  }
  for (const auto& [kind, cost] : session.costs()) {
    json["messages"][kind] = {{"count", cost.messages}, {"bytes", cost.bytes}, {"waits", cost.waits}};
  }
  return json;
}

nlohmann::json waits_json(const Communicator& ranks) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [kind, cost] : ranks.silos()->coordinator()->costs()) json[kind] = cost.seconds;
  return json;
}

std::string ledger_balance(const FittedRun& run) {
  const PrivacyOptions& privacy = run.fit->options().privacy;
  return balance_text(run.releaser->run().ledger(), privacy.adjacency, run.fit->plan().limit,
                      privacy.budget.delta.value_or(kReportedDelta));
}

}  // namespace dpreduce
