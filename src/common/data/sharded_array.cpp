#include "common/data/sharded_array.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/paths.hpp"
#include "common/base/public_names.hpp"
#include "common/data/label_slots.hpp"

namespace dpreduce {

ShardedArray::ShardedArray(const std::vector<std::string>& paths, ArrayRole role,
                           std::shared_ptr<const NamedClasses> names)
    : role_(role), names_(std::move(names)) {
  DPREDUCE_ASSERT(!paths.empty());
  for (const std::string& path : paths) {
    const std::unique_ptr<ArrayFile> file = open_array(path, role);
    require_role(*file);
    if (shards_.empty()) columns_ = file->columns();
    if (file->columns() != columns_) {
      const bool is_features = role == ArrayRole::kFeatures;
      const bool is_targets = role == ArrayRole::kTargets;
      throw BadInput("{} has {} {} a row but {} has {}; give files of one {}", shards_.front().path, columns_,
                     is_features  ? "features"
                     : is_targets ? "targets"
                                  : "labels or columns of labels",
                     path, file->columns(), is_features ? "encoder" : "form");
    }
    take_column_names(file->column_names(), path);
    add(*file, path);
  }
  refuse_doubles();
}

void ShardedArray::add(const ArrayFile& file, const std::string& path) {
  const std::uint64_t first = rows();
  DPREDUCE_ASSERT(file.rows() <= std::numeric_limits<std::uint64_t>::max() - first);
  shards_.push_back({.path = path,
                     .first = first,
                     .end = first + file.rows(),
                     .dtype = file.dtype(),
                     .identity = file.identity(),
                     .held_bytes = file.held_bytes(),
                     .lies_in_other_files = file.lies_in_other_files(),
                     .column_names = file.column_names()});
}

void ShardedArray::take_column_names(const std::vector<std::string>& names, const std::string& path) {
  const bool is_compared =
      role_ == ArrayRole::kFeatures || role_ == ArrayRole::kTargets || (role_ == ArrayRole::kLabels && columns_ > 1);
  if (!is_compared || names.empty()) return;
  if (!column_names_.empty()) return require_same_features(names, column_names_, path, "in " + named_path_);
  column_names_ = names;
  named_path_ = path;
}

void ShardedArray::require_columns(std::span<const std::string> expected, const std::string& where) const {
  if (named_path_.empty() || expected.empty()) return;
  require_same_features(column_names_, expected, named_path_, where);
}

ShardedArray::ShardedArray(std::unique_ptr<ArrayFile> array, ArrayRole role) : role_(role), columns_(array->columns()) {
  add_open(std::move(array));
}

void ShardedArray::append(std::unique_ptr<ArrayFile> array) {
  DPREDUCE_ASSERT(!kept_ && array->columns() == columns_);
  add_open(std::move(array));
}

void ShardedArray::add_open(std::unique_ptr<ArrayFile> array) {
  DPREDUCE_ASSERT(array->is_cheap_to_keep_open());
  require_role(*array);
  add(*array, array->name());
  shards_.back().file = std::move(array);
}

void ShardedArray::require_role(ArrayFile& file) const {
  if (role_ == ArrayRole::kFeatures) return file.require_holds_features();
  if (role_ == ArrayRole::kWeights) return file.require_holds_weights();
  if (role_ == ArrayRole::kTargets) return file.require_holds_targets();
  role_ == ArrayRole::kPersons ? file.require_holds_persons() : file.require_holds_labels(names_.get());
}

// Names that differ may lead to one array: links in an HDF5 file, or two mounts.
void ShardedArray::refuse_doubles() const {
  // Files that are the same array have one inode and one place (is_same_array). Of several, the earliest comes first.
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, const Shard*> by_place;
  for (const Shard& shard : shards_) {
    const std::pair place(shard.identity.inode, shard.identity.place);
    const auto [first, last] = by_place.equal_range(place);
    const auto other = std::find_if(
        first, last, [&](const auto& earlier) { return is_same_array(earlier.second->identity, shard.identity); });
    if (other != last) {
      throw BadInput("{} and {} are the same file, and its records would count twice; give each file once",
                     other->second->path, shard.path);
    }
    by_place.emplace(place, &shard);
  }
}

std::size_t ShardedArray::hash_of_ends(std::size_t shard) {
  constexpr std::uint64_t kRowsAtEachEnd = 16;
  const std::uint64_t rows = rows_in_file(shard);
  const std::uint64_t count = std::min(rows, kRowsAtEachEnd);
  std::vector<float> values(2 * count * columns_);
  const std::span<float> both(values);
  opened(shard).read_features(0, count, both.first(values.size() / 2));
  opened(shard).read_features(rows - count, count, both.last(values.size() / 2));
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::optional<std::pair<std::size_t, std::size_t>> ShardedArray::files_alike(ShardedArray& other) {
  DPREDUCE_ASSERT(role_ == ArrayRole::kFeatures && other.role_ == ArrayRole::kFeatures);
  if (columns_ != other.columns_) return std::nullopt;
  std::set<std::uint64_t> sizes_of_other;
  for (std::size_t shard = 0; shard < other.files(); ++shard) sizes_of_other.insert(other.rows_in_file(shard));
  std::map<std::uint64_t, std::map<std::size_t, std::size_t>> own;  // by the number of rows, and their ends
  for (std::size_t shard = 0; shard < files(); ++shard) {
    const std::uint64_t rows = rows_in_file(shard);
    if (rows > 0 && sizes_of_other.contains(rows)) own[rows].emplace(hash_of_ends(shard), shard);
  }
  for (std::size_t shard = 0; shard < other.files(); ++shard) {
    const auto as_many = own.find(other.rows_in_file(shard));
    if (as_many == own.end()) continue;
    const auto same = as_many->second.find(other.hash_of_ends(shard));
    if (same != as_many->second.end()) return std::pair(same->second, shard);
  }
  return std::nullopt;
}

std::uint64_t ShardedArray::mapped_bytes() const {
  std::uint64_t bytes = 0;
  for (const Shard& shard : shards_) {
    const bool is_mapped = !shard.identity.is_memory && !split_array_path(shard.path).dataset.starts_with('/');
    if (is_mapped) bytes += shard.identity.bytes;
  }
  return bytes;
}

std::uint64_t ShardedArray::held_bytes() const {
  std::uint64_t most = 0;
  for (const Shard& shard : shards_) most = std::max(most, shard.held_bytes);
  return most;
}

DType ShardedArray::dtype() const {
  const Shard& first = shards_.front();
  for (const Shard& shard : shards_) {
    if (shard.dtype == first.dtype) continue;
    throw BadInput("{} holds {} but {} holds {}; give files of one type", first.path, to_string(first.dtype),
                   shard.path, to_string(shard.dtype));
  }
  return first.dtype;
}

void ShardedArray::keep(std::vector<std::uint64_t> places) {
  DPREDUCE_ASSERT(std::is_sorted(places.begin(), places.end(), std::less_equal<>()));
  DPREDUCE_ASSERT(places.empty() || places.back() < rows());
  if (kept_) {
    for (std::uint64_t& place : places) place = (*kept_)[place];
  }
  kept_ = std::move(places);
}

// The rows of the files that row `row` and those after it are, up to a gap, and at most `most`.
ShardedArray::Run ShardedArray::run_from(std::uint64_t row, std::uint64_t most) const {
  if (!kept_) return {row, most};
  const std::uint64_t first = (*kept_)[row];
  std::uint64_t count = 1;
  while (count < most && (*kept_)[row + count] == first + count) ++count;
  return {first, count};
}

// All rows of the files from the first to the last of these; count >= 1.
ShardedArray::Run ShardedArray::hull_of(std::uint64_t first_row, std::uint64_t count) const {
  if (!kept_) return {first_row, count};
  const std::uint64_t first = (*kept_)[first_row];
  return {first, (*kept_)[first_row + count - 1] - first + 1};
}

std::size_t ShardedArray::shard_of(std::uint64_t place) const {
  DPREDUCE_ASSERT(place < shards_.back().end);
  const auto shard = std::upper_bound(shards_.begin(), shards_.end(), place,
                                      [](std::uint64_t wanted, const Shard& one) { return wanted < one.end; });
  return static_cast<std::size_t>(shard - shards_.begin());
}

ArrayFile& ShardedArray::opened(std::size_t shard) {
  Shard& wanted = shards_[shard];
  if (wanted.file == nullptr) {
    Shard& last = shards_[last_opened_];
    if (last.file != nullptr && !last.file->is_cheap_to_keep_open()) last.file.reset();
    wanted.file = open_array(wanted.path, role_);
    require_role(*wanted.file);
    if (wanted.file->columns() != columns_ || wanted.file->dtype() != wanted.dtype ||
        wanted.file->rows() != wanted.end - wanted.first) {
      throw BadInput("{}: changed its shape or type during the run; do not modify data sets until it ends",
                     wanted.path);
    }
  }
  last_opened_ = shard;
  return *wanted.file;
}

// visit(file, first row in the file, rows, rows of the range before these) for each file that holds a part.
template <typename Visit>
void ShardedArray::for_each_part(std::uint64_t first_row, std::uint64_t count, Visit visit) {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  for (std::uint64_t done = 0; done < count;) {
    const Run run = run_from(first_row + done, count - done);
    const std::size_t shard = shard_of(run.first);
    const std::uint64_t in_file = run.first - shards_[shard].first;
    const std::uint64_t part = std::min(run.count, shards_[shard].end - run.first);
    visit(opened(shard), in_file, part, done);
    done += part;
  }
}

void ShardedArray::read_features(std::uint64_t first_row, std::uint64_t count, std::span<float> out) {
  DPREDUCE_ASSERT((role_ == ArrayRole::kFeatures || role_ == ArrayRole::kWeights) && out.size() == count * columns_);
  for_each_part(first_row, count, [&](ArrayFile& file, auto in_file, auto part, auto before) {
    file.read_features(in_file, part, out.subspan(before * columns_, part * columns_));
  });
}

void ShardedArray::read_labels(std::uint64_t first_row, std::uint64_t count, std::uint64_t classes,
                               std::span<std::int32_t> out) {
  if (role_ == ArrayRole::kTargets) {
    DPREDUCE_ASSERT(out.size() == count * columns_ * kSlotsPerTarget);
    std::vector<double> targets(count * columns_);
    for_each_part(first_row, count, [&](ArrayFile& file, auto in_file, auto part, auto before) {
      file.read_targets(in_file, part, std::span(targets).subspan(before * columns_, part * columns_),
                        takes_bad_targets_);
    });
    if (!targets.empty()) std::memcpy(out.data(), targets.data(), out.size_bytes());
    return;
  }
  DPREDUCE_ASSERT(role_ == ArrayRole::kLabels);
  const std::uint64_t per_row = count == 0 ? 0 : out.size() / count;
  DPREDUCE_ASSERT(out.size() == count * per_row);
  for_each_part(first_row, count, [&](ArrayFile& file, auto in_file, auto part, auto before) {
    file.read_labels(in_file, part, classes, out.subspan(before * per_row, part * per_row), names_.get(), unlisted_);
  });
}

void ShardedArray::read_stored(std::uint64_t first_row, std::uint64_t count, std::span<std::byte> out) {
  const std::uint64_t bytes = row_bytes();
  DPREDUCE_ASSERT(out.size() == count * bytes);
  for_each_part(first_row, count, [&](ArrayFile& file, auto in_file, auto part, auto before) {
    file.read_stored(in_file, part, out.subspan(before * bytes, part * bytes));
  });
}

void ShardedArray::visit_persons(std::uint64_t first_row, std::uint64_t count, const VisitPersons& visit) {
  DPREDUCE_ASSERT(role_ == ArrayRole::kPersons);
  for_each_part(first_row, count,
                [&](ArrayFile& file, auto in_file, auto part, auto) { file.visit_persons(in_file, part, visit); });
}

StoredFloats ShardedArray::features_in_place(std::uint64_t first_row, std::uint64_t count) {
  DPREDUCE_ASSERT(role_ == ArrayRole::kFeatures);
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (count == 0) return {};
  const Run run = hull_of(first_row, count);
  if (run.count != count) return {};
  const std::size_t shard = shard_of(run.first);
  if (run.first + count > shards_[shard].end) return {};
  return opened(shard).features_in_place(run.first - shards_[shard].first, count);
}

std::uint64_t ShardedArray::rows_together(std::uint64_t row, std::uint64_t most) const {
  DPREDUCE_ASSERT(row < rows());
  const Run run = run_from(row, most);
  return std::min(run.count, shards_[shard_of(run.first)].end - run.first);
}

// Gives the files that are open their part of an advice about those rows.
void ShardedArray::advise(std::uint64_t first_row, std::uint64_t count,
                          void (ArrayFile::*advice)(std::uint64_t, std::uint64_t) const) const {
  DPREDUCE_ASSERT(first_row <= rows() && count <= rows() - first_row);
  if (count == 0) return;
  const Run run = hull_of(first_row, count);
  for (std::uint64_t done = 0; done < run.count;) {
    const Shard& shard = shards_[shard_of(run.first + done)];
    const std::uint64_t part = std::min(run.count - done, shard.end - run.first - done);
    if (shard.file != nullptr) (shard.file.get()->*advice)(run.first + done - shard.first, part);
    done += part;
  }
}

std::string ShardedArray::where(std::uint64_t row) const {
  const std::uint64_t place = run_from(row, 1).first;
  const Shard& shard = shards_[shard_of(place)];
  return fmt::format("{}: row {}", shard.path, place - shard.first);
}

}  // namespace dpreduce
