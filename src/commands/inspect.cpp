// Diagnostics of a data set, exact and private: for its owner alone, never for release.
//
// Legend: u_i = transformed row (normalized or clipped), M_c = mean of the transformed rows of class c.
// Feature shift of a row: beta_i = ||u_i - M_{y_i}||_inf ([wang2024], Definition 2.3 and section 5.1, M_c estimated).
#include <cmath>
#include <limits>
#include <numeric>

#include "commands/commands.hpp"
#include "common/base/public_names.hpp"
#include "common/data/row_files.hpp"
#include "common/lattice/row_transform.hpp"
#include "fit/ranked_rows.hpp"
#include "worker/lattice_stream.hpp"

namespace dpreduce {
namespace {

struct InspectOptions {
  RowFiles rows;
  std::size_t classes = 0;
  Normalize normalize = Normalize::kNone;
  double clip_norm = 1.0;
  OutputFormat format = OutputFormat::kText;
};

InspectOptions validated(InspectOptions options) {
  if (options.classes == 0) options.classes = options.rows.class_names.size();
  if (options.rows.has_targets) return options;
  if (!options.rows.y.empty()) require_classes(options.classes);
  require_class_names(options.rows.class_names, options.classes);
  return options;
}

// Distribution of non-negative numbers over ranks: a histogram over powers of 2^(1/16), so that quantiles are
// within 4.5 %.
class LogHistogram {
 public:
  void add(double value) {
    const double place = value > 0.0 ? (std::log2(value) - kSmallestExponent) * kBinsPerOctave : 0.0;
    ++bins_[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(kBins - 1)))];
    largest_ = std::max(largest_, value);
  }

  // Collective.
  void sum_over(Communicator& ranks) {
    ranks.sum_everywhere(bins_);
    largest_ = ranks.max_everywhere(largest_);
  }

  nlohmann::json to_json() const {
    return {{"median", quantile(0.5)}, {"p90", quantile(0.9)}, {"p99", quantile(0.99)}, {"max", largest_}};
  }

 private:
  static constexpr double kSmallestExponent = -64.0;
  static constexpr double kBinsPerOctave = 16.0;
  static constexpr std::size_t kBins = 192 * 16;

  double quantile(double share) const {
    const std::uint64_t total = std::accumulate(bins_.begin(), bins_.end(), std::uint64_t{0});
    std::uint64_t seen = bins_[0];
    std::size_t bin = 0;
    while (static_cast<double>(seen) < share * static_cast<double>(total)) seen += bins_[++bin];
    const double middle = std::exp2(kSmallestExponent + (static_cast<double>(bin) + 0.5) / kBinsPerOctave);
    return bin == 0 ? 0.0 : std::min(middle, largest_);
  }

  std::vector<std::uint64_t> bins_ = std::vector<std::uint64_t>(kBins, 0);
  double largest_ = 0.0;
};

constexpr std::size_t kMostColumns = 64;  // more are no table of named columns

// Numbers of one column, of those that are finite; the mean and the sum M of squares about it row by row.
struct ColumnFigures {
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  double count = 0.0;
  double missing = 0.0;
  double mean = 0.0;
  double squares = 0.0;

  void add(double value) {
    if (!std::isfinite(value)) return static_cast<void>(missing += 1.0);
    least = std::min(least, value);
    largest = std::max(largest, value);
    const double before = value - mean;
    mean += before / (count += 1.0);
    squares += before * (value - mean);
  }

  // Figures of the column over all ranks. Collective.
  nlohmann::json over(Communicator& ranks) const {
    std::array<double, 3> sums{count, missing, count * mean};
    ranks.sum_everywhere(std::span<double>(sums));
    const double of_all = sums[2] / std::max(sums[0], 1.0);
    double about = squares + count * (mean - of_all) * (mean - of_all);
    ranks.sum_everywhere(std::span<double>(&about, 1));
    nlohmann::json figures = {{"min", -ranks.max_everywhere(-least)},
                              {"max", ranks.max_everywhere(largest)},
                              {"mean", of_all},
                              {"deviation", std::sqrt(about / std::max(sums[0], 1.0))}};
    if (sums[0] == 0.0) figures = {{"min", nullptr}, {"max", nullptr}, {"mean", nullptr}, {"deviation", nullptr}};
    figures["missing"] = static_cast<std::uint64_t>(sums[1]);
    return figures;
  }
};

// First pass: what can be said row by row, and the class sums.
struct FirstPass {
  FirstPass(std::size_t classes, std::size_t most_labels, std::size_t dim, std::size_t target_count)
      : columns(dim <= kMostColumns ? dim : 0),
        targets(target_count),
        class_rows(classes, 0),
        rows_by_labels(most_labels + 1, 0),
        class_sums(classes * dim, 0.0) {}
  std::uint64_t rows = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t zero = 0;
  std::uint64_t longer_than_clip = 0;
  LogHistogram norms;
  std::vector<ColumnFigures> columns;
  std::vector<ColumnFigures> targets;
  std::vector<std::uint64_t> class_rows;
  std::vector<std::uint64_t> rows_by_labels;  // rows of 0, 1, 2, ... classes
  std::vector<double> class_sums;             // K x d; diagnostics only, so plain doubles serve

  // Collective.
  void sum_over(Communicator& ranks) {
    for (std::uint64_t* count : {&rows, &not_finite, &zero, &longer_than_clip}) ranks.sum_everywhere({count, 1});
    ranks.sum_everywhere(class_rows);
    ranks.sum_everywhere(rows_by_labels);
    ranks.sum_everywhere(std::span<double>(class_sums));
    norms.sum_over(ranks);
  }

  std::vector<double> class_means(std::size_t dim) const {
    std::vector<double> means = class_sums;
    for (std::size_t entry = 0; entry < means.size(); ++entry) {
      means[entry] /= static_cast<double>(std::max<std::uint64_t>(class_rows[entry / dim], 1));
    }
    return means;
  }
};

void add_row(FirstPass& pass, std::span<const float> row, std::span<const std::int32_t> slots, const RowTransform& raw,
             const RowTransform& transform, double clip_norm, std::vector<double>& scratch) {
  ++pass.rows;
  for (std::size_t a = 0; a < pass.columns.size(); ++a) pass.columns[a].add(row[a]);
  for (std::size_t t = 0; t < pass.targets.size(); ++t) pass.targets[t].add(target_in(slots, t));
  if (!raw(row, scratch)) {
    ++pass.not_finite;
    return;
  }
  const double norm = std::sqrt(squared_norm(scratch));
  pass.norms.add(norm);
  if (norm == 0.0) ++pass.zero;
  if (norm > clip_norm) ++pass.longer_than_clip;
  if (pass.class_rows.empty()) return;
  const std::span<const std::int32_t> labels = classes_in(slots);
  ++pass.rows_by_labels[labels.size()];
  transform(row, scratch);
  for (const std::int32_t label : labels) {
    const auto c = static_cast<std::size_t>(label);
    ++pass.class_rows[c];
    for (std::size_t a = 0; a < scratch.size(); ++a) pass.class_sums[c * scratch.size() + a] += scratch[a];
  }
}

// Cosines between the means of classes that occur: smallest, median and largest over pairs.
nlohmann::json cosine_summary(const std::vector<double>& means, std::size_t dim,
                              const std::vector<std::uint64_t>& class_rows) {
  const auto mean = [&](std::size_t c) { return std::span(means).subspan(c * dim, dim); };
  std::vector<double> cosines;
  for (std::size_t first = 0; first < class_rows.size(); ++first) {
    for (std::size_t second = first + 1; second < class_rows.size(); ++second) {
      if (class_rows[first] == 0 || class_rows[second] == 0) continue;
      double dot = 0.0;
      for (std::size_t a = 0; a < dim; ++a) dot += mean(first)[a] * mean(second)[a];
      const double lengths = std::sqrt(squared_norm(mean(first)) * squared_norm(mean(second)));
      if (lengths > 0.0) cosines.push_back(dot / lengths);
    }
  }
  if (cosines.empty()) return nullptr;
  std::sort(cosines.begin(), cosines.end());
  return {{"min", cosines.front()},
          {"median", cosines[cosines.size() / 2]},
          {"max", cosines.back()},
          {"collapsed", -1.0 / (static_cast<double>(class_rows.size()) - 1.0)}};
}

// Returns the doubt where class 0 has no row, but the last one has: with one class too many, labels from 1 look like
// that; and where the smallest class has less than a twentieth of an equal share.
std::string doubt_of(const std::vector<std::uint64_t>& class_rows) {
  if (class_rows.front() == 0 && class_rows.back() != 0) {
    return "class 0 has no row: labels count from 0; if yours count from 1, subtract 1 from each";
  }
  constexpr double kRare = 0.05;
  const auto rarest = std::ranges::min_element(class_rows);
  const double rows = std::accumulate(class_rows.begin(), class_rows.end(), 0.0);
  if (static_cast<double>(*rarest * class_rows.size()) >= kRare * rows) return "";
  return fmt::format(
      "class {} has {} of {:.0f} rows: a fit for accuracy predicts this class for almost no row; --objective balanced "
      "predicts it for many, and dpreduce export --class-weights weighs single classes",
      rarest - class_rows.begin(), *rarest, rows);
}

// Rows of this rank.
struct VisitedRows {
  WorkerRows rows;
  std::size_t classes;  // 0: rows without labels
  bool has_sets;        // on some rank

  // Calls `visit(row, slots)` for each, with the slots of its labels (label_slots.hpp); none without.
  void for_each(Communicator& ranks,
                const std::function<void(std::span<const float>, std::span<const std::int32_t>)>& visit) {
    const std::size_t dim = rows.dim();
    const std::size_t slots = rows.label_slots(classes);
    RowStream stream(rows, std::max<std::size_t>(classes, 1), rows_per_chunk(kPredictionMemory, dim, slots), slots);
    std::vector<float> decoded;
    while (const auto chunk = stream.next()) {
      ranks.check_peers();
      for (std::size_t row = 0; row < chunk->rows; ++row) {
        visit(chunk->features.decoded(row * dim, dim, decoded),
              chunk->labels.empty() ? chunk->labels : slots_of(chunk->labels, slots, row));
      }
    }
  }
};

VisitedRows opened(const InspectOptions& options, Communicator& ranks) {
  WorkerRows rows = open_ranked_rows(options.rows, ranks);
  const bool has_sets = ranks.max_everywhere(rows.has_label_sets() ? 1.0 : 0.0) > 0.0;
  return {std::move(rows), options.rows.y.empty() || options.rows.has_targets ? 0 : options.classes, has_sets};
}

// The first pass over the rows of all ranks. Collective.
FirstPass first_pass(const InspectOptions& options, const RowTransform& transform, VisitedRows& visited,
                     Communicator& ranks) {
  FirstPass pass(visited.classes, visited.has_sets ? visited.classes : 1, visited.rows.dim(), visited.rows.targets());
  ranks.together([&] {
    constexpr double kNoClip = 1e50;  // beyond any row of floats
    const RowTransform raw(Preprocessing{visited.rows.dim(), 1, Normalize::kNone, kNoClip, {}});
    std::vector<double> scratch(visited.rows.dim());
    visited.for_each(ranks, [&](std::span<const float> row, std::span<const std::int32_t> slots) {
      add_row(pass, row, slots, raw, transform, options.clip_norm, scratch);
    });
  });
  pass.sum_over(ranks);
  return pass;
}

// Feature shifts of the rows of all ranks from their class means, which are K x d. Collective.
LogHistogram feature_shifts(const std::vector<double>& means, const RowTransform& transform, VisitedRows& visited,
                            Communicator& ranks) {
  LogHistogram shifts;
  const std::size_t dim = visited.rows.dim();
  ranks.together([&] {
    std::vector<double> scratch(dim);
    visited.for_each(ranks, [&](std::span<const float> row, std::span<const std::int32_t> slots) {
      if (!transform(row, scratch)) return;
      for (const std::int32_t label : classes_in(slots)) {
        double beta = 0.0;
        for (std::size_t a = 0; a < dim; ++a) {
          beta = std::max(beta, std::abs(scratch[a] - means[static_cast<std::size_t>(label) * dim + a]));
        }
        shifts.add(beta);
      }
    });
  });
  shifts.sum_over(ranks);
  return shifts;
}

nlohmann::json figures_of_rows(const FirstPass& pass, std::size_t dim, double clip_norm) {
  const double n = static_cast<double>(std::max<std::uint64_t>(pass.rows, 1));
  return {{"notice", "PRIVATE: exact figures of the data, for its owner alone, never for release"},
          {"rows", pass.rows},
          {"features", dim},
          {"rows_not_finite", pass.not_finite},
          {"rows_zero", pass.zero},
          {"norms", pass.norms.to_json()},
          {"clip_norm", clip_norm},
          {"share_longer_than_clip", static_cast<double>(pass.longer_than_clip) / n}};
}

void add_figures_of_labels(nlohmann::json& json, const FirstPass& pass, const std::vector<std::string>& class_names,
                           bool has_label_sets) {
  if (!class_names.empty()) json["class_names"] = class_names;
  json["class_rows"] = pass.class_rows;
  if (const std::string doubt = doubt_of(pass.class_rows); !doubt.empty()) json["doubt"] = doubt;
  if (!has_label_sets) return;
  std::vector<std::uint64_t> rows_by_labels = pass.rows_by_labels;
  while (rows_by_labels.back() == 0 && rows_by_labels.size() > 1) rows_by_labels.pop_back();
  json["rows_by_number_of_labels"] = rows_by_labels;
  json["most_labels"] = rows_by_labels.size() - 1;
}

// Collective.
nlohmann::json figures_over_ranks(const std::vector<ColumnFigures>& columns, Communicator& ranks) {
  nlohmann::json told;
  for (const ColumnFigures& column : columns) told.push_back(column.over(ranks));
  return told;
}

// Collective.
nlohmann::json figures_of_columns(const FirstPass& pass, const ShardedArray& features, Communicator& ranks) {
  nlohmann::json told = figures_over_ranks(pass.columns, ranks);
  const std::vector<std::string>& names = features.column_names();
  for (std::size_t a = 0; a < told.size(); ++a) {
    told[a]["name"] = names.empty() ? fmt::format("column {}", a) : names[a];
  }
  return told;
}

// For readers: three digits, "max 0.223, median 0.0176" for an object.
std::string readable(const nlohmann::json& value) {
  if (value.is_null()) return "none";
  if (value.is_number_float()) return fmt::format("{:.3g}", value.get<double>());
  if (!value.is_structured()) return json_text(value);
  std::vector<std::string> parts;
  for (const auto& [name, part] : value.items()) {
    parts.push_back(value.is_object() ? name + " " + readable(part) : readable(part));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string inspection_text(const nlohmann::json& json) {
  Facts facts;
  for (const auto& [name, value] : json.items()) {
    if (name == "notice" || name == "columns") continue;
    facts.push_back({name, readable(value)});
  }
  for (const nlohmann::json& column : json.value("columns", nlohmann::json::array())) {
    nlohmann::json figures = column;
    figures.erase("name");
    facts.push_back({column["name"].get<std::string>(), readable(figures)});
  }
  return json["notice"].get<std::string>() + "\n" + text_of(facts);
}

void run(const InspectOptions& options, Communicator& ranks) {
  VisitedRows visited = opened(options, ranks);
  const std::size_t dim = visited.rows.dim();
  const RowTransform transform(Preprocessing{dim, 1, options.normalize, options.clip_norm, {}});
  const FirstPass pass = first_pass(options, transform, visited, ranks);
  nlohmann::json json = figures_of_rows(pass, dim, options.clip_norm);
  if (!pass.columns.empty()) json["columns"] = figures_of_columns(pass, visited.rows.features(), ranks);
  if (visited.classes > 0) {
    const std::vector<double> means = pass.class_means(dim);
    const LogHistogram shifts = feature_shifts(means, transform, visited, ranks);
    add_figures_of_labels(json, pass, options.rows.class_names, visited.has_sets);
    json["feature_shift_beta"] = shifts.to_json();
    json["class_mean_cosines"] = cosine_summary(means, dim, pass.class_rows);
  }
  if (options.rows.has_targets) json["targets"] = figures_over_ranks(pass.targets, ranks);
  if (ranks.is_coordinator()) print_result(options.format, json, [&] { return inspection_text(json); });
}

void declare(OptionTable& table, InspectOptions& options) {
  table.files("--train-x,--x", options.rows.x, "features").required();
  table.files("--train-y,--y", options.rows.y, "labels");
  declare_targets(table, options.rows, "--targets", "--train-y",
                  "or numbers: their range, mean and standard deviation are printed");
  declare_classes(table, options.classes, options.rows.class_names, "K; required with labels");
  table.needs("--train-y", "--classes or --class-names",
              "the number of classes is public, and never taken from the data");
  table.choice("--normalize", options.normalize, "as in fit, before the diagnostics");
  table.number("--clip", options.clip_norm, "C: the share of longer rows is printed").positive();
}

}  // namespace

CommandEntry inspect_command() {
  return command_reading<InspectOptions>(
      "inspect", "check a data set (private: for its owner, never for release)", declare,
      [](const auto& options, auto&) { return by_all_ranks(run, validated(options)); },
      "  dpreduce inspect --x x.npy --y y.npy --classes 10 --clip 1\n"
      "  dpreduce inspect --x x.npy --targets y.npy\n"
      "  mpirun -n 4 dpreduce inspect --x 'x_*.npy' --y 'y_*.npy' --classes 100 --normalize l2 --format json");
}

}  // namespace dpreduce
