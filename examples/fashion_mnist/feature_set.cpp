#include "feature_set.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/data/npy_writer.hpp"

namespace dpreduce::fashion_mnist {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kManifest = "manifest.json";
// Counts changes of the encoder that change its rows.
constexpr int kEncoderVersion = 1;

Json describe(const SetParameters& parameters) {
  return {{"encoder", "wavelet scattering, J = 2, L = 8, orders 0 to 2"},
          {"encoder_version", kEncoderVersion},
          {"dataset", parameters.dataset},
          {"standardize", name(parameters.rows.standardize)},
          {"grid", parameters.rows.grid},
          {"dtype", to_string(parameters.dtype)},
          {"shards", parameters.shards}};
}

bool is_shard(const std::string& file) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return file.size() == 14 && (file.starts_with("train_x_") || file.starts_with("train_y_")) && digit(file[8]) &&
         digit(file[9]) && file.ends_with(".npy");
}

}  // namespace

FeatureSet::FeatureSet(fs::path folder, SetParameters parameters)
    : folder_(std::move(folder)), parameters_(std::move(parameters)) {
  DPREDUCE_ASSERT(parameters_.shards >= 1 && parameters_.shards <= 99);
  DPREDUCE_ASSERT(parameters_.dtype == DType::kFloat16 || parameters_.dtype == DType::kFloat32);
}

bool FeatureSet::is_complete() const {
  std::ifstream file(folder_ / kManifest);
  if (!file) return false;
  const Json manifest = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || manifest.value("parameters", Json()) != describe(parameters_)) return false;
  const Json files = manifest.value("bytes", Json());
  if (!files.is_object() || files.empty()) return false;
  return std::all_of(files.items().begin(), files.items().end(), [&](const auto& entry) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(folder_ / entry.key(), error);
    return !error && entry.value() == bytes;
  });
}

void FeatureSet::begin() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::remove(folder_ / kManifest, error);
  if (!error) {
    for (const auto& entry : fs::directory_iterator(folder_, error)) {
      if (is_shard(entry.path().filename().string())) fs::remove(entry.path(), error);
      if (error) break;
    }
  }
  if (error) {
    throw BadInput(
        fmt::format("{}: cannot be written ({}); name another output folder", folder_.string(), error.message()));
  }
  bytes_.clear();
  manifest_.emplace((folder_ / kManifest).string());
}

void FeatureSet::write(std::string_view part, std::string_view suffix, std::span<const float> rows,
                       std::span<const std::uint8_t> labels) {
  DPREDUCE_ASSERT(manifest_.has_value());
  DPREDUCE_ASSERT(rows.size() == labels.size() * parameters_.rows.dimension());
  const auto save = [&](std::string_view kind, DType dtype, const Shape& shape, const auto& elements) {
    const std::string file = fmt::format("{}_{}{}.npy", part, kind, suffix);
    NpyWriter writer((folder_ / file).string(), dtype, shape);
    writer.append(elements);
    writer.commit();
    bytes_[file] = fs::file_size(folder_ / file);
  };
  save("x", parameters_.dtype, {labels.size(), parameters_.rows.dimension()}, rows);
  const std::vector<std::int64_t> wide(labels.begin(), labels.end());
  save("y", DType::kInt64, {labels.size()}, std::span<const std::int64_t>(wide));
}

void FeatureSet::finish() {
  DPREDUCE_ASSERT(manifest_.has_value());
  manifest_->write(Json{{"parameters", describe(parameters_)}, {"bytes", bytes_}}.dump(2) + "\n");
  manifest_->commit();
  manifest_.reset();
}

}  // namespace dpreduce::fashion_mnist
