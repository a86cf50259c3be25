#include "common/simulation/synthetic_files.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/made_files.hpp"
#include "common/data/npy_writer.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kWrittenAtOnce = std::size_t{8} << 20;

void write_pair(const SyntheticRows& rows, SyntheticPart part, RowRange range, const std::string& x_path,
                const std::string& y_path, Existing existing, MadeFiles& made) {
  const std::size_t dim = rows.spec().dim;
  NpyWriter x(x_path, DType::kFloat32, {range.count, dim}, existing);
  const std::size_t slots = rows.labels_per_row();
  const std::size_t classes = rows.spec().classes;
  const bool has_sets = rows.spec().max_labels.has_value();
  NpyWriter y = has_sets ? NpyWriter(y_path, DType::kUint8, {range.count, classes}, existing)
                         : NpyWriter(y_path, DType::kInt64, {range.count}, existing);
  const std::uint64_t chunk =
      std::min<std::uint64_t>(range.count, std::max<std::size_t>(1, kWrittenAtOnce / (4 * dim)));
  std::vector<float> features(chunk * dim);
  std::vector<std::int32_t> labels(chunk * slots);
  std::vector<std::byte> zeros_and_ones(has_sets ? classes : 0);
  for (std::uint64_t done = 0; done < range.count;) {
    const std::uint64_t count = std::min(chunk, range.count - done);
    const std::span<float> some_features = std::span(features).first(count * dim);
    const std::span<std::int32_t> some_labels = std::span(labels).first(count * slots);
    rows.fill(part, range.first + done, count, some_features, some_labels);
    x.append(std::span<const float>(some_features));
    if (!has_sets) y.append(std::span<const std::int32_t>(some_labels));
    for (std::uint64_t row = 0; has_sets && row < count; ++row) {
      std::fill(zeros_and_ones.begin(), zeros_and_ones.end(), std::byte{0});
      for (const std::int32_t c : classes_in(slots_of(some_labels, slots, row))) {
        zeros_and_ones[static_cast<std::size_t>(c)] = std::byte{1};
      }
      y.append_stored(zeros_and_ones);
    }
    done += count;
  }
  x.commit();
  made.add(x_path);
  y.commit();
  made.add(y_path);
}

void write_persons(const SyntheticRows& rows, RowRange range, const std::string& path, Existing existing,
                   MadeFiles& made) {
  NpyWriter persons(path, DType::kInt64, {range.count}, existing);
  std::vector<std::int32_t> piece;
  for (std::uint64_t row = range.first; row < range.end(); ++row) {
    piece.push_back(static_cast<std::int32_t>(rows.person(row)));
    if (piece.size() < kWrittenAtOnce / sizeof(std::int64_t) && row + 1 < range.end()) continue;
    persons.append(std::span<const std::int32_t>(piece));
    piece.clear();
  }
  persons.commit();
  made.add(path);
}

}  // namespace

SyntheticFiles write_synthetic(const SyntheticRows& rows, const std::string& directory, std::size_t shards,
                               Existing existing) {
  const std::uint64_t train_rows = rows.rows(SyntheticPart::kTrain);
  if (shards < 1 || shards > train_rows) {
    throw UsageError(
        fmt::format("shards = {}: must be at least 1 and at most the {} training rows", shards, train_rows));
  }
  MadeFiles made;
  made.make_folder(directory);
  const auto path = [&](const std::string& name) { return (std::filesystem::path(directory) / name).string(); };

  SyntheticFiles files;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::string suffix = shards == 1 ? ".npy" : fmt::format("_{}.npy", shard);
    files.train_x.push_back(path("train_x" + suffix));
    files.train_y.push_back(path("train_y" + suffix));
    write_pair(rows, SyntheticPart::kTrain, even_share(train_rows, shard, shards), files.train_x.back(),
               files.train_y.back(), existing, made);
    if (!rows.spec().rows_per_person) continue;
    files.train_person.push_back(path("train_person" + suffix));
    write_persons(rows, even_share(train_rows, shard, shards), files.train_person.back(), existing, made);
  }
  if (rows.rows(SyntheticPart::kTest) > 0) {
    files.test_x.push_back(path("test_x.npy"));
    files.test_y.push_back(path("test_y.npy"));
    write_pair(rows, SyntheticPart::kTest, {0, rows.rows(SyntheticPart::kTest)}, files.test_x.back(),
               files.test_y.back(), existing, made);
  }
  made.keep();
  return files;
}

}  // namespace dpreduce
