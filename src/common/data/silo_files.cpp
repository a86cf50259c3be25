#include "common/data/silo_files.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/data/counter_random.hpp"
#include "common/data/element_conversion.hpp"
#include "common/data/label_slots.hpp"
#include "common/data/npy_writer.hpp"

namespace dpreduce {
namespace {

constexpr std::uint64_t kPairStream = std::uint64_t{1} << 43;  // and the silo
constexpr std::uint64_t kSignStream = std::uint64_t{1} << 44;  // and the silo
constexpr double kDegrees = 360.0;                             // in a turn

namespace fs = std::filesystem;

constexpr std::uint64_t kChunkBytes = std::uint64_t{8} << 20;
// Open at a time, two files each: well below the usual limit of 1024 descriptors.
constexpr std::size_t kSilosAtOnce = 128;

// The rows of a data set, some at a time, with their classes.
class Pass {
 public:
  Pass(WorkerRows& rows, std::size_t classes, bool with_features)
      : rows_(rows),
        classes_(classes),
        slots_(rows.has_label_sets() ? classes : 1),
        x_bytes_(with_features ? rows.features().row_bytes() : 0),
        y_bytes_(with_features ? rows.labels().row_bytes() : 0) {
    const std::uint64_t row = x_bytes_ + y_bytes_ + slots_ * sizeof(std::int32_t);
    chunk_ = std::clamp<std::uint64_t>(kChunkBytes / row, 1, std::max<std::uint64_t>(1, rows.range().count));
  }

  // False after the last.
  bool next() {
    first_ += count_;
    count_ = std::min(chunk_, rows_.range().count - first_);
    if (count_ == 0) return false;
    labels_.resize(count_ * slots_);
    rows_.labels().read_labels(first_, count_, classes_, labels_);
    if (x_bytes_ > 0) {
      x_.resize(count_ * x_bytes_);
      y_.resize(count_ * y_bytes_);
      rows_.features().read_stored(first_, count_, x_);
      rows_.labels().read_stored(first_, count_, y_);
      rows_.features().release_rows(first_, count_);
    }
    return true;
  }

  std::size_t count() const { return count_; }
  std::span<const std::int32_t> classes_of(std::size_t row) const { return classes_in(slots_of(labels_, slots_, row)); }
  std::span<const std::byte> x(std::size_t row) const { return std::span(x_).subspan(row * x_bytes_, x_bytes_); }
  std::span<const std::byte> y(std::size_t row) const { return std::span(y_).subspan(row * y_bytes_, y_bytes_); }

 private:
  WorkerRows& rows_;
  std::size_t classes_;
  std::size_t slots_;
  std::uint64_t x_bytes_;
  std::uint64_t y_bytes_;
  std::uint64_t chunk_;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::int32_t> labels_;
  std::vector<std::byte> x_;
  std::vector<std::byte> y_;
};

// Rows of each class, or of all where classes do not decide.
std::vector<std::uint64_t> stratum_counts(WorkerRows& rows, std::size_t classes, Partition scheme) {
  if (!is_label_skew(scheme)) return {rows.range().count};
  if (rows.has_label_sets()) {
    throw UsageError(
        "--scheme {}: assigns rows by class, but these labels have several columns of zeros and ones; use "
        "iid, quantity or feature-shift",
        to_string(scheme));
  }
  std::vector<std::uint64_t> counts(classes, 0);
  for (Pass pass(rows, classes, false); pass.next();) {
    for (std::size_t row = 0; row < pass.count(); ++row) ++counts[static_cast<std::size_t>(pass.classes_of(row)[0])];
  }
  return counts;
}

template <typename Element, typename Encode>
void store(std::span<const double> numbers, std::span<std::byte> stored, Encode encode) {
  std::vector<Element> elements(numbers.size());
  std::ranges::transform(numbers, elements.begin(), encode);
  std::memcpy(stored.data(), elements.data(), stored.size());
}

// One stored row of features, shifted in place.
void shift_row(const FeatureShift& shift, DType dtype, std::span<std::byte> stored, std::vector<double>& scratch) {
  scratch.resize(stored.size() / size_of(dtype));
  convert_numbers(stored, dtype, ByteOrder::kLittle, scratch);
  shift.apply(scratch);
  const auto to_float = [](double value) { return static_cast<float>(value); };
  if (dtype == DType::kFloat16) {
    store<std::uint16_t>(scratch, stored, [&](double value) { return float_to_half(to_float(value)); });
  } else if (dtype == DType::kFloat32) {
    store<float>(scratch, stored, to_float);
  } else {
    std::memcpy(stored.data(), scratch.data(), stored.size());
  }
}

struct OpenSilo {
  OpenSilo(const SiloFiles& files, DType x_type, std::size_t dim, DType y_type, const Shape& y_shape)
      : x(files.x, x_type, {files.rows, dim}), y(files.y, y_type, y_shape) {}
  NpyWriter x;
  NpyWriter y;
  std::optional<FeatureShift> shift;
};

// Gathers the rows of a chunk by silo, so that each file is written in few pieces.
class Writers {
 public:
  Writers(WorkerRows& rows, std::span<SiloFiles> files, std::size_t first_silo, const SiloSpec& spec,
          const std::optional<ShiftSize>& shift)
      : dtype_(rows.features().dtype()), files_(files) {
    const DType label_type = rows.labels().dtype();
    for (std::size_t silo = 0; silo < files.size(); ++silo) {
      const SiloFiles& of = files[silo];
      Shape label_shape{of.rows};
      if (rows.has_label_sets()) label_shape.push_back(rows.labels().columns());
      open_.emplace_back(of, dtype_, rows.dim(), label_type, label_shape);
      if (shift) open_.back().shift.emplace(*shift, rows.dim(), first_silo + silo, spec.seed);
    }
    members_.resize(files.size());
  }

  // `silos`: of each row of the chunk, among those of all passes, the first of these being `first`.
  void write(const Pass& chunk, std::span<const std::size_t> silos, std::size_t first) {
    for (std::vector<std::size_t>& rows : members_) rows.clear();
    for (std::size_t row = 0; row < silos.size(); ++row) {
      if (silos[row] >= first && silos[row] < first + members_.size()) members_[silos[row] - first].push_back(row);
    }
    for (std::size_t silo = 0; silo < members_.size(); ++silo) write_rows(chunk, members_[silo], silo);
  }

  void commit(MadeFiles& made) {
    for (std::size_t silo = 0; silo < open_.size(); ++silo) {
      open_[silo].x.commit();
      made.add(files_[silo].x);
      open_[silo].y.commit();
      made.add(files_[silo].y);
    }
  }

 private:
  void write_rows(const Pass& chunk, const std::vector<std::size_t>& rows, std::size_t silo) {
    OpenSilo& open = open_[silo];
    x_.clear();
    y_.clear();
    for (const std::size_t row : rows) {
      const std::span<const std::byte> x = chunk.x(row);
      const std::span<const std::byte> y = chunk.y(row);
      x_.insert(x_.end(), x.begin(), x.end());
      y_.insert(y_.end(), y.begin(), y.end());
      if (open.shift) shift_row(*open.shift, dtype_, std::span(x_).last(x.size()), scratch_);
      for (const std::int32_t c : chunk.classes_of(row)) ++files_[silo].class_counts[static_cast<std::size_t>(c)];
    }
    open.x.append_stored(x_);
    open.y.append_stored(y_);
  }

  DType dtype_;
  std::span<SiloFiles> files_;
  std::deque<OpenSilo> open_;
  std::vector<std::vector<std::size_t>> members_;  // rows of the chunk
  std::vector<std::byte> x_;
  std::vector<std::byte> y_;
  std::vector<double> scratch_;
};

}  // namespace

FeatureShift::FeatureShift(const ShiftSize& size, std::size_t dim, std::size_t silo, std::uint64_t seed)
    : translation_(dim) {
  DPREDUCE_ASSERT(dim >= 1 && size.rotation >= 0.0 && size.rotation <= kDegrees / 2.0);
  const auto [cosine, sine] = portable_cos_sin_turn(size.rotation / kDegrees);
  cosine_ = cosine;
  const IndexPermutation order(dim, seed, kPairStream + silo);
  const CounterRandom signs(seed, kSignStream + silo);
  const auto signed_by = [&](std::uint64_t k, double value) { return signs.bits(k) >> 63 != 0 ? value : -value; };
  for (std::size_t pair = 0; pair < dim / 2; ++pair) {
    turns_.push_back({order(2 * pair), order(2 * pair + 1), signed_by(pair, sine)});
  }
  for (std::size_t a = 0; a < dim; ++a) translation_[a] = signed_by(dim + a, size.offset);
}

void FeatureShift::apply(std::span<double> x) const {
  DPREDUCE_ASSERT(x.size() == translation_.size());
  for (const Turn& turn : turns_) {
    const double first = x[turn.first];
    const double second = x[turn.second];
    x[turn.first] = cosine_ * first - turn.sine * second;
    x[turn.second] = turn.sine * first + cosine_ * second;
  }
  for (std::size_t a = 0; a < x.size(); ++a) x[a] += translation_[a];
}

std::vector<SiloFiles> write_silos(WorkerRows& rows, std::size_t classes, const SiloSpec& spec,
                                   const std::optional<ShiftSize>& shift, const std::string& directory,
                                   std::size_t first_silo) {
  DPREDUCE_ASSERT(rows.has_labels() && rows.range().count == rows.features().rows());
  SiloAssignment assignment(spec, stratum_counts(rows, classes, spec.scheme));
  std::vector<SiloFiles> files;
  for (std::size_t silo = 0; silo < spec.silos; ++silo) {
    const fs::path folder = fs::path(directory) / fmt::format("silo{}", first_silo + silo);
    files.push_back({(folder / "x.npy").string(), (folder / "y.npy").string(), assignment.rows_of(silo),
                     std::vector<std::uint64_t>(classes, 0)});
    for (const std::string& file : {files.back().x, files.back().y}) {
      if (fs::exists(file)) throw BadInput("{}: exists already; choose another --out, or remove it", file);
    }
  }
  MadeFiles made;
  for (const SiloFiles& of : files) made.make_folder(fs::path(of.x).parent_path());
  std::vector<std::size_t> silos;
  for (std::size_t first = 0; first < files.size(); first += kSilosAtOnce) {
    const std::size_t count = std::min(kSilosAtOnce, files.size() - first);
    Writers writers(rows, std::span(files).subspan(first, count), first_silo + first, spec, shift);
    assignment.rewind();
    for (Pass pass(rows, classes, true); pass.next();) {
      silos.resize(pass.count());
      for (std::size_t row = 0; row < silos.size(); ++row) {
        silos[row] =
            assignment.next(is_label_skew(spec.scheme) ? static_cast<std::size_t>(pass.classes_of(row)[0]) : 0);
      }
      writers.write(pass, silos, first);
    }
    writers.commit(made);
  }
  made.keep();
  return files;
}

}  // namespace dpreduce
