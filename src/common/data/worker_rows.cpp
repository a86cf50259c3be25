#include "common/data/worker_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/paths.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

void require_one_label_a_row(const ShardedArray& features, const std::string& x, const ShardedArray& labels,
                             const std::string& y) {
  if (labels.rows() == features.rows()) return;
  // A table of names has one for each line: what pandas writes above them is one more.
  const bool has_headings = labels.rows() == features.rows() + labels.files() && y.ends_with(".csv");
  const char* const noun = labels.role() == ArrayRole::kTargets ? "target" : "label";
  throw BadInput("features ({}) have {} rows but {}s ({}) have {}; give one {} a row{}{}", x, features.rows(), noun, y,
                 labels.rows(), noun, has_headings ? ", and remove the heading of a file of class names" : "",
                 kForOwnerOnly);
}

// Throws BadInput where labels are a file of features, or a column of one by name. Values are not compared: whether two
// private columns are equal must not be told.
void require_other_columns(const ShardedArray& features, const ShardedArray& labels) {
  const char* const noun = labels.role() == ArrayRole::kTargets ? "targets" : "labels";
  for (std::size_t own = 0; own < labels.files(); ++own) {
    const std::vector<std::string>& names = labels.column_names_of(own);
    for (std::size_t other = 0; other < features.files(); ++other) {
      const std::vector<std::string>& columns = features.column_names_of(other);
      const auto shared = std::ranges::find_first_of(names, columns);
      const bool is_one = is_same_array(features.identity_of(other), labels.identity_of(own));
      if (shared != names.end()) {
        throw BadInput(
            "{}: column {} is also among the {} ({}): a model would be given what it is to predict; leave it out of "
            "the features, as in {}:-{}, or rename it if it is something else",
            features.path_of(other), in_quotes(*shared), noun, labels.path_of(own),
            split_array_path(features.path_of(other)).file, *shared);
      }
      if (!is_one || (!names.empty() && !columns.empty())) continue;
      throw BadInput(
          "{} and {} are one file, given as features and as {}: a model would be given what it is to "
          "predict; give each an array of its own, or of a .csv with names its columns, as in t.csv:label",
          features.path_of(other), labels.path_of(own), noun);
    }
  }
}

}  // namespace

RowRange even_share(std::uint64_t rows, std::size_t worker, std::size_t workers) {
  DPREDUCE_ASSERT(worker < workers && workers <= 0xffffffffu);
  // floor(n w / P) = floor(n / P) w + floor((n mod P) w / P)
  const std::uint64_t whole = rows / workers;
  const std::uint64_t rest = rows % workers;
  const auto begin = [&](std::uint64_t w) { return whole * w + rest * w / workers; };
  return {begin(worker), begin(worker + 1) - begin(worker)};
}

WorkerRows WorkerRows::open(const std::vector<std::string>& x_patterns, const std::vector<std::string>& y_patterns,
                            std::size_t worker, std::size_t workers, std::shared_ptr<const NamedClasses> names,
                            ArrayRole role_of_y) {
  DPREDUCE_ASSERT(!x_patterns.empty() && worker < workers);
  const bool per_worker = paths_are_per_worker(x_patterns);
  if (!y_patterns.empty()) require_same_workers(x_patterns, y_patterns, "labels");
  ShardedArray features(expand_paths(x_patterns, worker), ArrayRole::kFeatures);
  std::optional<ShardedArray> labels;
  if (!y_patterns.empty()) {
    labels.emplace(expand_paths(y_patterns, worker), role_of_y, std::move(names));
    require_other_columns(features, *labels);
    require_one_label_a_row(features, x_patterns.front(), *labels, y_patterns.front());
  }
  if (!per_worker && features.rows() == 0) {
    throw BadInput("{}: no rows; give files that hold some", x_patterns.front());
  }
  if (!per_worker && features.rows() < workers) {
    throw BadInput("{} rows ({}) for {} workers; start at most as many workers as there are rows{}", features.rows(),
                   x_patterns.front(), workers, kForOwnerOnly);
  }
  const RowRange range = per_worker ? RowRange{0, features.rows()} : even_share(features.rows(), worker, workers);
  return WorkerRows(std::move(features), std::move(labels), range);
}

WorkerRows WorkerRows::in_memory(const ArrayView& features, const std::optional<ArrayView>& labels,
                                 const std::string& features_name, const std::string& labels_name,
                                 ArrayRole role_of_y) {
  ShardedArray x(std::make_unique<MemoryArray>(features, features_name), ArrayRole::kFeatures);
  std::optional<ShardedArray> y;
  if (labels) {
    y.emplace(std::make_unique<MemoryArray>(*labels, labels_name), role_of_y);
    require_one_label_a_row(x, features_name, *y, labels_name);
  }
  const RowRange all{0, x.rows()};
  return WorkerRows(std::move(x), std::move(y), all);
}

WorkerRows WorkerRows::none(std::size_t dim, std::size_t targets) {
  ShardedArray y =
      targets > 0 ? ShardedArray::none(targets, ArrayRole::kTargets) : ShardedArray::none(1, ArrayRole::kLabels);
  return WorkerRows(ShardedArray::none(dim, ArrayRole::kFeatures), std::move(y), {0, 0});
}

WorkerRows::WorkerRows(ShardedArray features, std::optional<ShardedArray> labels, RowRange range)
    : features_(std::move(features)), labels_(std::move(labels)), all_(range), range_(range) {}

void WorkerRows::keep(std::vector<std::uint64_t> places) {
  DPREDUCE_ASSERT(places.empty() || (places.front() >= range_.first && places.back() < range_.end()));
  const auto kept = [&](auto value_of) {
    std::vector<decltype(value_of(0))> values;
    values.reserve(places.size());
    for (const std::uint64_t place : places) values.push_back(value_of(place));
    return values;
  };
  if (weights_) weights_ = kept([&](std::uint64_t place) { return weight(place); });
  if (groups_) groups_ = kept([&](std::uint64_t place) { return group(place); });
  if (units_) units_->of_rows = kept([&](std::uint64_t place) { return unit(place); });
  range_ = {0, places.size()};
  if (labels_) labels_->keep(places);
  features_.keep(std::move(places));
  order_by_unit();
}

void WorkerRows::keep_share(std::size_t worker, std::size_t workers) {
  DPREDUCE_ASSERT(!weights_ && !groups_);
  const RowRange share = even_share(all_.count, worker, workers);
  range_ = {all_.first + share.first, share.count};
}

void WorkerRows::keep_all() {
  DPREDUCE_ASSERT(!weights_ && !groups_);
  range_ = all_;
  if (labels_) labels_->keep_all();
  features_.keep_all();
}

void WorkerRows::set_weights(std::vector<RowWeight> weights) {
  DPREDUCE_ASSERT(weights.size() == range_.count);
  weights_ = std::move(weights);
}

std::uint64_t WorkerRows::place_of(std::uint64_t row) const {
  DPREDUCE_ASSERT(row >= range_.first && row < range_.end());
  return row - range_.first;
}

void WorkerRows::set_groups(std::vector<std::int32_t> groups) {
  DPREDUCE_ASSERT(groups.size() == range_.count);
  groups_ = std::move(groups);
}

void WorkerRows::set_units(RowUnits units) {
  DPREDUCE_ASSERT(units.of_rows.size() == range_.count);
  for (const std::uint32_t unit : units.of_rows) DPREDUCE_ASSERT(unit < units.first_rows.size());
  units_ = std::move(units);
  order_by_unit();
}

const RowsByUnit& WorkerRows::by_unit() const {
  DPREDUCE_ASSERT(goes_by_unit());
  return by_unit_;
}

// A counting sort: rows of a unit stay in their order.
void WorkerRows::order_by_unit() {
  if (!goes_by_unit()) return;
  std::vector<std::uint64_t> next(units_->first_rows.size() + 1, 0);
  for (const std::uint32_t unit : units_->of_rows) ++next[unit + 1];
  by_unit_.largest = *std::max_element(next.begin(), next.end());
  std::partial_sum(next.begin(), next.end(), next.begin());
  by_unit_.places.resize(range_.count);
  for (std::uint64_t row = 0; row < range_.count; ++row) {
    by_unit_.places[next[units_->of_rows[row]]++] = range_.first + row;
  }
  next.pop_back();
  by_unit_.ends = std::move(next);
}

void WorkerRows::exchange(std::vector<std::uint64_t> own, OtherRows others) {
  DPREDUCE_ASSERT(labels_ && !groups_ && others_.features.empty() && range_.count == all_.count);
  DPREDUCE_ASSERT(own.empty() || (own.front() >= range_.first && own.back() < range_.end()));
  const std::uint64_t first = features_.rows();
  const std::uint64_t end = first + others.features.size() / dim();
  if (end > first) {  // an array without rows has no place
    const std::string name = "rows of persons that another rank had rows of";
    others_ = std::move(others);
    const ArrayView labels = targets() > 0      ? array_view(std::span(others_.targets), targets())
                             : has_label_sets() ? array_view(std::span(others_.label_sets), labels_->columns())
                                                : array_view(std::span(others_.labels));
    DPREDUCE_ASSERT(labels.rows == end - first);
    features_.append(std::make_unique<MemoryArray>(array_view(std::span(others_.features), dim()), name));
    labels_->append(std::make_unique<MemoryArray>(labels, name));
  }
  weights_.reset();
  units_.reset();
  for (std::uint64_t place = first; place < end; ++place) own.push_back(place);
  range_ = {0, own.size()};
  labels_->keep(own);
  features_.keep(std::move(own));
}

std::uint64_t WorkerRows::bytes_of_others() const {
  return others_.features.size() * sizeof(float) + others_.labels.size() * sizeof(std::int32_t) +
         others_.label_sets.size() + others_.targets.size() * sizeof(double);
}

void require_not_read(std::span<const NamedPath> outputs, const std::string& input) {
  for (const NamedPath& output : outputs) {
    std::error_code error;  // set where one of the two is no file: then they are not the same
    if (output.path.empty() || std::filesystem::is_character_file(output.path, error)) continue;
    if (!std::filesystem::equivalent(output.path, input, error)) continue;
    throw UsageError("{} {}: is the input {}; name another file for the output", output.option, output.path, input);
  }
}

void require_not_read(std::span<const NamedPath> outputs, const WorkerRows& rows) {
  const auto require_array = [&](const ShardedArray& array) {
    for (std::size_t file = 0; file < array.files(); ++file) {
      require_not_read(outputs, split_array_path(array.path_of(file)).file);
    }
  };
  require_array(rows.features());
  if (rows.has_labels()) require_array(rows.labels());
}

std::size_t rows_per_chunk(std::size_t budget_bytes, std::size_t dim, std::size_t labels_per_row) {
  DPREDUCE_ASSERT(dim >= 1 && dim < std::numeric_limits<std::size_t>::max() / 8);
  const std::size_t row_bytes = dim * sizeof(float) + labels_per_row * sizeof(std::int32_t);
  if (budget_bytes < row_bytes) {
    throw UsageError("a memory budget of {} bytes holds no row of {} features; give at least {} bytes", budget_bytes,
                     dim, row_bytes);
  }
  return budget_bytes / row_bytes;
}

RowStream::RowStream(WorkerRows& data, std::uint64_t classes, std::size_t rows_per_chunk, std::size_t labels_per_row)
    : data_(data),
      classes_(classes),
      rows_per_chunk_(rows_per_chunk),
      labels_per_row_(labels_per_row),
      next_row_(data.range().first) {
  DPREDUCE_ASSERT(rows_per_chunk >= 1 && labels_per_row >= 1);
}

// A chunk ends with its file where it has a share of a whole one: its rows then stay where they lie.
RowRange RowStream::chunk_from(std::uint64_t row) const {
  constexpr std::uint64_t kLeastShare = 4;
  const std::uint64_t most = std::min<std::uint64_t>(rows_per_chunk_, data_.range().end() - row);
  if (most == 0) return {row, 0};
  const std::uint64_t together = data_.features().rows_together(row, most);
  return {row, together < rows_per_chunk_ / kLeastShare ? most : together};
}

std::optional<RowChunk> RowStream::next() {
  data_.features().release_rows(given_.first, given_.count);
  given_ = {next_row_, 0};
  const RowRange rows = chunk_from(next_row_);
  if (rows.count == 0) return std::nullopt;

  RowChunk chunk{
      rows.first, data_.features().features_in_place(rows.first, rows.count), {}, rows.count, labels_per_row_};
  if (chunk.features.empty()) {
    features_.resize(rows.count * data_.dim());
    data_.features().read_features(rows.first, rows.count, features_);
    chunk.features = features_;
  }
  if (data_.has_labels()) {
    labels_.resize(rows.count * labels_per_row_);
    data_.labels().read_labels(rows.first, rows.count, classes_, labels_);
    chunk.labels = labels_;
  }
  const RowRange ahead = chunk_from(rows.end());
  data_.features().expect_rows(ahead.first, ahead.count);
  given_ = rows;
  next_row_ = rows.end();
  return chunk;
}

void RowStream::rewind() {
  next_row_ = data_.range().first;
}

}  // namespace dpreduce
