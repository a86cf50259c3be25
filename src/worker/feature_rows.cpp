#include "worker/feature_rows.hpp"

#include <algorithm>
#include <vector>

namespace dpreduce {

std::size_t bytes_of_predicted_row(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row) {
  return 3 * sizeof(float) * input_dim + sizeof(double) * classes + sizeof(std::int32_t) * labels_per_row;
}

std::size_t rows_predicted_at_once(std::size_t input_dim, std::size_t classes, std::size_t labels_per_row) {
  constexpr std::size_t kMostRows = 4096;
  return std::clamp<std::size_t>(kPredictionMemory / bytes_of_predicted_row(input_dim, classes, labels_per_row), 1,
                                 kMostRows);
}

void for_each_feature_chunk(WorkerRows& rows, std::size_t classes, BadRows bad_rows, const OnFeatureChunk& visit,
                            const OnChunk& on_chunk) {
  const std::size_t slots = rows.label_slots(classes);
  const auto count = static_cast<double>(rows.range().count);
  RowStream stream(rows, classes, rows_predicted_at_once(rows.dim(), classes, slots), slots);
  std::vector<float> decoded;
  std::vector<float> features;
  while (const auto chunk = stream.next()) {
    on_chunk(static_cast<double>(chunk->first_row - rows.range().first) / count);
    const auto read = chunk->features.decoded(0, chunk->features.size(), decoded);
    features.assign(read.begin(), read.end());
    for (std::size_t row = 0; row < chunk->rows; ++row) {
      const std::span<float> entries = std::span(features).subspan(row * rows.dim(), rows.dim());
      if (are_finite(entries)) continue;
      if (bad_rows == BadRows::kFail) refuse_not_finite(rows.where(chunk->first_row + row));
      std::ranges::fill(entries, 0.0F);
    }
    visit(*chunk, features);
  }
}

bool has_few_classes(const RowChunk& chunk, std::size_t row, std::size_t most, BadRows bad_rows,
                     const WorkerRows& rows) {
  const std::size_t classes = chunk.classes_of(row).size();
  if (classes > most && bad_rows == BadRows::kFail && !rows.takes_any_number_of_labels()) {
    refuse_surplus_labels(rows.where_labels(chunk.first_row + row), classes, most);
  }
  return classes <= most;
}

}  // namespace dpreduce
