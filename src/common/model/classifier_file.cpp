#include "common/model/classifier_file.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_weights.hpp"
#include "common/lattice/row_transform.hpp"
#include "common/model/safetensors.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "dpreduce-classifier";
constexpr std::uint64_t kFormatVersion = 2;
constexpr std::uint64_t kFormatVersionWithoutProjection = 1;    // a file without a projection is the same in both
constexpr std::size_t kLargestInputDim = std::size_t{1} << 24;  // as Classifier's

json to_json(const std::optional<PrivacyStatement>& privacy, const Forfeits& forfeits) {
  if (!privacy && forfeits.empty()) return {{"private", false}};
  if (!privacy) return {{"private", false}, {"forfeited_by", forfeits_json<json>(forfeits)}};
  const auto number = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  json statement{{"private", true},           {"epsilon", number(privacy->epsilon)}, {"delta", number(privacy->delta)},
                 {"mu", number(privacy->mu)}, {"rho", number(privacy->rho)},         {"adjacency", privacy->adjacency}};
  // Of a row nothing is said: so models have the bytes that they had before there were persons.
  if (!privacy->person) return statement;
  const PersonStatement& person = *privacy->person;
  statement["unit"] = to_string(PrivacyUnit::kPerson);
  statement["rows_per_person"] = person.rows;
  if (person.bound != UnitBound::kWeight) statement["person_bound"] = to_string(person.bound);
  if (person.silos) statement["silos_per_person"] = *person.silos;
  return statement;
}

// Takes a parsed file apart; every complaint names the file.
class ClassifierReader {
 public:
  ClassifierReader(SafetensorsFile file, std::string_view source) : file_(std::move(file)), source_(source) {}

  ClassifierParts read() {
    check_format();
    ClassifierParts parts;
    parts.method = text("method");
    read_privacy(parts);
    parts.classes = number<std::size_t>("classes");
    parts.preprocessing.input_dim = number<std::size_t>("input_dim");
    parts.preprocessing.pool = number<std::size_t>("pool");
    parts.preprocessing.normalize = normalize();
    parts.preprocessing.clip_norm = number<double>("clip_norm");
    if (file_.metadata.contains("threshold")) parts.threshold = number<double>("threshold");
    if (file_.metadata.contains("class_names")) parts.class_names = class_names();
    if (file_.metadata.contains("link")) parts.link = link();

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
    if (!file_.tensors.empty()) fail(fmt::format("unknown tensor {}", printable_name(file_.tensors.begin()->first)));
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
    check_shape("projection", matrix, shape);
    const std::vector<double> largest = doubles("projection_largest", take("projection_largest"), {shape[0]});
    const std::vector<std::int16_t> values = to_shorts(matrix);
    if (largest.empty()) fail("projection has no row");
    if (std::any_of(values.begin(), values.end(), [](std::int16_t value) { return value < -kLatticeNorm; })) {
      fail(fmt::format("projection has an entry below -{}", kLatticeNorm));
    }
    return weights_of(values, largest);
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw BadInput(fmt::format("{}: {}; was this file written by dpreduce?", source_, reason));
  }

  const std::string& text(const std::string& key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end()) fail(fmt::format("no {} in its metadata", key));
    return found->second;
  }

  template <typename Number>
  Number number(const std::string& key) const {
    const std::string& digits = text(key);
    Number value{};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size()) {
      fail(fmt::format("{} is {}, which is no number in range", key, printable_name(digits)));
    }
    return value;
  }

  void check_format() const {
    if (text("format") != kFormat) {
      fail(fmt::format("its format is {}, not {}", printable_name(text("format")), kFormat));
    }
    const auto found = number<std::uint64_t>("format_version");
    if (found > kFormatVersion) {
      throw BadInput(fmt::format("{}: a newer dpreduce wrote this (format version {}, known is {}); update dpreduce",
                                 source_, found, kFormatVersion));
    }
    if (found < kFormatVersionWithoutProjection) fail(fmt::format("format version {} is unknown", found));
  }

  Normalize normalize() const {
    if (const auto known = choice_of<Normalize>(text("normalize"))) return *known;
    fail(fmt::format("normalize is {}, neither l2 nor none", printable_name(text("normalize"))));
  }

  void read_privacy(ClassifierParts& parts) const {
    const json statement = parse_json(text("privacy"));
    const auto is_private = statement.is_object() ? statement.find("private") : statement.end();
    if (is_private == statement.end() || !is_private->is_boolean()) {
      fail("privacy is no JSON object that says private: true or false");
    }
    const auto forfeited = statement.find("forfeited_by");
    if (forfeited != statement.end()) {
      std::optional<Forfeits> forfeits = forfeits_in(*forfeited);
      if (!forfeits) fail("privacy: forfeited_by is no list of reasons that this version knows");
      parts.forfeits = std::move(*forfeits);
    }
    if (!is_private->get<bool>()) return;
    const auto figure = [&](const char* key) -> std::optional<double> {
      const auto found = statement.find(key);
      if (found == statement.end() || found->is_null()) return std::nullopt;
      if (!found->is_number()) fail(fmt::format("privacy: {} is no number", key));
      return found->get<double>();
    };
    const auto adjacency = statement.find("adjacency");
    if (adjacency == statement.end() || !adjacency->is_string()) fail("privacy: adjacency is missing");
    parts.privacy =
        PrivacyStatement{figure("epsilon"), figure("delta"), figure("mu"), figure("rho"), adjacency->get<std::string>(),
                         person(statement)};
  }

  // Empty where the unit is a row.
  std::optional<PersonStatement> person(const json& privacy) const {
    const auto word = [&](const char* key, std::string_view without) -> std::string {
      const auto found = privacy.find(key);
      if (found == privacy.end()) return std::string(without);
      if (!found->is_string()) fail(fmt::format("privacy: {} is no text", key));
      return found->get<std::string>();
    };
    const auto count = [&](const char* key) {
      const auto found = privacy.find(key);
      if (found == privacy.end() || !found->is_number_unsigned()) fail(fmt::format("privacy: {} is no number", key));
      return found->get<std::uint64_t>();
    };
    const auto unit = choice_of<PrivacyUnit>(word("unit", to_string(PrivacyUnit::kRecord)));
    if (!unit) fail("privacy: unit is neither record nor person");
    if (*unit == PrivacyUnit::kRecord) {
      for (const char* key : {"rows_per_person", "person_bound", "silos_per_person"}) {
        if (privacy.contains(key))
          fail(fmt::format("privacy: {} goes with the unit person, and the unit is a row", key));
      }
      return std::nullopt;
    }
    const auto bound = choice_of<UnitBound>(word("person_bound", to_string(UnitBound::kWeight)));
    if (!bound) fail("privacy: person_bound is neither weight nor clip");
    PersonStatement statement{.rows = count("rows_per_person"), .bound = *bound};
    if (privacy.contains("silos_per_person")) statement.silos = count("silos_per_person");
    return statement;
  }

  Link link() const {
    if (const auto known = choice_of<Link>(text("link"))) return *known;
    fail(fmt::format("link is {}, neither softmax nor sigmoid", printable_name(text("link"))));
  }

  std::vector<std::string> class_names() const {
    const json list = parse_json(text("class_names"));
    const auto is_name = [](const json& name) { return name.is_string(); };
    if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_name)) {
      fail("class_names is no JSON list of names");
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
    check_shape(name, tensor, shape);
    return to_doubles(tensor);
  }

  void check_shape(std::string_view name, const Tensor& tensor, const std::vector<std::uint64_t>& shape) const {
    if (tensor.shape == shape) return;
    fail(fmt::format("{} has the shape [{}] instead of [{}]", name, fmt::join(tensor.shape, ", "),
                     fmt::join(shape, ", ")));
  }

  SafetensorsFile file_;
  std::string_view source_;
};

Classifier classifier_from_file(SafetensorsFile file, std::string_view source) {
  ClassifierParts parts = ClassifierReader(std::move(file), source).read();
  try {
    return Classifier(std::move(parts));
  } catch (const UsageError& error) {
    throw BadInput(fmt::format("{}: {}; was this file written by dpreduce?", source, error.what()));
  }
}

}  // namespace

std::map<std::string, std::string> metadata_of(const Classifier& classifier) {
  const ClassifierParts& parts = classifier.parts();
  const Preprocessing& preprocessing = parts.preprocessing;
  std::map<std::string, std::string> metadata{
      {"format", std::string(kFormat)},
      {"format_version",
       fmt::format("{}", preprocessing.projection.empty() ? kFormatVersionWithoutProjection : kFormatVersion)},
      {"version", version()},
      {"method", parts.method},
      {"classes", fmt::format("{}", parts.classes)},
      {"input_dim", fmt::format("{}", preprocessing.input_dim)},
      {"pool", fmt::format("{}", preprocessing.pool)},
      {"normalize", std::string(to_string(preprocessing.normalize))},
      {"clip_norm", fmt::format("{}", preprocessing.clip_norm)},
      {"privacy", json_text(to_json(parts.privacy, parts.forfeits))}};
  if (parts.threshold) metadata["threshold"] = fmt::format("{}", *parts.threshold);
  if (!parts.class_names.empty()) metadata["class_names"] = json_text(json(parts.class_names));
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
