#include "common/model/classifier_file.hpp"

#include <utility>

#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/data/safetensors.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/model/released_file.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kFormat = "dpreduce-classifier";
constexpr std::uint64_t kFormatVersion = 4;
constexpr std::uint64_t kFormatVersionWithoutRanges = 3;
constexpr std::uint64_t kFormatVersionWithoutCenterFactor = 2;
constexpr std::uint64_t kFormatVersionWithoutProjection = 1;  // a file without either is the same in all

// The oldest that reads such rows.
std::uint64_t format_version_of(const Preprocessing& rows) {
  if (rows.targets.count > 0 || !rows.columns.center.empty()) return kFormatVersion;
  if (rows.center_factor != 1.0) return kFormatVersionWithoutRanges;
  return rows.projection.empty() ? kFormatVersionWithoutProjection : kFormatVersionWithoutCenterFactor;
}

// Reads the weights after what all released files have.
ClassifierParts read_parts(SafetensorsFile file, std::string_view source) {
  ReleasedFileReader reader(std::move(file), source);
  reader.require_format(kFormat, kFormatVersion);
  ClassifierParts parts = reader.read_parts();
  if (reader.has("link")) parts.link = reader.choice<Link>("link");
  const std::vector<std::uint64_t> shape = reader.tensor("weights").shape;
  if (shape.size() != 2) reader.fail("weights must have two dimensions");
  const std::vector<std::uint64_t> per_entry = {parts.classes, shape[1]};
  parts.weights = reader.take<double>("weights", per_entry);
  parts.bias = reader.take<double>("bias", {parts.classes});
  if (reader.has_tensor("prototypes")) parts.cosine_head = reader.take<double>("prototypes", per_entry);
  reader.require_all_taken();
  return parts;
}

}  // namespace

std::map<std::string, std::string> metadata_of(const Classifier& classifier) {
  const ClassifierParts& parts = classifier.parts();
  std::map<std::string, std::string> metadata =
      released_metadata(parts, kFormat, format_version_of(parts.preprocessing));
  if (parts.link) metadata["link"] = std::string(to_string(*parts.link));
  return metadata;
}

std::vector<std::byte> to_bytes(const Classifier& classifier) {
  const ClassifierParts& parts = classifier.parts();
  const Preprocessing& preprocessing = parts.preprocessing;
  const std::uint64_t classes = parts.classes;
  const std::uint64_t dim = preprocessing.dim();

  SafetensorsFile file;
  file.metadata = metadata_of(classifier);
  file.tensors.emplace("weights", make_tensor(parts.weights, {classes, dim}));
  file.tensors.emplace("bias", make_tensor(parts.bias, {classes}));
  add_row_constants(file, preprocessing);
  if (!parts.cosine_head.empty()) file.tensors.emplace("prototypes", make_tensor(parts.cosine_head, {classes, dim}));
  return serialize(file);
}

Classifier classifier_from_bytes(std::span<const std::byte> bytes, std::string_view source) {
  ClassifierParts parts = read_parts(parse_safetensors(bytes, source), source);
  try {
    return Classifier(std::move(parts));
  } catch (const UsageError& error) {
    throw BadInput("{}: {}{}", source, error.what(), kIsOfDpreduce);
  }
}

Classifier load_classifier(const std::filesystem::path& path) {
  return classifier_from_bytes(MappedFile(path.string()).bytes(), path.string());
}

}  // namespace dpreduce
