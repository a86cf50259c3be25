#include "fit/fit.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "aggregator/solvers/linear_scores.hpp"
#include "common/base/error.hpp"
#include "common/base/public_names.hpp"
#include "common/model/classifier.hpp"
#include "common/ranks/rank_archive.hpp"
#include "common/ranks/silo_job.hpp"
#include "common/silos/payload_archive.hpp"
#include "fit/row_preparation.hpp"
#include "fit/silo_terms.hpp"
#include "methods/class_balance.hpp"
#include "methods/fit_plan.hpp"
#include "methods/registry.hpp"

namespace dpreduce {

FitOptions checked_call(FitOptions options, const Communicator& ranks, Accounts accounts) {
  if (options.silos.secure_aggregation || ranks.silos() != nullptr) {
    throw UsageError("--secure-aggregation: a run among silos is started by the command `dpreduce fit`");
  }
  if (options.data.train.x.empty()) throw UsageError("--train-x: name the training features");
  if (options.data.train.y.empty()) throw UsageError("--train-y: name the training labels, or --targets");
  if (options.output.dry_run) throw UsageError("--dry-run: construct a ResolvedFit, which has the plan of a fit");
  const bool is_elsewhere = accounts == Accounts::kElsewhere;
  if (is_elsewhere && (options.privacy.limit_epsilon || options.privacy.limit_delta)) {
    throw UsageError(
        "--budget-epsilon: the budget is checked on a ledger: give --ledger; if accounts are kept elsewhere, check it "
        "there");
  }
  if (is_elsewhere && options.privacy.resume) {
    throw UsageError("--resume: a run is resumed from its ledger, but accounts are kept elsewhere here");
  }
  const bool needs_ledger = !is_elsewhere && !options.privacy.budget.non_private;
  if (!needs_ledger && options.privacy.ledger.empty()) options.privacy.ledger = PrivacyOptions{}.ledger;  // not used
  return validated(std::move(options));
}

namespace {

// Checks that every rank has the same options, `accounts` and class weights. Machine options, test rows and the paths
// of ledger and outputs may differ: they serve at the coordinator. Noise is made for the options of rank 0: a rank
// that clipped its rows by another norm would not be covered by that noise. Collective; not among silos, which compare
// digests. Throws UsageError if this rank's options are not those of rank 0, BadInput if its features have other
// names, PeerFailed elsewhere.
void require_one_call(const FitOptions& options, Accounts accounts, const std::vector<double>& class_weights,
                      Communicator& ranks) {
  if (ranks.size() == 1) return;
  std::string own;
  ranks.together([&] {
    FitOptions compared = options;
    compared.machine = {};
    compared.privacy.ledger.clear();
    compared.output = {};
    compared.data.test = {};
    compared.data.train.feature_names.clear();  // compared by name, below
    own = archived(compared) + std::to_string(static_cast<int>(accounts)) + archived(class_weights);
  });
  const std::string of_rank_0 = ranks.trusted().broadcast(own);
  ranks.together([&] {
    if (own == of_rank_0) return;
    throw UsageError(
        "fit: rank {} was called for another fit than rank 0; call it with the same options, accounts and class "
        "weights on every rank, and with public and validation rows on all or on none",
        ranks.rank());
  });
  const std::vector<std::string>& names = options.data.train.feature_names;
  const std::string names_of_rank_0 = ranks.trusted().broadcast(archived(names));
  ranks.together([&] {
    require_same_features(names, unarchived<std::vector<std::string>>(names_of_rank_0),
                          fmt::format("rank {}", ranks.rank()), "on rank 0");
  });
}

ProgressOf or_silent(ProgressOf progress) {
  if (progress) return progress;
  return [](std::string_view) -> OnChunk { return [](double) {}; };
}

FittedRun fit_on(const FitOptions& asked, const RowsInMemory* memory, Communicator& ranks, Accounts accounts,
                 TrainingTerms terms) {
  terms.timings = Timings();
  FitOptions options;
  ranks.together([&] {
    options = checked_call(memory == nullptr ? asked : with_rows_in_memory(asked, *memory), ranks, accounts);
  });
  require_one_call(options, accounts, terms.class_weights, ranks);
  OpenFit open = open_fit(options, ranks, memory);
  ranks.together([&] {
    if (terms.class_weights.empty()) return;
    const FitOptions& resolved = open.fit->options();
    require_weighable(resolved.method.name, open.fit->method().link(), resolved.method.warm_start, terms.class_weights,
                      resolved.data.classes);
  });
  std::optional<FitAccount> account = open_account(*open.fit, ranks, accounts);
  terms.threads = open.threads;
  terms.evaluated = open.evaluated ? &*open.evaluated : nullptr;
  return train(open.fit, open.training, open.public_rows(), ranks, std::move(account), std::move(terms));
}

// Returns the trained model; of an evaluation the model that was evaluated.
Classifier classifier_of(const ResolvedFit& fit, LinearScores scores, Preprocessing preprocessing,
                         const std::vector<double>& class_weights) {
  const FitOptions& options = fit.options();
  std::vector<Classifier> evaluated = evaluated_models(options.evaluation);
  if (!evaluated.empty()) return std::move(evaluated.front());
  preprocessing.intercept = 0.0;  // folded into the bias
  preprocessing.targets.share = 0.0;
  ClassifierParts parts = fit.parts(std::move(preprocessing));
  parts.weights = std::move(scores.weights);
  parts.bias = std::move(scores.bias);
  parts.cosine_head = std::move(scores.cosine_head);
  if (!options.data.has_targets()) parts.link = fit.method().link();
  if (!class_weights.empty()) weigh_classes(parts, class_weights);
  if (options.data.most_labels() > 1) parts.threshold = scores.threshold ? scores.threshold : fit.method().threshold();
  return Classifier(std::move(parts));
}

// Makes the score of a target constant, its center, where its range is not known: its residuals then say nothing.
void make_constant(LinearScores& scores, std::size_t target, const Preprocessing& rows) {
  const std::size_t width = scores.weights.size() / rows.targets.count;
  std::fill_n(scores.weights.begin() + static_cast<std::ptrdiff_t>(target * width), width, 0.0);
  scores.bias[target] = rows.targets.center[target];
}

// Releases the metrics of test rows, where they share the budget: one more release of the run, of other rows, by the
// model that it has trained. Collective.
void release_evaluation(FittedRun& fitted, TrainingTerms& terms) {
  DPREDUCE_ASSERT(fitted.fit->options().evaluation.share.has_value() == (terms.evaluated != nullptr));
  if (terms.evaluated == nullptr) return;
  const ResolvedFit& fit = *fitted.fit;
  TrainingRun run(*fitted.ranks, *terms.evaluated, *fitted.releaser, fit.plan(),
                  fit.stream_over(*terms.evaluated, terms.threads, terms.memory_bytes), or_silent(terms.progress),
                  terms.timings, {}, {.observer = fitted.ranks->is_coordinator() ? terms.observer : nullptr});
  run.release("evaluation", ModelsPoint{std::span(&fitted.classifier, 1), fit.options().evaluation.terms});
  run.end_phase("evaluation");
}

}  // namespace

void with_way_to_resume(const Releaser& releaser, const Warn& warn, const std::function<void()>& work) {
  try {
    work();
  } catch (const PeerFailed&) {  // that rank prints its error
    if (releaser.can_be_resumed() && warn) warn(releaser.run().way_to_resume());
    throw;
  } catch (const Error& error) {
    if (!releaser.can_be_resumed()) throw;
    throw Error(error.code(), fmt::format("{}; {}", error.what(), releaser.run().way_to_resume()));
  }
}

void FittedRun::finish() {
  ranks->together([&] {
    if (ranks->is_coordinator()) releaser->finish();
  });
}

FittedRun train(std::shared_ptr<const ResolvedFit> fit, WorkerRows& training, const PublicRows& public_rows,
                Communicator& ranks, std::optional<FitAccount> account, TrainingTerms terms) {
  DPREDUCE_ASSERT(fit->plan().noise.has_value() == account.has_value());
  DPREDUCE_ASSERT(fit->options().data.weighs_rows() == training.has_weights());
  std::unique_ptr<PrivateFolder> folder = account ? std::move(account->folder) : nullptr;
  std::unique_ptr<Releaser> releaser =
      account ? std::make_unique<Releaser>(ranks, *fit->plan().noise, std::move(account->file), account->charging,
                                           fit->terms(), shares_of_silos(fit->options(), ranks))
              : std::make_unique<Releaser>(ranks);
  if (!releaser->lost().empty()) fit = std::make_shared<const ResolvedFit>(fit->with_lost(releaser->lost()));
  terms.timings.end_phase("open");

  std::optional<FittedRun> fitted;
  with_way_to_resume(*releaser, terms.warn, [&] {
    TrainingRun run(ranks, training, *releaser, fit->plan(),
                    fit->stream_over(training, terms.threads, terms.memory_bytes), or_silent(terms.progress),
                    terms.timings, public_rows,
                    {.watcher = std::move(terms.watcher),
                     .observer = ranks.is_coordinator() ? terms.observer : nullptr,
                     .source = terms.source});
    std::vector<std::size_t> hidden = prepare_rows(run, fit->options());
    LinearScores scores = trained_scores(fit->method(), run, fit->options());
    for (const std::size_t target : hidden) make_constant(scores, target, run.rows().preprocessing());
    if (ranks.silos() != nullptr && !ranks.is_coordinator()) {
      releaser->finish();  // nothing more of its rows is asked for
    }
    run.end_phase("solve");
    ranks.together([&] {
      Classifier classifier = classifier_of(*fit, std::move(scores), run.rows().preprocessing(), terms.class_weights);
      fitted.emplace(FittedRun{.fit = fit,
                               .classifier = std::move(classifier),
                               .chosen_public_rows = run.chosen_public_rows(),
                               .chosen_setting = run.chosen_setting(),
                               .hidden_targets = std::move(hidden),
                               .timings = Timings(),
                               .folder = std::move(folder),
                               .releaser = std::move(releaser),
                               .ranks = &ranks});
    });
    release_evaluation(*fitted, terms);
  });
  fitted->timings = std::move(terms.timings);
  return std::move(*fitted);
}

FittedRun fit(const FitOptions& options, Communicator& ranks, Accounts accounts, TrainingTerms terms) {
  return fit_on(options, nullptr, ranks, accounts, std::move(terms));
}

FittedRun fit(const FitOptions& options, const RowsInMemory& rows, Communicator& ranks, Accounts accounts,
              TrainingTerms terms) {
  return fit_on(options, &rows, ranks, accounts, std::move(terms));
}

}  // namespace dpreduce
