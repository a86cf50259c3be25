#include "common/model/classifier_file.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/utf8.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_weights.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/model/safetensors.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "dpreduce-classifier";
constexpr std::uint64_t kFormatVersion = 3;
constexpr std::uint64_t kFormatVersionWithoutCenterFactor = 2;
constexpr std::uint64_t kFormatVersionWithoutProjection = 1;  // a file without either is the same in all
constexpr const char* kIsOfDpreduce = "; was this file written by dpreduce?";
constexpr std::size_t kLargestInputDim = std::size_t{1} << 24;  // as Classifier's

json to_json(const std::optional<PrivacyStatement>& privacy, const Forfeits& forfeits) {
  if (!privacy && forfeits.empty()) return {{"private", false}};
  if (!privacy) return {{"private", false}, {"forfeited_by", forfeits_json<json>(forfeits)}};
  const auto number = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  json statement{{"private", true},           {"epsilon", number(privacy->epsilon)}, {"delta", number(privacy->delta)},
                 {"mu", number(privacy->mu)}, {"rho", number(privacy->rho)},         {"adjacency", privacy->adjacency}};
  // A model for rows says nothing of it: so models have the bytes that they had before there were persons.
  if (!privacy->person) return statement;
  const PersonStatement& person = *privacy->person;
  statement["unit"] = to_string(PrivacyUnit::kPerson);
  statement["rows_per_person"] = person.rows;
  if (person.bound != UnitBound::kWeight) statement["person_bound"] = to_string(person.bound);
  if (person.silos) statement["silos_per_person"] = *person.silos;
  return statement;
}

// The oldest that reads such rows.
std::uint64_t format_version_of(const Preprocessing& rows) {
  if (rows.center_factor != 1.0) return kFormatVersion;
  return rows.projection.empty() ? kFormatVersionWithoutProjection : kFormatVersionWithoutCenterFactor;
}

// Takes a parsed file apart; every complaint names the file.
class ClassifierReader {
 public:
  ClassifierReader(SafetensorsFile file, std::string_view source)
      : file_(std::move(file)), source_(source), texts_(file_.metadata), metadata_(texts_, source_, kIsOfDpreduce) {}

  ClassifierParts read() {
    require_format();
    ClassifierParts parts;
    parts.method = text("method");
    read_privacy(parts);
    parts.classes = number<std::size_t>("classes");
    parts.preprocessing.input_dim = number<std::size_t>("input_dim");
    parts.preprocessing.pool = number<std::size_t>("pool");
    parts.preprocessing.normalize = metadata_.choice<Normalize>("normalize");
    parts.preprocessing.clip_norm = number<double>("clip_norm");
    if (metadata_.has("center_factor")) parts.preprocessing.center_factor = number<double>("center_factor");
    if (metadata_.has("threshold")) parts.threshold = number<double>("threshold");
    if (metadata_.has("class_names")) parts.class_names = names("class_names");
    if (metadata_.has("feature_names")) parts.feature_names = names("feature_names");
    if (metadata_.has("link")) parts.link = metadata_.choice<Link>("link");

    const Tensor weights = take("weights");
    if (weights.shape.size() != 2) fail("weights must have two dimensions");
    const std::uint64_t dim = weights.shape[1];
    const std::vector<std::uint64_t> per_class = {parts.classes};
    const std::vector<std::uint64_t> per_entry = {parts.classes, dim};
    parts.weights = doubles("weights", weights, per_entry);
    parts.bias = doubles("bias", take("bias"), per_class);
    read_row_constants(parts.preprocessing);
    if (file_.tensors.contains("prototypes")) {
      parts.cosine_head = doubles("prototypes", take("prototypes"), per_entry);
    }
    if (!file_.tensors.empty()) fail(fmt::format("unknown tensor {}", in_quotes(file_.tensors.begin()->first)));
    return parts;
  }

 private:
  void read_row_constants(Preprocessing& preprocessing) {
    const std::size_t input_dim = preprocessing.input_dim;
    if (input_dim > kLargestInputDim) fail(fmt::format("input_dim is {}, above {}", input_dim, kLargestInputDim));
    if (preprocessing.pool == 0 || preprocessing.pool > input_dim) {
      fail(fmt::format("pool is {}, not from 1 to input_dim", preprocessing.pool));
    }
    const std::uint64_t pooled_dim = preprocessing.pooled_dim();
    if (file_.tensors.contains("center")) preprocessing.center = doubles("center", take("center"), {pooled_dim});
    if (file_.tensors.contains("projection")) {
      preprocessing.projection = projection(take("projection"), pooled_dim);
    }
    if (!file_.tensors.contains("selected")) return;
    const Tensor selected = take("selected");
    if (selected.type != TensorType::kI64) fail(fmt::format("selected is {}, not I64", to_string(selected.type)));
    for (const std::int64_t index : to_integers(selected)) {
      if (index < 0) fail(fmt::format("selected feature {}: no index", index));
      preprocessing.selected.push_back(static_cast<std::size_t>(index));
    }
  }

  std::vector<double> projection(const Tensor& matrix, std::uint64_t pooled_dim) {
    if (matrix.shape.size() != 2) fail("projection must have two dimensions");
    const std::vector<std::uint64_t> shape = {matrix.shape[0], pooled_dim};
    if (matrix.type != TensorType::kI16) fail(fmt::format("projection is {}, not I16", to_string(matrix.type)));
    require_shape("projection", matrix, shape);
    const std::vector<double> largest = doubles("projection_largest", take("projection_largest"), {shape[0]});
    const std::vector<std::int16_t> values = to_shorts(matrix);
    if (largest.empty()) fail("projection has no row");
    if (std::any_of(values.begin(), values.end(), [](std::int16_t value) { return value < -kLatticeNorm; })) {
      fail(fmt::format("projection has an entry below -{}", kLatticeNorm));
    }
    return weights_of(values, largest);
  }

  [[noreturn]] void fail(std::string_view reason) const { metadata_.refuse(std::string(reason)); }

  std::string text(const std::string& key) const { return metadata_.with(key).text(key); }

  template <typename Number>
  Number number(const std::string& key) const {
    const std::string& digits = text(key);
    Number value{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size()) {
      fail(fmt::format("{} is {}, which is no number in range", key, in_quotes(digits)));
    }
    return value;
  }

  void require_format() const {
    if (text("format") != kFormat) {
      fail(fmt::format("its format is {}, not {}", in_quotes(text("format")), kFormat));
    }
    const auto found = number<std::uint64_t>("format_version");
    if (found > kFormatVersion) {
      throw BadInput(fmt::format("{}: a newer dpreduce wrote this (format version {}, known is {}); update dpreduce",
                                 source_, found, kFormatVersion));
    }
    if (found < kFormatVersionWithoutProjection) fail(fmt::format("format version {} is unknown", found));
  }

  void read_privacy(ClassifierParts& parts) const {
    const json statement = parse_json(text("privacy"));
    const JsonFields fields(statement, source_, kIsOfDpreduce, "privacy.");
    if (fields.has("forfeited_by")) {
      std::optional<Forfeits> forfeits = forfeits_in(statement.at("forfeited_by"));
      if (!forfeits) fields.refuse("forfeited_by", "must be a list of reasons that this version knows");
      parts.forfeits = std::move(*forfeits);
    }
    if (!fields.with("private").flag("private")) return;
    const auto figure = [&](const char* key) -> std::optional<double> {
      const json& value = fields.number(key);
      return value.is_null() ? std::nullopt : std::optional(value.get<double>());
    };
    parts.privacy = PrivacyStatement{
        figure("epsilon"), figure("delta"), figure("mu"), figure("rho"), fields.with("adjacency").text("adjacency"),
        person(fields)};
  }

  // Empty where the unit is a row.
  static std::optional<PersonStatement> person(const JsonFields& privacy) {
    if (!privacy.has("unit") || privacy.choice<PrivacyUnit>("unit") == PrivacyUnit::kRecord) {
      for (const char* key : {"rows_per_person", "person_bound", "silos_per_person"}) {
        if (privacy.has(key)) privacy.refuse(key, "goes with the unit person, and the unit is a row");
      }
      return std::nullopt;
    }
    PersonStatement statement{.rows = privacy.count("rows_per_person")};
    if (privacy.has("person_bound")) statement.bound = privacy.choice<UnitBound>("person_bound");
    if (privacy.has("silos_per_person")) statement.silos = privacy.count("silos_per_person");
    return statement;
  }

  std::vector<std::string> names(const std::string& key) const {
    const json list = parse_json(text(key));
    const auto is_name = [](const json& name) { return name.is_string(); };
    if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_name)) {
      fail(fmt::format("{} is no JSON list of names", key));
    }
    return list.get<std::vector<std::string>>();
  }

  Tensor take(const std::string& name) {
    const auto node = file_.tensors.extract(name);
    if (node.empty()) fail(fmt::format("no tensor {}", name));
    return std::move(node.mapped());
  }

  std::vector<double> doubles(std::string_view name, const Tensor& tensor,
                              const std::vector<std::uint64_t>& shape) const {
    if (tensor.type != TensorType::kF64) fail(fmt::format("{} is {}, not F64", name, to_string(tensor.type)));
    require_shape(name, tensor, shape);
    return to_doubles(tensor);
  }

  void require_shape(std::string_view name, const Tensor& tensor, const std::vector<std::uint64_t>& shape) const {
    if (tensor.shape == shape) return;
    fail(fmt::format("{} has the shape [{}] instead of [{}]", name, fmt::join(tensor.shape, ", "),
                     fmt::join(shape, ", ")));
  }

  SafetensorsFile file_;
  std::string source_;
  json texts_;  // the metadata
  JsonFields metadata_;
};

Classifier classifier_from_file(SafetensorsFile file, std::string_view source) {
  ClassifierParts parts = ClassifierReader(std::move(file), source).read();
  try {
    return Classifier(std::move(parts));
  } catch (const UsageError& error) {
    throw BadInput(fmt::format("{}: {}{}", source, error.what(), kIsOfDpreduce));
  }
}

}  // namespace

std::map<std::string, std::string> metadata_of(const Classifier& classifier) {
  const ClassifierParts& parts = classifier.parts();
  const Preprocessing& preprocessing = parts.preprocessing;
  std::map<std::string, std::string> metadata{{"format", std::string(kFormat)},
                                              {"format_version", fmt::format("{}", format_version_of(preprocessing))},
                                              {"version", version()},
                                              {"method", parts.method},
                                              {"classes", fmt::format("{}", parts.classes)},
                                              {"input_dim", fmt::format("{}", preprocessing.input_dim)},
                                              {"pool", fmt::format("{}", preprocessing.pool)},
                                              {"normalize", std::string(to_string(preprocessing.normalize))},
                                              {"clip_norm", fmt::format("{}", preprocessing.clip_norm)},
                                              {"privacy", json_text(to_json(parts.privacy, parts.forfeits))}};
  if (preprocessing.center_factor != 1.0) metadata["center_factor"] = fmt::format("{}", preprocessing.center_factor);
  if (parts.threshold) metadata["threshold"] = fmt::format("{}", *parts.threshold);
  if (!parts.class_names.empty()) metadata["class_names"] = json_text(json(parts.class_names));
  if (!parts.feature_names.empty()) metadata["feature_names"] = json_text(json(parts.feature_names));
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
  const std::uint64_t pooled_dim = preprocessing.pooled_dim();
  if (!preprocessing.center.empty()) file.tensors.emplace("center", make_tensor(preprocessing.center, {pooled_dim}));
  if (!preprocessing.projection.empty()) {
    const LatticeWeights projection(preprocessing.projection, Lattice{preprocessing.clip_norm, pooled_dim});
    const std::uint64_t kept = preprocessing.projected_dim();
    file.tensors.emplace("projection", make_short_tensor({projection.values(), kept * pooled_dim}, {kept, pooled_dim}));
    file.tensors.emplace("projection_largest", make_tensor(projection.largest(), {kept}));
  }
  if (!preprocessing.selected.empty()) {
    const std::vector<std::int64_t> indices(preprocessing.selected.begin(), preprocessing.selected.end());
    file.tensors.emplace("selected", make_integer_tensor(indices, {indices.size()}));
  }
  if (!parts.cosine_head.empty()) file.tensors.emplace("prototypes", make_tensor(parts.cosine_head, {classes, dim}));
  return serialize(file);
}

Classifier classifier_from_bytes(std::span<const std::byte> bytes, std::string_view source) {
  return classifier_from_file(parse_safetensors(bytes, source), source);
}

Classifier load_classifier(const std::filesystem::path& path) {
  return classifier_from_file(read_safetensors(path), path.string());
}

}  // namespace dpreduce
