#include "worker/lattice_stream.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"
#include "worker/weighted_rows.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Makes the chunk's rows of `features` and `slots`, and checks them. `place_of` returns the place of the chunk's row
// among all rows, and `features_of` what it has. Rows that are not finite are refused whatever their labels: else a
// list of classes decides whether such a row ends the run, and who brings the list learns its label.
template <typename Features, typename PlaceOf, typename FeaturesOf>
void assign_checked(LatticeRows& chunk, const Features& features, std::span<const std::int32_t> slots,
                    const RowPass& pass, const PlaceOf& place_of, const FeaturesOf& features_of) {
  chunk.assign(pass.transform, features, slots, pass.plan.threads);
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
        std::copy_n(&all_labels_[slot_of(places[row])], slots_, &labels_[row * slots_]);
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
    assign_checked(
        chunk, gathered.features(), gathered.labels(), pass, [&](std::size_t row) { return places[first + row]; },
        [&](std::size_t row, auto& scratch) { return gathered.features()[row].decoded(0, rows.dim(), scratch); });
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
    const auto place_of = [&](std::size_t row) { return read->first_row + row; };
    assign_checked(chunk, read->features, labels, pass_, place_of, [&](std::size_t row, auto& scratch) {
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

// Done once for a chunk that is kept: many passes over it would else do it again and again.
void prepare_for_rounds(LatticeRows& chunk, const RowPass& pass) {
  chunk.measure_energies(pass.plan.threads);
  if (pass.rows.goes_by_unit()) remember_products(chunk, pass.plan.threads);
}

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
  const bool goes_ahead = pass.plan.threads > 1 && rows > chunk_rows;
  std::vector<LatticeRows> chunks;
  chunks.reserve(2);
  for (std::size_t place = 0; place < (goes_ahead ? 2 : 1); ++place) {
    chunks.emplace_back(pass.lattice(), std::min<std::uint64_t>(chunk_rows, rows), pass.slots_per_row());
  }
  const auto prepared = [&](std::size_t turn) {
    return std::async(goes_ahead ? std::launch::async : std::launch::deferred,
                      [&, turn] { return source.next(chunks[turn % chunks.size()]); });
  };
  auto next = prepared(0);
  for (std::size_t turn = 0; const auto done = next.get(); ++turn) {
    next = prepared(turn + 1);
    visit(chunks[turn % chunks.size()]);
    pass.on_chunk(*done);
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
    const std::span<const float> gathered(features);
    const auto place_of = [&](std::size_t row) { return places[row]; };
    assign_checked(chunk, StoredFloats(gathered.first(places.size() * dim)), labels, pass, place_of,
                   [&](std::size_t row, auto&) { return gathered.subspan(row * dim, dim); });
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

std::size_t bytes_per_kept_row(std::size_t output_dim, std::size_t labels_per_row, bool by_unit) {
  const std::size_t energies =
      sizeof(std::uint32_t) * (1 + (output_dim + kEnergyColumns - 1) / kEnergyColumns / kEnergyRows);
  const std::size_t of_unit = by_unit ? sizeof(RowWeight) + sizeof(std::uint32_t) + kBytesRememberedOfRow : 0;
  const std::size_t norm = sizeof(std::uint32_t);
  return sizeof(std::int16_t) * output_dim + sizeof(std::int32_t) * labels_per_row + sizeof(char) + norm + energies +
         of_unit;
}

std::uint64_t most_kept_rows(std::size_t memory_bytes, std::size_t input_dim, std::size_t output_dim,
                             std::size_t labels_per_row, bool by_unit) {
  const std::size_t row_bytes = bytes_per_row(input_dim, output_dim, labels_per_row);
  const std::size_t in_the_making = rows_of_chunk(memory_bytes, row_bytes) * row_bytes;
  return (memory_bytes - in_the_making) / bytes_per_kept_row(output_dim, labels_per_row, by_unit);
}

std::optional<KeptChunks> keep_lattice_chunks(const RowPass& pass, KeptFor use) {
  const std::size_t dim = pass.transform.output_dim() + (use == KeptFor::kProjection ? 1 : 0);  // an intercept
  const std::uint64_t most = most_kept_rows(pass.plan.memory_bytes, pass.transform.input_dim(), dim,
                                            pass.slots_per_row(), pass.rows.goes_by_unit());
  if (pass.rows.range().count > most) return std::nullopt;
  std::optional<KeptChunks> kept(std::in_place);
  const auto keep = [&](LatticeRows chunk) {
    kept->push_back(std::move(chunk));
    if (use == KeptFor::kRounds) prepare_for_rounds(kept->back(), pass);
  };
  if (pass.rows.goes_by_unit()) {
    for_each_lattice_chunk(pass, keep);
    return kept;
  }
  ChunkSource source(pass, chunk_rows_of(pass));
  while (const std::size_t count = source.rows_of_next()) {
    LatticeRows chunk(pass.lattice(), count, pass.slots_per_row());
    const double done = source.next(chunk).value();
    keep(std::move(chunk));
    pass.on_chunk(done);
  }
  return kept;
}

KeptChunks project_kept_chunks(KeptChunks kept, const RowPass& pass) {
  double done = 0.0;
  for (LatticeRows& chunk : kept) {
    LatticeRows projected(pass.lattice(), chunk.rows(), chunk.labels_per_row());
    projected.assign_projected(pass.transform, chunk, pass.plan.threads);
    chunk = std::move(projected);
    prepare_for_rounds(chunk, pass);
    done += 1.0;
    pass.on_chunk(done / static_cast<double>(kept.size()));
  }
  return kept;
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
