// How a statistic's task is archived, to travel to workers and silos (common/silos/payload_archive.hpp).
#pragma once

#include "fit/preprocessing_archive.hpp"
#include "run/statistic_task.hpp"

namespace dpreduce {

// Of each struct all members: a structured binding that misses one does not compile.

template <typename Archive>
void serialize(Archive& archive, StatedWeights& weights, unsigned) {
  auto& [values, largest] = weights;
  archive_all(archive, values, largest);
}

template <typename Archive>
void serialize(Archive& archive, StatedGradientPoint& point, unsigned) {
  auto& [weights, loss, directions, features, residual_norm] = point;
  archive_all(archive, weights, loss, directions, features, residual_norm);
}

template <typename Archive>
void serialize(Archive& archive, ClassBalls& balls, unsigned) {
  auto& [centers, radii] = balls;
  archive_all(archive, centers, radii);
}

template <typename Archive>
void serialize(Archive& archive, StatisticTask& task, unsigned) {
  auto& [release, preprocessing, point, part, secret, label] = task;
  archive_all(archive, release, preprocessing, point, part, secret, label);
}

}  // namespace dpreduce
