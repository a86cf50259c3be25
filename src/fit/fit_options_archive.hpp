// How a fit's options are archived, to travel (common/ranks/rank_archive.hpp, common/silos/payload_archive.hpp) or to
// be compared.
#pragma once

#include "common/base/archive_all.hpp"
#include "methods/options/fit_options.hpp"

namespace dpreduce {

// Of each struct all members: a structured binding that misses one does not compile. (BudgetOptions has a base, which
// structured bindings do not take.)

template <typename Archive>
void serialize(Archive& archive, RowsOptions& options, unsigned) {
  auto& [x, y, bad_rows, person, class_names] = options;
  archive_all(archive, x, y, bad_rows, person, class_names);
}

template <typename Archive>
void serialize(Archive& archive, StatedBudget& options, unsigned) {
  auto& [epsilon, delta, rho, mu] = options;
  archive_all(archive, epsilon, delta, rho, mu);
}

template <typename Archive>
void serialize(Archive& archive, BudgetOptions& options, unsigned) {
  archive_all(archive, static_cast<StatedBudget&>(options), options.accountant, options.non_private);
}

template <typename Archive>
void serialize(Archive& archive, DataOptions& options, unsigned) {
  auto& [train, test, validation, public_x, imbalance_ratio, imbalance_seed, classes, classes_are_of_rows,
         rows_per_person, person_bound, max_labels] = options;
  archive_all(archive, train, test, validation, public_x, imbalance_ratio, imbalance_seed, classes, classes_are_of_rows,
              rows_per_person, person_bound, max_labels);
}

template <typename Archive>
void serialize(Archive& archive, RowOptions& options, unsigned) {
  auto& [normalize, clip_norm, pool, center, center_share, pca, pca_share, select, select_by, select_share] = options;
  archive_all(archive, normalize, clip_norm, pool, center, center_share, pca, pca_share, select, select_by,
              select_share);
}

template <typename Archive>
void serialize(Archive& archive, MethodOptions& options, unsigned) {
  auto& [name, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min, d_max, gram_share, shared_gram,
         alpha, lambda, rounds, local_steps, batch, loss, learning_rate, radius, iterate, warm_start, warm_start_share,
         choose, choose_share] = options;
  archive_all(archive, name, objective, metric, adaptive, expected_rows, smallest_share, top_k, d_min, d_max,
              gram_share, shared_gram, alpha, lambda, rounds, local_steps, batch, loss, learning_rate, radius, iterate,
              warm_start, warm_start_share, choose, choose_share);
}

template <typename Archive>
void serialize(Archive& archive, PrivacyOptions& options, unsigned) {
  auto& [budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume] = options;
  archive_all(archive, budget, adjacency, seed, ledger, limit_epsilon, limit_delta, resume);
}

template <typename Archive>
void serialize(Archive& archive, OutputOptions& options, unsigned) {
  auto& [out, report, html, metrics, timings, checkpoint, checkpoint_every, format, dry_run, overwrite, quiet] =
      options;
  archive_all(archive, out, report, html, metrics, timings, checkpoint, checkpoint_every, format, dry_run, overwrite,
              quiet);
}

template <typename Archive>
void serialize(Archive& archive, MachineOptions& options, unsigned) {
  auto& [threads, memory_mib] = options;
  archive_all(archive, threads, memory_mib);
}

template <typename Archive>
void serialize(Archive& archive, SiloOptions& options, unsigned) {
  auto& [secure_aggregation, threshold, colluding, noise, roster, identity, own_options, rows_are_own, ledger_is_own,
         log, agreed, timeout_seconds, fault, round_trip_ms, bandwidth_mbit, packet_loss_percent, silos_per_person,
         counted_persons, person_key, under_engine] = options;
  archive_all(archive, secure_aggregation, threshold, colluding, noise, roster, identity, own_options, rows_are_own,
              ledger_is_own, log, agreed, timeout_seconds, fault, round_trip_ms, bandwidth_mbit, packet_loss_percent,
              silos_per_person, counted_persons, person_key, under_engine);
}

template <typename Archive>
void serialize(Archive& archive, FitOptions& options, unsigned) {
  auto& [data, rows, method, privacy, output, machine, silos] = options;
  archive_all(archive, data, rows, method, privacy, output, machine, silos);
}

}  // namespace dpreduce
