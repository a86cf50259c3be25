#include "common/model/released_file.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/privacy_terms.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/lattice/lattice_rows.hpp"
#include "common/lattice/row_transform.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;

}  // namespace

void members_of(PrivacyStatement& privacy, JsonMembers& members) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  members.nullable("epsilon", privacy.epsilon, 0.0, kLargest);
  members.nullable("delta", privacy.delta, 0.0, 1.0 - std::numeric_limits<double>::epsilon());
  members.nullable("mu", privacy.mu, 0.0, kLargest);
  members.nullable("rho", privacy.rho, 0.0, kLargest);
  members.choice("adjacency", privacy.adjacency);
  PrivacyUnit unit = privacy.person ? PrivacyUnit::kPerson : PrivacyUnit::kRecord;
  if (members.has("unit", unit == PrivacyUnit::kPerson)) members.choice("unit", unit);
  if (unit == PrivacyUnit::kRecord) {
    for (const char* name : {"rows_per_person", "silos_per_person"}) {
      if (members.has(name, false)) members.refuse_on_reading(name, "needs the unit person, but the unit is a row");
    }
    return;
  }
  PersonStatement person = privacy.person.value_or(PersonStatement{});
  members.count("rows_per_person", person.rows);
  if (members.has("silos_per_person", person.silos.has_value())) {
    members.count("silos_per_person", person.silos.emplace(person.silos.value_or(1)));
  }
  privacy.person = person;
}

json statement_json(const std::optional<PrivacyStatement>& privacy, const Forfeits& forfeits) {
  if (!privacy && forfeits.empty()) return {{"private", false}};
  if (!privacy) return {{"private", false}, {"forfeited_by", forfeits_json<json>(forfeits)}};
  json statement = json_of(*privacy);
  statement["private"] = true;
  return statement;
}

std::map<std::string, std::string> released_metadata(const ClassifierParts& parts, std::string_view format,
                                                     std::uint64_t format_version) {
  const Preprocessing& preprocessing = parts.preprocessing;
  std::map<std::string, std::string> metadata{
      {"format", std::string(format)},
      {"format_version", fmt::format("{}", format_version)},
      {"version", version()},
      {"method", parts.method},
      {preprocessing.targets.count > 0 ? "targets" : "classes", fmt::format("{}", parts.classes)},
      {"input_dim", fmt::format("{}", preprocessing.input_dim)},
      {"pool", fmt::format("{}", preprocessing.pool)},
      {"normalize", std::string(to_string(preprocessing.normalize))},
      {"clip_norm", fmt::format("{}", preprocessing.clip_norm)},
      {"privacy", json_text(statement_json(parts.privacy, parts.forfeits))}};
  if (preprocessing.center_factor != 1.0) metadata["center_factor"] = fmt::format("{}", preprocessing.center_factor);
  if (parts.threshold) metadata["threshold"] = fmt::format("{}", *parts.threshold);
  if (!parts.class_names.empty()) metadata["class_names"] = json_text(json(parts.class_names));
  if (!parts.feature_names.empty()) metadata["feature_names"] = json_text(json(parts.feature_names));
  return metadata;
}

void add_row_constants(SafetensorsFile& file, const Preprocessing& preprocessing) {
  const std::uint64_t pooled_dim = preprocessing.pooled_dim();
  const auto add = [&](const char* name, const std::vector<double>& constants) {
    if (!constants.empty()) file.tensors.emplace(name, make_tensor(constants, {constants.size()}));
  };
  add("center", preprocessing.center);
  add("feature_center", preprocessing.columns.center);
  add("feature_scale", preprocessing.columns.scale);
  add("target_center", preprocessing.targets.center);
  add("target_scale", preprocessing.targets.scale);
  if (!preprocessing.projection.empty()) {
    const LatticeWeights projection(preprocessing.projection, Lattice{preprocessing.clip_norm, pooled_dim});
    const std::uint64_t kept = preprocessing.projected_dim();
    file.tensors.emplace("projection", make_tensor(projection.values(), {kept, pooled_dim}));
    file.tensors.emplace("projection_largest", make_tensor(projection.largest(), {kept}));
  }
  if (!preprocessing.selected.empty()) {
    const std::vector<std::int64_t> indices(preprocessing.selected.begin(), preprocessing.selected.end());
    file.tensors.emplace("selected", make_tensor(indices, {indices.size()}));
  }
}

ReleasedFileReader::ReleasedFileReader(SafetensorsFile file, std::string_view source)
    : file_(std::move(file)), source_(source), texts_(file_.metadata), metadata_(texts_, source_, kIsOfDpreduce) {}

void ReleasedFileReader::require_format(std::string_view format, std::uint64_t latest) const {
  if (text("format") != format) {
    fail(fmt::format("its format is {}, not {}", in_quotes(text("format")), format));
  }
  const auto found = number<std::uint64_t>("format_version");
  if (found > latest) {
    throw BadInput("{}: a newer dpreduce wrote this (format version {}; this one reads up to {}); update dpreduce",
                   source_, found, latest);
  }
  if (found < 1) fail(fmt::format("format version {} is unknown", found));
}

ClassifierParts ReleasedFileReader::read_parts() {
  ClassifierParts parts;
  parts.method = text("method");
  read_privacy(parts);
  if (has("targets")) parts.preprocessing.targets.count = number<std::size_t>("targets");
  parts.classes = has("targets") ? parts.preprocessing.targets.count : number<std::size_t>("classes");
  parts.preprocessing.input_dim = number<std::size_t>("input_dim");
  parts.preprocessing.pool = number<std::size_t>("pool");
  parts.preprocessing.normalize = metadata_.choice<Normalize>("normalize");
  parts.preprocessing.clip_norm = number<double>("clip_norm");
  if (has("center_factor")) parts.preprocessing.center_factor = number<double>("center_factor");
  if (has("threshold")) parts.threshold = number<double>("threshold");
  if (has("class_names")) parts.class_names = names("class_names");
  if (has("feature_names")) parts.feature_names = names("feature_names");
  read_row_constants(parts.preprocessing);
  return parts;
}

void ReleasedFileReader::require_all_taken() const {
  if (!file_.tensors.empty()) fail(fmt::format("unknown tensor {}", in_quotes(file_.tensors.begin()->first)));
}

void ReleasedFileReader::read_row_constants(Preprocessing& preprocessing) {
  const std::size_t input_dim = preprocessing.input_dim;
  if (input_dim > kMaxExtent) fail(fmt::format("input_dim is {}, above {}", input_dim, kMaxExtent));
  if (preprocessing.pool == 0 || preprocessing.pool > input_dim) {
    fail(fmt::format("pool is {}, not from 1 to input_dim", preprocessing.pool));
  }
  const std::uint64_t pooled_dim = preprocessing.pooled_dim();
  if (has_tensor("center")) preprocessing.center = take<double>("center", {pooled_dim});
  if (has_tensor("feature_center")) {
    preprocessing.columns.center = take<double>("feature_center", {input_dim});
    preprocessing.columns.scale = take<double>("feature_scale", {input_dim});
  }
  if (TargetColumns& targets = preprocessing.targets; targets.count > 0) {
    targets.center = take<double>("target_center", {targets.count});
    targets.scale = take<double>("target_scale", {targets.count});
  }
  if (has_tensor("projection")) preprocessing.projection = projection(pooled_dim);
  if (!has_tensor("selected")) return;
  for (const std::int64_t index : take<std::int64_t>("selected", tensor("selected").shape)) {
    if (index < 0) fail(fmt::format("selected feature {}: no index", index));
    preprocessing.selected.push_back(static_cast<std::size_t>(index));
  }
}

std::vector<double> ReleasedFileReader::projection(std::uint64_t pooled_dim) {
  const std::vector<std::uint64_t> shape = tensor("projection").shape;
  if (shape.size() != 2) fail("projection must have two dimensions");
  const auto values = take<std::int16_t>("projection", {shape[0], pooled_dim});
  const auto largest = take<double>("projection_largest", {shape[0]});
  if (largest.empty()) fail("projection has no row");
  if (std::any_of(values.begin(), values.end(), [](std::int16_t value) { return value < -kLatticeNorm; })) {
    fail(fmt::format("projection has an entry below -{}", kLatticeNorm));
  }
  return weights_of(values, largest);
}

void ReleasedFileReader::read_privacy(ClassifierParts& parts) const {
  const json statement = parse_json(text("privacy"));
  const JsonFields fields(statement, source_, kIsOfDpreduce, "privacy.");
  parts.forfeits = fields.choices<Forfeit>("forfeited_by");
  if (!fields.with("private").flag("private")) return;
  parts.privacy = read_members<PrivacyStatement>(fields);
}

std::vector<std::string> ReleasedFileReader::names(const std::string& key) const {
  const json list = parse_json(text(key));
  const auto is_name = [](const json& name) { return name.is_string(); };
  if (!list.is_array() || list.empty() || !std::all_of(list.begin(), list.end(), is_name)) {
    fail(fmt::format("{} is not a JSON list of names", key));
  }
  return list.get<std::vector<std::string>>();
}

const Tensor& ReleasedFileReader::tensor(const std::string& name) const {
  const auto found = file_.tensors.find(name);
  if (found == file_.tensors.end()) fail(fmt::format("no tensor {}", name));
  return found->second;
}

Tensor ReleasedFileReader::taken(const std::string& name, DType type, const std::vector<std::uint64_t>& shape) {
  const Tensor& found = tensor(name);
  if (found.type != type)
    fail(fmt::format("{} is {}, not {}", name, number_type(found.type).tensor, number_type(type).tensor));
  if (found.shape != shape) {
    fail(fmt::format("{} has the shape [{}] instead of [{}]", name, fmt::join(found.shape, ", "),
                     fmt::join(shape, ", ")));
  }
  return std::move(file_.tensors.extract(name).mapped());
}

}  // namespace dpreduce
