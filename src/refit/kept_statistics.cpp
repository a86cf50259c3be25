#include "refit/kept_statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/data/safetensors.hpp"
#include "common/ledger/triangle.hpp"
#include "common/model/released_file.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "dpreduce-statistics";
constexpr std::uint64_t kFormatVersion = 1;

constexpr std::array<std::string_view, 4> kBlocks{"gram", "class_sums", "class_counts", "class_grams"};
// Room for what refits add to values: noise of 16 sigma, or as large a value.
constexpr std::int64_t kMostValue = std::int64_t{1} << 62;
constexpr double kMostSigma = 0x1p57;

bool are_within(std::span<const std::int64_t> values) {
  return std::ranges::all_of(values, [](std::int64_t value) { return value > -kMostValue && value < kMostValue; });
}

// Releases that are kept. What prepares rows has blocks of the same names, of other rows.
constexpr std::array<std::string_view, 6> kReleases{"gram",          "class_means",         "class_sizes",
                                                    "least_squares", "class_least_squares", "class_grams"};

std::vector<std::uint64_t> shape_of(std::string_view block, std::uint64_t classes, std::uint64_t dim) {
  if (block == "gram") return {triangle_elements(dim)};
  if (block == "class_sums") return {classes, dim};
  if (block == "class_counts") return {classes};
  return {classes, triangle_elements(dim)};
}

std::optional<double> largest(const std::optional<double>& one, const std::optional<double>& other) {
  return one && other ? std::optional(std::max(*one, *other)) : std::nullopt;
}

// Weaker of the promises of two statistics of disjoint data: a record is in one of them, so the weaker is that of both.
std::optional<PrivacyStatement> weaker(const std::optional<PrivacyStatement>& one,
                                       const std::optional<PrivacyStatement>& other) {
  if (!one || !other) return std::nullopt;
  if (one->adjacency != other->adjacency || one->person != other->person) {
    throw UsageError("statistics to add up: their guarantees differ in neighbors or persons");
  }
  PrivacyStatement both = *one;
  both.epsilon = largest(one->epsilon, other->epsilon);
  both.delta = largest(one->delta, other->delta);
  both.mu = largest(one->mu, other->mu);
  both.rho = largest(one->rho, other->rho);
  if (!both.epsilon && !both.mu && !both.rho) {
    throw UsageError("statistics to add up: their guarantees have different forms; release both with one accountant");
  }
  return both;
}

void require_same(bool is_same, std::string_view what) {
  if (is_same) return;
  throw UsageError(
      "statistics to add up: they differ in {}; release both with the same options, and with rows centered by public "
      "rows or not at all",
      what);
}

ReleasedBlock sum_of(const ReleasedBlock& one, const ReleasedBlock& other) {
  std::vector<std::int64_t> sums(one.values().size());
  std::ranges::transform(one.values(), other.values(), sums.begin(), std::plus());
  if (!are_within(sums)) throw UsageError("statistics to add up: a sum of {} passes 2^62", one.name());
  return {one.name(), std::move(sums), std::hypot(one.sigma(), other.sigma())};
}

// The blocks that the file has, each with its noise.
std::vector<ReleasedBlock> read_blocks(ReleasedFileReader& reader, const KeptStatistics& statistics) {
  std::vector<ReleasedBlock> blocks;
  const json sigma = parse_json(reader.text("sigma"));
  const std::uint64_t dim = statistics.lattice().dim;
  for (const std::string_view block : kBlocks) {
    const std::string name(block);
    if (!reader.has_tensor(name)) continue;
    auto values = reader.take<std::int64_t>(name, shape_of(block, statistics.of_rows.classes, dim));
    const bool has_sigma = sigma.is_object() && sigma.contains(name) && sigma[name].is_number();
    if (!has_sigma) reader.fail(fmt::format("sigma has no value for {}", name));
    const auto own = sigma[name].get<double>();
    if (!(own > 0.0 && own <= kMostSigma)) reader.fail(fmt::format("sigma of {} is {}, out of range", name, own));
    if (!are_within(values)) reader.fail(fmt::format("{} has a sum beyond 2^62", name));
    blocks.emplace_back(name, std::move(values), own);
  }
  if (blocks.empty()) reader.fail("it has no block");
  return blocks;
}

}  // namespace

bool KeptStatistics::has(std::string_view block) const {
  return std::ranges::find(blocks, block, &ReleasedBlock::name) != blocks.end();
}

const ReleasedBlock& KeptStatistics::block(std::string_view name) const {
  const auto found = std::ranges::find(blocks, name, &ReleasedBlock::name);
  if (found != blocks.end()) return *found;
  throw UsageError("--statistics: they have no {}; release it with `dpreduce release --statistics {}`", name,
                   name == "class_counts" ? "class_sizes" : name);
}

std::map<std::string, std::string> metadata_of(const KeptStatistics& statistics) {
  std::map<std::string, std::string> metadata = released_metadata(statistics.of_rows, kFormat, kFormatVersion);
  json sigma = json::object();
  for (const ReleasedBlock& block : statistics.blocks) sigma[block.name()] = block.sigma();
  metadata["scale"] = fmt::format("{}", statistics.lattice().scale());
  metadata["lattice_norm"] = fmt::format("{}", kLatticeNorm);
  metadata["intercept"] = fmt::format("{}", statistics.of_rows.preprocessing.intercept);
  if (const TargetColumns& targets = statistics.of_rows.preprocessing.targets; targets.count > 0) {
    metadata["target_share"] = fmt::format("{}", targets.share);
  }
  metadata["most_labels"] = fmt::format("{}", statistics.most_labels);
  metadata["settings"] = json_text(statistics.settings);
  metadata["sigma"] = json_text(sigma);
  return metadata;
}

std::vector<std::byte> to_bytes(const KeptStatistics& statistics) {
  SafetensorsFile file;
  file.metadata = metadata_of(statistics);
  add_row_constants(file, statistics.of_rows.preprocessing);
  for (const ReleasedBlock& block : statistics.blocks) {
    file.tensors.emplace(block.name(), make_tensor(block.values(), shape_of(block.name(), statistics.of_rows.classes,
                                                                            statistics.lattice().dim)));
  }
  return serialize(file);
}

KeptStatistics statistics_from_bytes(std::span<const std::byte> bytes, std::string_view source) {
  ReleasedFileReader reader(parse_safetensors(bytes, source), source);
  reader.require_format(kFormat, kFormatVersion);
  KeptStatistics statistics{.of_rows = reader.read_parts()};
  Preprocessing& rows = statistics.of_rows.preprocessing;
  rows.intercept = reader.number<double>("intercept");
  const bool has_targets = rows.targets.count > 0;
  if (has_targets) rows.targets.share = reader.number<double>("target_share");
  statistics.most_labels = reader.number<std::size_t>("most_labels");
  if (statistics.most_labels == 0) reader.fail("most_labels is 0");
  statistics.settings = parse_json(reader.text("settings"));
  if (!statistics.settings.is_object()) reader.fail("settings is no JSON object");
  const json alpha = statistics.settings.value("alpha", json(1.0));
  if (!alpha.is_number() || !(alpha.get<double>() >= 0.0)) reader.fail("settings.alpha is not a number from 0");
  try {
    RowTransform check(rows);
    require_terms(statistics.of_rows);
  } catch (const UsageError& error) {
    throw BadInput("{}: {}{}", source, error.what(), kIsOfDpreduce);
  }
  if (statistics.of_rows.classes < (has_targets ? 1U : 2U) || statistics.of_rows.classes > kMaxExtent)
    reader.fail("classes is out of range");
  if (reader.number<std::int64_t>("lattice_norm") != kLatticeNorm ||
      reader.number<double>("scale") != statistics.lattice().scale()) {
    reader.fail("its sums are on another lattice");
  }
  statistics.blocks = read_blocks(reader, statistics);
  const bool is_gram_alone = statistics.blocks.size() == 1 && statistics.has("gram");
  if (has_targets && !(is_gram_alone && rows.targets.share > 0.0 && rows.intercept > 0.0)) {
    reader.fail("for numeric targets there must be one Gram matrix, with an intercept and a share of targets");
  }
  reader.require_all_taken();
  return statistics;
}

KeptStatistics load_statistics(const std::filesystem::path& path) {
  return statistics_from_bytes(MappedFile(path.string()).bytes(), path.string());
}

KeptStatistics operator+(const KeptStatistics& one, const KeptStatistics& other) {
  require_same(one.of_rows.preprocessing == other.of_rows.preprocessing, "how rows were prepared");
  require_same(one.of_rows.classes == other.of_rows.classes && one.of_rows.class_names == other.of_rows.class_names,
               "their classes");
  const std::vector<std::string>& names = one.of_rows.feature_names;
  const std::vector<std::string>& others = other.of_rows.feature_names;
  require_same(names.empty() || others.empty() || names == others, "names of features");
  require_same(one.most_labels == other.most_labels, "how many classes a row may have");
  require_same(one.blocks.size() == other.blocks.size() &&
                   std::ranges::all_of(one.blocks, [&](const auto& block) { return other.has(block.name()); }),
               "the statistics that they hold");
  require_same(one.alpha() == other.alpha(), fmt::format("--alpha ({} and {})", one.alpha(), other.alpha()));
  // Noise never comes twice: an equal block is of one release.
  for (const ReleasedBlock& block : one.blocks) {
    if (std::ranges::equal(block.values(), other.block(block.name()).values())) {
      throw UsageError(
          "statistics to add up: both have the same {}, so they are the same release; add statistics of other records",
          block.name());
    }
  }
  KeptStatistics both = one;
  if (names.empty()) both.of_rows.feature_names = others;
  both.settings = json::object();
  for (const auto& [name, value] : one.settings.items()) {
    if (other.settings.value(name, json()) == value) both.settings[name] = value;
  }
  both.of_rows.privacy = weaker(one.of_rows.privacy, other.of_rows.privacy);
  add(both.of_rows.forfeits, other.of_rows.forfeits);
  both.blocks.clear();
  for (const ReleasedBlock& block : one.blocks) both.blocks.push_back(sum_of(block, other.block(block.name())));
  return both;
}

void StatisticsKeeper::add(const WatchedRelease& watched) {
  if (std::ranges::find(kReleases, watched.name) == kReleases.end()) return;
  preprocessing_ = watched.preprocessing;
  for (const ReleasedBlock& block : watched.release.blocks()) blocks_.insert_or_assign(block.name(), block);
}

KeptStatistics StatisticsKeeper::taken(const ResolvedFit& fit) const {
  DPREDUCE_ASSERT(!blocks_.empty());
  KeptStatistics kept{.of_rows = fit.parts(preprocessing_),
                      .most_labels = fit.options().data.most_labels(),
                      .settings = fit.method().settings()};
  for (const auto& [name, block] : blocks_) kept.blocks.push_back(block);
  return kept;
}

}  // namespace dpreduce
