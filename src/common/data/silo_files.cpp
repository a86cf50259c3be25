#include "common/data/silo_files.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

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
constexpr std::uint64_t kLabelsAtOnce = kChunkBytes / sizeof(std::int32_t);
// Open at a time, two files each: well below the usual limit of 1024 descriptors.
constexpr std::size_t kSilosAtOnce = 128;

// visit(classes, stored features, stored labels) for each row, in the order of the data set.
template <typename Visit>
void for_each_stored_row(WorkerRows& rows, std::size_t classes, const Visit& visit) {
  const std::size_t slots = rows.has_label_sets() ? classes : 1;
  const std::uint64_t x_bytes = rows.features().row_bytes();
  const std::uint64_t y_bytes = rows.labels().row_bytes();
  const std::uint64_t at_once =
      std::max<std::uint64_t>(1, kChunkBytes / (x_bytes + y_bytes + slots * sizeof(std::int32_t)));
  std::vector<std::int32_t> labels;
  std::vector<std::byte> x;
  std::vector<std::byte> y;
  for (std::uint64_t first = 0; first < rows.range().count; first += at_once) {
    const std::uint64_t count = std::min(at_once, rows.range().count - first);
    labels.resize(count * slots);
    x.resize(count * x_bytes);
    y.resize(count * y_bytes);
    rows.labels().read_labels(first, count, classes, labels);
    rows.features().read_stored(first, count, x);
    rows.labels().read_stored(first, count, y);
    rows.features().release_rows(first, count);
    for (std::uint64_t row = 0; row < count; ++row) {
      visit(classes_in(slots_of(labels, slots, row)), std::span(x).subspan(row * x_bytes, x_bytes),
            std::span(y).subspan(row * y_bytes, y_bytes));
    }
  }
}

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
  std::vector<std::int32_t> labels;
  for (std::uint64_t done = 0; done < rows.range().count; done += labels.size()) {
    labels.resize(std::min(kLabelsAtOnce, rows.range().count - done));
    rows.labels().read_labels(done, labels.size(), classes, labels);
    for (const std::int32_t label : labels) ++counts[static_cast<std::size_t>(label)];
  }
  return counts;
}

// The files of a silo, while they are written.
class OpenSilo {
 public:
  OpenSilo(const WorkerRows& rows, SiloFiles& files, std::optional<FeatureShift> shift)
      : files_(files),
        dtype_(rows.features().dtype()),
        x_(files.x, dtype_, {files.rows, rows.dim()}),
        y_(files.y, rows.labels().dtype(),
           rows.has_label_sets() ? Shape{files.rows, rows.labels().columns()} : Shape{files.rows}),
        shift_(std::move(shift)) {}

  void append(std::span<const std::int32_t> classes, std::span<const std::byte> x, std::span<const std::byte> y) {
    for (const std::int32_t c : classes) ++files_.class_counts[static_cast<std::size_t>(c)];
    y_.append_stored(y);
    if (!shift_) return x_.append_stored(x);
    features_.resize(x.size() / size_of(dtype_));
    convert_numbers(x, dtype_, ByteOrder::kLittle, features_);
    shift_->apply(features_);
    x_.append(std::span<const double>(features_));
  }

  void commit(MadeFiles& made) {
    x_.commit();
    made.add(files_.x);
    y_.commit();
    made.add(files_.y);
  }

 private:
  SiloFiles& files_;
  DType dtype_;
  NpyWriter x_;
  NpyWriter y_;
  std::optional<FeatureShift> shift_;
  std::vector<double> features_;  // of a row
};

// Throws BadInput if one of them exists.
SiloFiles new_files(const fs::path& folder, std::uint64_t rows, std::size_t classes) {
  SiloFiles files{(folder / "x.npy").string(), (folder / "y.npy").string(), rows,
                  std::vector<std::uint64_t>(classes, 0)};
  for (const std::string& file : {files.x, files.y}) {
    std::error_code error;
    if (fs::exists(file, error)) throw BadInput("{}: exists already; choose another --out, or remove it", file);
  }
  return files;
}

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
    files.push_back(
        new_files(fs::path(directory) / fmt::format("silo{}", first_silo + silo), assignment.rows_of(silo), classes));
  }
  MadeFiles made;
  for (const SiloFiles& of : files) made.make_folder(fs::path(of.x).parent_path());
  for (std::size_t first = 0; first < files.size(); first += kSilosAtOnce) {
    const std::size_t end = std::min(first + kSilosAtOnce, files.size());
    std::deque<OpenSilo> open;
    for (std::size_t silo = first; silo < end; ++silo) {
      std::optional<FeatureShift> own_shift;
      if (shift) own_shift.emplace(*shift, rows.dim(), first_silo + silo, spec.seed);
      open.emplace_back(rows, files[silo], std::move(own_shift));
    }
    assignment.rewind();
    for_each_stored_row(
        rows, classes,
        [&](std::span<const std::int32_t> of_row, std::span<const std::byte> x, std::span<const std::byte> y) {
          const std::size_t silo =
              assignment.next(is_label_skew(spec.scheme) ? static_cast<std::size_t>(of_row[0]) : 0);
          if (silo >= first && silo < end) open[silo - first].append(of_row, x, y);
        });
    for (OpenSilo& silo : open) silo.commit(made);
  }
  made.keep();
  return files;
}

}  // namespace dpreduce
