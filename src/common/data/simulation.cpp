#include "common/data/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/output_file.hpp"
#include "common/data/npy_writer.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

// Streams of the counter-based generator.
constexpr std::uint64_t kDealStream = 11;
constexpr std::uint64_t kShareStream = std::uint64_t{1} << 41;  // and the stratum
constexpr std::uint64_t kPlaceStream = std::uint64_t{1} << 42;  // and the stratum
// Below, exp is 0 beside a largest share of at least 1 / k.
constexpr double kSmallestLog = -700.0;

using Counts = std::vector<std::uint64_t>;  // of each silo

// log of a gamma variate of that shape, numbers from *next on.
double log_gamma_variate(double shape, const CounterRandom& random, std::uint64_t* next) {
  const auto uniform = [&] { return (static_cast<double>(random.bits((*next)++) >> 11) + 1.0) * 0x1p-53; };
  if (shape < 1.0) {
    const double boost = portable_log(uniform()) / shape;
    return log_gamma_variate(shape + 1.0, random, next) + boost;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    // normals(m) is made of bits 2 m and 2 m + 1.
    *next += *next % 2;
    const double x = random.normals(*next / 2).first;
    *next += 2;
    const double u = uniform();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (portable_log(u) < 0.5 * x * x + d - d * v + d * portable_log(v)) return portable_log(d) + portable_log(v);
  }
}

// Rows spread as evenly as integers allow: the first holders have one row more than the last.
Counts even_counts(std::size_t silos, const std::vector<std::size_t>& holders, std::uint64_t rows) {
  Counts counts(silos, 0);
  for (std::size_t h = 0; h < holders.size(); ++h) {
    counts[holders[h]] = rows / holders.size() + (h < rows % holders.size() ? 1 : 0);
  }
  return counts;
}

// Each class with the silos that hold it.
std::vector<std::vector<std::size_t>> deal_classes(const SiloSpec& spec, std::size_t classes) {
  DPREDUCE_ASSERT(spec.classes_per_silo >= 1 && spec.classes_per_silo <= classes);
  DPREDUCE_ASSERT(spec.silos >= (classes + spec.classes_per_silo - 1) / spec.classes_per_silo);
  const IndexPermutation order(classes, spec.seed, kDealStream);
  std::vector<std::vector<std::size_t>> holders(classes);
  for (std::size_t silo = 0; silo < spec.silos; ++silo) {
    for (std::size_t j = 0; j < spec.classes_per_silo; ++j) {
      holders[order((silo * spec.classes_per_silo + j) % classes)].push_back(silo);
    }
  }
  return holders;
}

std::vector<Counts> planned_counts(const SiloSpec& spec, const std::vector<std::uint64_t>& strata) {
  std::vector<Counts> counts;
  if (spec.scheme == Partition::kDirichlet || spec.scheme == Partition::kQuantity) {
    for (std::size_t stratum = 0; stratum < strata.size(); ++stratum) {
      const CounterRandom random(spec.seed, kShareStream + stratum);
      Counts ends = ends_of_shares(dirichlet_shares(spec.silos, spec.alpha, random), strata[stratum]);
      std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
      counts.push_back(std::move(ends));
    }
    return counts;
  }
  std::vector<std::size_t> all(spec.silos);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const bool deals = spec.scheme == Partition::kClasses;
  const auto holders = deals ? deal_classes(spec, strata.size()) : std::vector<std::vector<std::size_t>>{all};
  for (std::size_t stratum = 0; stratum < strata.size(); ++stratum) {
    counts.push_back(even_counts(spec.silos, holders[stratum], strata[stratum]));
  }
  return counts;
}

Counts rows_of_silos(const std::vector<Counts>& counts, std::size_t silos) {
  Counts rows(silos, 0);
  for (const Counts& of_stratum : counts) {
    for (std::size_t silo = 0; silo < silos; ++silo) rows[silo] += of_stratum[silo];
  }
  return rows;
}

// A row for each silo without any, out of the largest stratum of the silo that has most. There are enough.
void fill_empty_silos(std::vector<Counts>& counts, Counts& rows) {
  for (std::size_t silo = 0; silo < rows.size(); ++silo) {
    if (rows[silo] > 0) continue;
    const auto donor = static_cast<std::size_t>(std::max_element(rows.begin(), rows.end()) - rows.begin());
    Counts& stratum = *std::max_element(counts.begin(), counts.end(),
                                        [&](const Counts& a, const Counts& b) { return a[donor] < b[donor]; });
    --stratum[donor];
    --rows[donor];
    ++stratum[silo];
    ++rows[silo];
  }
}

constexpr std::uint64_t kPairStream = std::uint64_t{1} << 43;  // and the silo
constexpr std::uint64_t kSignStream = std::uint64_t{1} << 44;  // and the silo
constexpr double kDegrees = 360.0;                             // in a turn

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
    x_.commit(made);
    y_.commit(made);
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

bool is_label_skew(Partition scheme) {
  return scheme == Partition::kDirichlet || scheme == Partition::kClasses;
}

std::vector<double> dirichlet_shares(std::size_t count, double alpha, const CounterRandom& random) {
  DPREDUCE_ASSERT(count >= 1 && alpha > 0.0 && std::isfinite(alpha));
  std::vector<double> shares(count);
  std::uint64_t next = 0;
  for (double& share : shares) share = log_gamma_variate(alpha, random, &next);
  const double largest = *std::max_element(shares.begin(), shares.end());
  double total = 0.0;
  for (double& share : shares) {
    share = share - largest < kSmallestLog ? 0.0 : portable_exp(share - largest);
    total += share;
  }
  for (double& share : shares) share /= total;
  return shares;
}

std::vector<std::uint64_t> ends_of_shares(const std::vector<double>& shares, std::uint64_t rows) {
  std::vector<std::uint64_t> ends(shares.size());
  double sum = 0.0;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    sum += shares[part];
    ends[part] = std::min(rows, static_cast<std::uint64_t>(static_cast<double>(rows) * sum + 0.5));
  }
  ends.back() = rows;
  return ends;
}

SiloAssignment::SiloAssignment(const SiloSpec& spec, const std::vector<std::uint64_t>& class_counts) {
  DPREDUCE_ASSERT(spec.silos >= 1 && !class_counts.empty());
  DPREDUCE_ASSERT(is_label_skew(spec.scheme) || class_counts.size() == 1);
  const std::uint64_t rows = std::accumulate(class_counts.begin(), class_counts.end(), std::uint64_t{0});
  if (rows < spec.silos) {
    throw UsageError("--silos {}: there are {} rows; give at most one silo a row", spec.silos, rows);
  }
  std::vector<Counts> counts = planned_counts(spec, class_counts);
  rows_ = rows_of_silos(counts, spec.silos);
  if (spec.scheme == Partition::kClasses) {
    const auto empty = std::find(rows_.begin(), rows_.end(), 0u);
    if (empty != rows_.end()) {
      throw UsageError(
          "--silos {0}: the classes of silo {1} of {0} have too few rows for all silos that hold them; "
          "give fewer silos or more --classes-per-silo",
          spec.silos, empty - rows_.begin() + 1);
    }
  }
  fill_empty_silos(counts, rows_);
  for (std::size_t stratum = 0; stratum < counts.size(); ++stratum) {
    Counts ends(spec.silos);
    std::partial_sum(counts[stratum].begin(), counts[stratum].end(), ends.begin());
    strata_.push_back({std::move(ends), IndexPermutation(class_counts[stratum], spec.seed, kPlaceStream + stratum), 0});
  }
}

std::size_t SiloAssignment::next(std::size_t stratum) {
  DPREDUCE_ASSERT(stratum < strata_.size());
  Stratum& of = strata_[stratum];
  DPREDUCE_ASSERT(of.next_row < of.ends.back());
  const std::uint64_t place = of.place(of.next_row++);
  return static_cast<std::size_t>(std::upper_bound(of.ends.begin(), of.ends.end(), place) - of.ends.begin());
}

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
  const SiloAssignment assignment(spec, stratum_counts(rows, classes, spec.scheme));
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
    SiloAssignment pass = assignment;
    for_each_stored_row(
        rows, classes,
        [&](std::span<const std::int32_t> of_row, std::span<const std::byte> x, std::span<const std::byte> y) {
          const std::size_t silo = pass.next(is_label_skew(spec.scheme) ? static_cast<std::size_t>(of_row[0]) : 0);
          if (silo >= first && silo < end) open[silo - first].append(of_row, x, y);
        });
    for (OpenSilo& silo : open) silo.commit(made);
  }
  made.keep();
  return files;
}

}  // namespace dpreduce
