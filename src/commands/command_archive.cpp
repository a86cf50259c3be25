#include "commands/command_archive.hpp"

#include "common/ranks/rank_archive.hpp"
#include "fit/fit_options_archive.hpp"

namespace dpreduce {

// Of each struct all members: a structured binding that misses one does not compile.

template <typename Archive>
void serialize(Archive& archive, PrintText& options, unsigned) {
  auto& [text] = options;
  archive_all(archive, text);
}

template <typename Archive>
void serialize(Archive& archive, SweepOptions& options, unsigned) {
  auto& [train, test, public_x, classes, methods, epsilons, non_private, delta, ratios, seeds, adjacency, out, html,
         metrics, overwrite, quiet, threads, memory_mib] = options;
  archive_all(archive, train, test, public_x, classes, methods, epsilons, non_private, delta, ratios, seeds, adjacency,
              out, html, metrics, overwrite, quiet, threads, memory_mib);
}

template <typename Archive>
void serialize(Archive& archive, PredictOptions& options, unsigned) {
  auto& [model, x, out, scores, probabilities, top_k, sets, threshold, bad_rows, overwrite] = options;
  archive_all(archive, model, x, out, scores, probabilities, top_k, sets, threshold, bad_rows, overwrite);
}

template <typename Archive>
void serialize(Archive& archive, EvaluateOptions& options, unsigned) {
  auto& [model, test, train_y, top_k, threshold, report, overwrite, format] = options;
  archive_all(archive, model, test, train_y, top_k, threshold, report, overwrite, format);
}

template <typename Archive>
void serialize(Archive& archive, CalibrateOptions& options, unsigned) {
  auto& [budget, sensitivity, steps, sampling_rate, format] = options;
  archive_all(archive, budget, sensitivity, steps, sampling_rate, format);
}

template <typename Archive>
void serialize(Archive& archive, ConvertOptions& options, unsigned) {
  auto& [budget, sigma, sensitivity, format] = options;
  archive_all(archive, budget, sigma, sensitivity, format);
}

template <typename Archive>
void serialize(Archive& archive, MechanismSpec& spec, unsigned) {
  auto& [kind, parameter, sampling_rate, count] = spec;
  archive_all(archive, kind, parameter, sampling_rate, count);
}

template <typename Archive>
void serialize(Archive& archive, ComposeOptions& options, unsigned) {
  auto& [run, delta, adjacency, group, format] = options;
  archive_all(archive, run, delta, adjacency, group, format);
}

template <typename Archive>
void serialize(Archive& archive, BlockSpec& spec, unsigned) {
  auto& [name, sensitivity, loss_weight] = spec;
  archive_all(archive, name, sensitivity, loss_weight);
}

template <typename Archive>
void serialize(Archive& archive, SplitOptions& options, unsigned) {
  auto& [budget, blocks, format] = options;
  archive_all(archive, budget, blocks, format);
}

template <typename Archive>
void serialize(Archive& archive, ExplainOptions& options, unsigned) {
  auto& [report, format] = options;
  archive_all(archive, report, format);
}

template <typename Archive>
void serialize(Archive& archive, LedgerShowOptions& options, unsigned) {
  auto& [ledger, delta, format] = options;
  archive_all(archive, ledger, delta, format);
}

template <typename Archive>
void serialize(Archive& archive, LedgerVerifyOptions& options, unsigned) {
  auto& [ledger, report] = options;
  archive_all(archive, ledger, report);
}

template <typename Archive>
void serialize(Archive& archive, LedgerReleaseOptions& options, unsigned) {
  auto& [run, ledger] = options;
  archive_all(archive, run, ledger);
}

template <typename Archive>
void serialize(Archive& archive, LedgerExportOptions& options, unsigned) {
  auto& [ledger, dp_events, adjacency, out, overwrite] = options;
  archive_all(archive, ledger, dp_events, adjacency, out, overwrite);
}

template <typename Archive>
void serialize(Archive& archive, SynthOptions& options, unsigned) {
  auto& [kind, out_dir, rows, test_rows, dim, classes, shards, offset, stochastic, test_stochastic, adversarial, spread,
         separation, imbalance_ratio, max_labels, majority_share, rows_per_person, seed, overwrite] = options;
  archive_all(archive, kind, out_dir, rows, test_rows, dim, classes, shards, offset, stochastic, test_stochastic,
              adversarial, spread, separation, imbalance_ratio, max_labels, majority_share, rows_per_person, seed,
              overwrite);
}

template <typename Archive>
void serialize(Archive& archive, SanitizeOptions& options, unsigned) {
  auto& [x, y, out_dir, normalize, clip_norm, bad_rows, budget, seed, overwrite, format] = options;
  archive_all(archive, x, y, out_dir, normalize, clip_norm, bad_rows, budget, seed, overwrite, format);
}

template <typename Archive>
void serialize(Archive& archive, PartitionOptions& options, unsigned) {
  auto& [x, y, out_dir, classes, silos, first_silo, scheme, alpha, classes_per_silo, rotation, offset, seed, format] =
      options;
  archive_all(archive, x, y, out_dir, classes, silos, first_silo, scheme, alpha, classes_per_silo, rotation, offset,
              seed, format);
}

template <typename Archive>
void serialize(Archive& archive, InspectOptions& options, unsigned) {
  auto& [rows, classes, normalize, clip_norm, format] = options;
  archive_all(archive, rows, classes, normalize, clip_norm, format);
}

template <typename Archive>
void serialize(Archive& archive, AuditOptions& options, unsigned) {
  auto& [kind, fit, confidence, trials, canaries] = options;
  archive_all(archive, kind, fit, confidence, trials, canaries);
}

template <typename Archive>
void serialize(Archive& archive, BenchOptions& options, unsigned) {
  auto& [kind, rows, dim, classes, count, elements, sigma, threads, repeats, kernel, format] = options;
  archive_all(archive, kind, rows, dim, classes, count, elements, sigma, threads, repeats, kernel, format);
}

template <typename Archive>
void serialize(Archive& archive, ReportOptions& options, unsigned) {
  auto& [files, out, overwrite, for_public] = options;
  archive_all(archive, files, out, overwrite, for_public);
}

template <typename Archive>
void serialize(Archive& archive, ExportOptions& options, unsigned) {
  auto& [model, onnx, onnx_width, card, report, overwrite] = options;
  archive_all(archive, model, onnx, onnx_width, card, report, overwrite);
}

template <typename Archive>
void serialize(Archive& archive, KeygenOptions& options, unsigned) {
  auto& [out, name, format] = options;
  archive_all(archive, out, name, format);
}

std::string archived_command(const Command& command) {
  return archived(command);
}

Command unarchived_command(const std::string& archive) {
  return unarchived<Command>(archive);
}

}  // namespace dpreduce
