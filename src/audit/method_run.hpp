// `fit` as an audit runs it: the real path from rows to releases and model, with a key and a ledger of its own for
// every run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dpreduce/audit/two_world_audit.hpp"
#include "dpreduce/methods/training_method.hpp"

namespace dpreduce {

/// What a run makes public.
struct Published {
  std::vector<Release> releases;  ///< in the order in which they were made
  LinearScores scores;            ///< the model
  Preprocessing preprocessing;    ///< with the released centre

  /// First the summary: of every block the sum over its rounds, and the model's weights and biases. Then, where there
  /// are several rounds, each of them.
  std::vector<double> numbers(const NoisePlan& plan) const;
};

/// A method with its options and its plan. Immutable, and so shared by threads.
class AuditedMethod {
 public:
  /// For rows of `input_dim` features, with so many public rows to choose prototypes from. Throws UsageError where
  /// options and features do not fit, or there is no budget.
  AuditedMethod(const FitOptions& options, std::size_t input_dim, std::uint64_t public_rows = 0);

  const FitOptions& options() const { return options_; }  ///< resolved
  const FitPlan& plan() const { return plan_; }
  std::string_view name() const { return method_->name(); }

  /// The exact statistic of `release` over rows as `preprocessing` says; a gradient's at `point`. Throws BadInput as
  /// for_each_lattice_chunk does.
  Statistic statistic(std::string_view release, WorkerRows& rows, const Preprocessing& preprocessing,
                      const GradientPoint* point = nullptr) const;

  /// One run over `rows`, with these public ones, charged to a new ledger at `ledger_path`, which is removed again.
  /// Throws what the releaser and for_each_lattice_chunk throw.
  Published run(WorkerRows& rows, const std::string& ledger_path, const PublicRows& public_rows = {}) const;

 private:
  StreamPlan stream_over(const WorkerRows& rows) const;

  FitOptions options_;
  FitPlan plan_;
  std::unique_ptr<TrainingMethod> method_;
};

/// The method on two neighbouring data sets, each a pair of .npy files.
class MethodRun : public AuditedRun {
 public:
  struct Files {
    std::string x;
    std::string y;
  };
  /// `ledger_path` belongs to this object alone. `public_x`, where the method has public rows, else empty: the same in
  /// both worlds.
  MethodRun(const AuditedMethod& method, const Files& without, const Files& with, std::string ledger_path,
            const std::string& public_x = {});

  std::vector<double> observe(World world) override;
  std::size_t summary() const override;

 private:
  const AuditedMethod& method_;
  WorkerRows without_;
  WorkerRows with_;
  std::optional<WorkerRows> features_;    ///< public rows, to sum
  std::optional<WorkerRows> candidates_;  ///< and to choose from
  std::string ledger_path_;
};

}  // namespace dpreduce
