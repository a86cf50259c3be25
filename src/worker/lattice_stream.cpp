#include "worker/lattice_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"
#include "common/data/worker_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// `slots` are the chunk's as they were read; `place_of` returns the place of its row among all rows, and `features_of`
// what it has. Rows that are not finite are refused whatever their labels: else a list of classes decides whether such
// a row ends the run, and who brings the list learns its label.
template <typename PlaceOf, typename FeaturesOf>
void check_rows(const LatticeRows& chunk, std::span<const std::int32_t> slots, const RowPass& pass,
                const PlaceOf& place_of, const FeaturesOf& features_of) {
  if (pass.plan.bad_rows != BadRows::kFail) return;
  const WorkerRows& rows = pass.rows;
  std::vector<float> scratch;
  for (std::size_t bad = chunk.first_bad_row(); bad < chunk.rows(); ++bad) {
    if (chunk.counts(bad)) continue;
    const std::uint64_t place = place_of(bad);
    const std::span<const std::int32_t> own = slots_of(slots, chunk.labels_per_row(), bad);
    const std::size_t surplus = rows.targets() > 0 ? 0 : surplus_classes(own);
    if (surplus == 0 || !are_finite(features_of(bad, scratch))) refuse_not_finite(rows.where(place));
    if (own.front() == kUnlistedLabel || rows.takes_any_number_of_labels()) continue;
    refuse_surplus_labels(rows.where_labels(place), surplus, chunk.labels_per_row());
  }
}

// `place_of` returns the place of a row of the chunk among all rows.
template <typename PlaceOf>
void take_units(LatticeRows& chunk, const WorkerRows& rows, const PlaceOf& place_of) {
  if (rows.has_weights()) {
    std::vector<RowWeight> weights(chunk.rows());
    for (std::size_t row = 0; row < weights.size(); ++row) weights[row] = rows.weight(place_of(row));
    chunk.set_weights(std::move(weights));
  }
  if (rows.has_units()) {
    std::vector<std::uint32_t> units(chunk.rows());
    for (std::size_t row = 0; row < units.size(); ++row) units[row] = rows.unit(place_of(row));
    chunk.set_units(std::move(units), rows.units().parts);
  }
}

// Rows from anywhere: features where they lie, or else read. All labels are read once: 4 bytes a slot.
class GatheredRows {
 public:
  // `slots` label slots a row. `rows` outlives the object.
  GatheredRows(WorkerRows& rows, std::size_t classes, std::size_t slots)
      : rows_(rows), dim_(rows.dim()), slots_(slots) {
    if (!rows.has_labels()) return;
    all_labels_.resize(rows.range().count * slots);
    rows.labels().read_labels(rows.range().first, rows.range().count, classes, all_labels_);
  }

  void assign(std::span<const std::uint64_t> places) {
    places_ = places;
    labels_.assign(places.size() * slots_, 0);
    features_.clear();
    for (std::size_t row = 0; row < places.size(); ++row) {
      if (rows_.has_labels()) {
        if (row + kAhead < places.size()) __builtin_prefetch(&all_labels_[slot_of(places[row + kAhead])]);
        for (std::size_t slot = 0; slot < slots_; ++slot) {
          labels_[row * slots_ + slot] = all_labels_[slot_of(places[row]) + slot];
        }
      }
      features_.push_back(rows_.features().features_in_place(places[row], 1));
    }
    if (std::ranges::any_of(features_, &StoredFloats::empty)) read_features();
  }

  std::span<const StoredFloats> features() const { return features_; }
  std::span<const std::int32_t> labels() const { return labels_; }

  // These rows are done with. Pages of rows that lie apart hold others' rows as well.
  void release() {
    const std::size_t count = places_.size();
    if (places_.back() - places_.front() == count - 1 && std::is_sorted(places_.begin(), places_.end())) {
      rows_.features().release_rows(places_.front(), count);
    }
  }

 private:
  static constexpr std::size_t kAhead = 16;

  std::size_t slot_of(std::uint64_t place) const { return (place - rows_.range().first) * slots_; }

  // Reads consecutive rows together, as many at once as follow one another.
  void read_features() {
    read_.resize(places_.size() * dim_);
    for (std::size_t first = 0, end = 1; first < places_.size(); first = end, ++end) {
      while (end < places_.size() && places_[end] == places_[end - 1] + 1) ++end;
      const std::span<float> read = std::span(read_).subspan(first * dim_, (end - first) * dim_);
      rows_.features().read_features(places_[first], end - first, read);
    }
    for (std::size_t row = 0; row < places_.size(); ++row) {
      features_[row] = std::span<const float>(read_).subspan(row * dim_, dim_);
    }
  }

  WorkerRows& rows_;
  std::size_t dim_;
  std::size_t slots_;
  LargeVector<std::int32_t> all_labels_;
  std::span<const std::uint64_t> places_;
  std::vector<StoredFloats> features_;  // one a row
  std::vector<float> read_;             // where they do not lie in memory
  std::vector<std::int32_t> labels_;
};

// Chunks of whole units, one unit after the other.
void for_each_chunk_of_units(const RowPass& pass, std::size_t chunk_rows,
                             const std::function<void(const LatticeRows&)>& visit) {
  WorkerRows& rows = pass.rows;
  const std::vector<std::uint64_t>& places = rows.by_unit().places;
  const std::vector<std::uint64_t>& ends = rows.by_unit().ends;
  const std::size_t capacity = std::max(std::min(chunk_rows, places.size()), rows.by_unit().largest);
  LatticeRows chunk(pass.lattice(), capacity, pass.slots_per_row());
  GatheredRows gathered(rows, pass.plan.classes, pass.slots_per_row());
  std::size_t unit = 0;
  for (std::size_t first = 0; first < places.size();) {
    std::vector<std::uint32_t> units;
    std::vector<RowWeight> weights;
    for (; unit < ends.size() && ends[unit] - first <= capacity; ++unit) {
      if (ends[unit] == first + units.size()) continue;
      if (rows.has_weights()) weights.resize(ends[unit] - first, rows.weight(places[first + units.size()]));
      units.resize(ends[unit] - first, static_cast<std::uint32_t>(unit));
    }
    const std::size_t end = first + units.size();
    gathered.assign(std::span(places).subspan(first, end - first));
    chunk.assign(pass.transform, gathered.features(), gathered.labels(), pass.plan.threads);
    const auto place_of = [&](std::size_t row) { return places[first + row]; };
    check_rows(chunk, gathered.labels(), pass, place_of, [&](std::size_t row, auto& scratch) {
      return gathered.features()[row].decoded(0, rows.dim(), scratch);
    });
    if (rows.has_weights()) chunk.set_weights(std::move(weights));
    chunk.set_units(std::move(units), rows.units().parts);
    visit(chunk);
    gathered.release();
    first = end;
    pass.on_chunk(static_cast<double>(first) / static_cast<double>(places.size()));
  }
}

// Number of rows of a chunk of the pass.
std::size_t chunk_rows_of(const RowPass& pass) {
  return rows_of_chunk(pass.plan.memory_bytes, bytes_per_row(pass.transform.preprocessing(), pass.slots_per_row()));
}

double share_done(const RowChunk& read, const WorkerRows& rows) {
  const RowRange range = rows.range();
  return static_cast<double>(read.first_row + read.rows - range.first) /
         static_cast<double>(std::max<std::uint64_t>(range.count, 1));
}

// Prepares the chunks of a pass, one after the other.
class ChunkSource {
 public:
  ChunkSource(const RowPass& pass, std::size_t chunk_rows)
      : pass_(pass),
        stream_(pass.rows, pass.plan.classes, chunk_rows, pass.slots_per_row()),
        one_class_(pass.rows.has_labels() ? 0 : chunk_rows, 0) {}

  // 0 after the last chunk.
  std::size_t rows_of_next() const { return stream_.rows_of_next(); }

  // Fills `chunk`, and reports the share of rows done; nothing after the last.
  std::optional<double> next(LatticeRows& chunk) {
    const auto read = stream_.next();
    if (!read) return std::nullopt;
    const WorkerRows& rows = pass_.rows;
    const auto labels = rows.has_labels() ? read->labels : std::span<const std::int32_t>(one_class_).first(read->rows);
    chunk.assign(pass_.transform, read->features, labels, pass_.plan.threads);
    const auto place_of = [&](std::size_t row) { return read->first_row + row; };
    check_rows(chunk, labels, pass_, place_of, [&](std::size_t row, auto& scratch) {
      return read->features.decoded(row * rows.dim(), rows.dim(), scratch);
    });
    take_units(chunk, rows, place_of);
    return share_done(*read, rows);
  }

 private:
  RowPass pass_;
  RowStream stream_;
  std::vector<std::int32_t> one_class_;
};

// The same on a thread of its own, which prepares the next chunk while one is looked at.
class ChunksAhead {
 public:
  // `source` serves nobody else meanwhile.
  ChunksAhead(ChunkSource& source, const std::function<LatticeRows()>& make_room)
      : source_(source), chunks_{make_room(), make_room()}, thread_([this] { prepare(); }) {}
  ~ChunksAhead() {
    is_ended_ = true;
    wanted_.release();
  }
  ChunksAhead(const ChunksAhead&) = delete;
  ChunksAhead& operator=(const ChunksAhead&) = delete;

  // The next chunk, until the next call, and the share of rows done; nothing after the last. Throws what its
  // preparation threw.
  std::optional<std::pair<const LatticeRows&, double>> next() {
    ready_.acquire();
    if (failure_) std::rethrow_exception(failure_);
    if (!done_) return std::nullopt;
    const std::size_t place = turn_++ % chunks_.size();
    const double done = *done_;
    wanted_.release();
    return std::pair<const LatticeRows&, double>(chunks_[place], done);
  }

 private:
  void prepare() {
    for (std::size_t turn = 0;; ++turn) {
      wanted_.acquire();
      if (is_ended_) return;
      try {
        done_ = source_.next(chunks_[turn % chunks_.size()]);
      } catch (...) {
        failure_ = std::current_exception();
      }
      ready_.release();
      if (failure_ || !done_) return;
    }
  }

  ChunkSource& source_;
  std::array<LatticeRows, 2> chunks_;
  std::size_t turn_ = 0;
  std::optional<double> done_;  // of the chunk that is ready
  std::exception_ptr failure_;
  std::atomic<bool> is_ended_{false};
  std::counting_semaphore<> wanted_{1};
  std::counting_semaphore<> ready_{0};
  std::jthread thread_;
};

}  // namespace

std::size_t bytes_per_row(const Preprocessing& preprocessing, std::size_t labels_per_row) {
  return bytes_per_row(preprocessing.input_dim, preprocessing.output_dim(), labels_per_row);
}

std::size_t bytes_per_row(std::size_t input_dim, std::size_t output_dim, std::size_t labels_per_row) {
  return sizeof(float) * input_dim + 2 * sizeof(std::int16_t) * output_dim + 3 * sizeof(std::int32_t) * labels_per_row;
}

std::size_t rows_of_chunk(std::size_t memory_bytes, std::size_t row_bytes) {
  if (memory_bytes < row_bytes) {
    throw UsageError("--memory: one row needs {} bytes; allow more", row_bytes);
  }
  return std::min(memory_bytes / row_bytes, kMostRowsPerChunk);
}

void require_room_for_units(const Preprocessing& preprocessing, const StreamPlan& plan) {
  const std::uint64_t together = most_rows_clipped_together(preprocessing.input_dim);
  const std::uint64_t bytes = together * bytes_per_row(preprocessing, plan.labels_per_row);
  if (bytes <= plan.memory_bytes) return;
  throw UsageError("--memory: up to {} rows of a person are clipped together, which need {} MiB; allow more", together,
                   (bytes + kMiB - 1) / kMiB);
}

void for_each_lattice_chunk(const RowPass& pass, const std::function<void(const LatticeRows&)>& visit) {
  const std::uint64_t rows = pass.rows.range().count;
  const std::size_t chunk_rows = chunk_rows_of(pass);
  if (pass.rows.goes_by_unit()) return for_each_chunk_of_units(pass, chunk_rows, visit);
  ChunkSource source(pass, chunk_rows);
  const auto make_room = [&] {
    return LatticeRows(pass.lattice(), std::min<std::uint64_t>(chunk_rows, rows), pass.slots_per_row());
  };
  if (pass.plan.threads == 1 || rows <= chunk_rows) {
    LatticeRows chunk = make_room();
    while (const auto done = source.next(chunk)) {
      visit(chunk);
      pass.on_chunk(*done);
    }
    return;
  }
  ChunksAhead ahead(source, make_room);
  while (const auto next = ahead.next()) {
    visit(next->first);
    pass.on_chunk(next->second);
  }
}

void take_lattice_chunks(const RowPass& pass, const std::function<void(LatticeRows)>& take) {
  if (pass.rows.goes_by_unit()) return for_each_lattice_chunk(pass, take);
  ChunkSource source(pass, chunk_rows_of(pass));
  while (const std::size_t count = source.rows_of_next()) {
    LatticeRows chunk(pass.lattice(), count, pass.slots_per_row());
    const double done = source.next(chunk).value();
    take(std::move(chunk));
    pass.on_chunk(done);
  }
}

void for_each_lattice_chunk_of(const RowFilter& wants, const RowPass& pass,
                               const std::function<void(const LatticeRows&)>& visit,
                               std::span<const RowWeight> weights) {
  WorkerRows& rows = pass.rows;
  const StreamPlan& plan = pass.plan;
  DPREDUCE_ASSERT(rows.has_labels() && (weights.empty() || weights.size() == rows.range().count));
  const std::size_t dim = pass.transform.input_dim();
  const std::size_t slots = plan.labels_per_row;
  const std::size_t most_rows =
      rows_of_chunk(plan.memory_bytes, bytes_per_row(pass.transform.preprocessing(), slots) + sizeof(float) * dim);
  const std::size_t chunk_rows = std::clamp<std::size_t>(rows.range().count, 1, most_rows);
  RowStream stream(rows, plan.classes, chunk_rows, slots);
  LatticeRows chunk(pass.lattice(), chunk_rows, slots);
  std::vector<float> features(chunk_rows * dim);
  std::vector<float> decoded;  // one row
  std::vector<std::int32_t> labels;
  std::vector<std::uint64_t> places;  // among all rows, of each that was gathered
  const auto visit_gathered = [&] {
    chunk.assign(pass.transform, std::span<const float>(features).first(places.size() * dim), labels, plan.threads);
    const auto place_of = [&](std::size_t row) { return places[row]; };
    check_rows(chunk, labels, pass, place_of,
               [&](std::size_t row, auto&) { return std::span<const float>(features).subspan(row * dim, dim); });
    take_units(chunk, rows, place_of);
    if (!weights.empty()) {
      std::vector<RowWeight> of_chunk;
      for (const std::uint64_t place : places) of_chunk.push_back(weights[place - rows.range().first]);
      chunk.set_weights(std::move(of_chunk));
    }
    visit(chunk);
    labels.clear();
    places.clear();
  };

  while (const auto read = stream.next()) {
    for (std::size_t row = 0; row < read->rows; ++row) {
      if (!wants(read->classes_of(row))) continue;
      const auto from = read->features.decoded(row * dim, dim, decoded);
      std::copy(from.begin(), from.end(), features.begin() + static_cast<std::ptrdiff_t>(places.size() * dim));
      const auto row_slots = slots_of(read->labels, slots, row);
      labels.insert(labels.end(), row_slots.begin(), row_slots.end());
      places.push_back(read->first_row + row);
      if (places.size() == chunk_rows) visit_gathered();
    }
    pass.on_chunk(share_done(*read, rows));
  }
  if (!places.empty()) visit_gathered();
}

bool are_finite(std::span<const float> features) {
  return std::ranges::all_of(features, [](float entry) { return std::isfinite(entry); });
}

void refuse_not_finite(const std::string& where) {
  throw BadInput("{}: not a finite number (NaN or inf); correct it, or use --bad-rows zero{}", where, kForOwnerOnly);
}

void refuse_surplus_labels(const std::string& where, std::size_t labels, std::size_t most) {
  throw BadInput(
      "{}: {} labels, more than --max-labels {}; correct the labels, raise the bound, or use --bad-rows zero{}", where,
      labels, most, kForOwnerOnly);
}

}  // namespace dpreduce
