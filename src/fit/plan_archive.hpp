// How a fit's plan is archived, to travel between ranks (common/ranks/rank_archive.hpp). Boost's headers are slow:
// include this in few files.
#pragma once

#include "common/base/archive_all.hpp"
#include "common/ranks/rank_archive.hpp"
#include "run/fit_plan.hpp"

namespace dpreduce {

// Of each struct all members: a structured binding that misses one does not compile.

template <typename Archive>
void serialize(Archive& archive, Preprocessing& preprocessing, unsigned) {
  auto& [input_dim, pool, normalize, clip_norm, center, intercept, projection, selected] = preprocessing;
  archive_all(archive, input_dim, pool, normalize, clip_norm, center, intercept, projection, selected);
}

template <typename Archive>
void serialize(Archive& archive, BlockRequest& request, unsigned) {
  auto& [name, elements, loss_weight, noise, triangles, fraction_bits] = request;
  archive_all(archive, name, elements, loss_weight, noise, triangles, fraction_bits);
}

template <typename Archive>
void serialize(Archive& archive, SensitivityProfile& profile, unsigned) {
  auto& [change, squared_l2] = profile;
  archive_all(archive, change, squared_l2);
}

template <typename Archive>
void serialize(Archive& archive, ReleaseRequest& request, unsigned) {
  auto& [name, share, rounds, blocks, profiles, in_parts, sampling_rate, rows_per_person, person_bound, dim] = request;
  archive_all(archive, name, share, rounds, blocks, profiles, in_parts, sampling_rate, rows_per_person, person_bound,
              dim);
}

template <typename Archive>
void serialize(Archive& archive, PlannedBlock& block, unsigned) {
  auto& [name, elements, squared_sensitivity, sensitivity, sigma, mu, noise, triangles, fraction_bits] = block;
  archive_all(archive, name, elements, squared_sensitivity, sensitivity, sigma, mu, noise, triangles, fraction_bits);
}

template <typename Archive>
void serialize(Archive& archive, PlannedRelease& release, unsigned) {
  auto& [name, rounds, blocks, profiles, mu, sampling_rate, rows_per_person] = release;
  archive_all(archive, name, rounds, blocks, profiles, mu, sampling_rate, rows_per_person);
}

template <typename Archive>
void serialize(Archive& archive, SelectionTerms& terms, unsigned) {
  auto& [mechanism, epsilon, sensitivity, candidates, groups, chosen] = terms;
  archive_all(archive, mechanism, epsilon, sensitivity, candidates, groups, chosen);
}

template <typename Archive>
void serialize(Archive& archive, PlannedSelection& selection, unsigned) {
  auto& [name, terms, fraction_bits] = selection;
  archive_all(archive, name, terms, fraction_bits);
}

template <typename Archive>
void serialize(Archive& archive, NoisePlan& plan, unsigned) {
  auto& [adjacency, budget_mu, mu, releases, selections] = plan;
  archive_all(archive, adjacency, budget_mu, mu, releases, selections);
}

template <typename Archive>
void serialize(Archive& archive, EpsilonAtDelta& bound, unsigned) {
  auto& [epsilon, delta] = bound;
  archive_all(archive, epsilon, delta);
}

template <typename Archive>
void serialize(Archive& archive, Guarantee& guarantee, unsigned) {
  auto& [epsilon, delta, mu, rho, bounded_range] = guarantee;
  archive_all(archive, epsilon, delta, mu, rho, bounded_range);
}

template <typename Archive>
void serialize(Archive& archive, DataSetBudget& budget, unsigned) {
  auto& [epsilon, delta] = budget;
  archive_all(archive, epsilon, delta);
}

template <typename Archive>
void serialize(Archive& archive, FitPlan& plan, unsigned) {
  auto& [preprocessing, dim, projection_elements, requests, loss, choice, public_selection, noise, guarantee,
         is_private, forfeits, limit, config, config_digest, memory_bytes] = plan;
  archive_all(archive, preprocessing, dim, projection_elements, requests, loss, choice, public_selection, noise,
              guarantee, is_private, forfeits, limit, config, config_digest, memory_bytes);
}

}  // namespace dpreduce
