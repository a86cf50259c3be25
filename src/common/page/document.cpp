#include "common/page/document.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

constexpr int kDeepest = 32;

const nlohmann::json kNone;
const nlohmann::json kNoMembers = nlohmann::json::object();

bool has_all(const nlohmann::json& object, std::initializer_list<const char*> names) {
  return object.is_object() &&
         std::all_of(names.begin(), names.end(), [&](const char* name) { return object.contains(name); });
}

}  // namespace

nlohmann::json parsed_document(std::string_view text, const std::string& path) {
  std::optional<nlohmann::json> json = parse_json_up_to(kDeepest, text);
  if (!json) throw BadInput(fmt::format("{}: values stand more than {} deep in one another", path, kDeepest));
  if (json->is_discarded()) throw BadInput(path + ": not a JSON file");
  return std::move(*json);
}

DocumentKind kind_of(std::string_view text, const std::string& path) {
  const std::string_view first_line = text.substr(0, text.find('\n'));
  if (const auto line = parse_json(first_line);
      has_all(line, {"schema", "kind"}) || has_all(line, {"schema", "release"})) {
    return DocumentKind::kLedger;
  }
  const nlohmann::json whole = parsed_document(text, path);
  if (has_all(whole, {"privacy", "method"})) return DocumentKind::kFit;
  if (has_all(whole, {"runs", "methods", "epsilons"})) return DocumentKind::kSweep;
  throw BadInput(path + ": give reports of fit, JSON files of sweep, or ledgers; this is none of them");
}

DocumentFields::DocumentFields(const nlohmann::json& object, std::string document, std::string place)
    : object_(object), document_(std::move(document)), place_(std::move(place)) {
  if (!object.is_object()) throw BadInput(fmt::format("{}: '{}' must be an object", document_, place_));
}

void DocumentFields::refuse(const std::string& name, const std::string& reason) const {
  throw BadInput(fmt::format("{}: '{}{}' {}", document_, place_, name, reason));
}

const nlohmann::json& DocumentFields::member(const std::string& name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? kNone : *found;
}

bool DocumentFields::has(const std::string& name) const {
  return !member(name).is_null();
}

const nlohmann::json& DocumentFields::number(const std::string& name) const {
  const nlohmann::json& value = member(name);
  if (!value.is_null() && !value.is_number()) refuse(name, "must be a number");
  return value;
}

std::string DocumentFields::text(const std::string& name) const {
  const nlohmann::json& value = member(name);
  if (value.is_null()) return {};
  if (!value.is_string()) refuse(name, "must be a text");
  return value.get<std::string>();
}

bool DocumentFields::flag(const std::string& name) const {
  const nlohmann::json& value = member(name);
  if (value.is_null()) return false;
  if (!value.is_boolean()) refuse(name, "must be true or false");
  return value.get<bool>();
}

DocumentFields DocumentFields::object(const std::string& name) const {
  const nlohmann::json& value = member(name);
  if (!value.is_null() && !value.is_object()) refuse(name, "must be an object");
  return {value.is_null() ? kNoMembers : value, document_, place_ + name + "."};
}

const nlohmann::json& DocumentFields::list(const std::string& name) const {
  const nlohmann::json& value = member(name);
  if (!value.is_null() && !value.is_array()) refuse(name, "must be a list");
  return value;
}

std::vector<DocumentFields> DocumentFields::objects(const std::string& name) const {
  std::vector<DocumentFields> objects;
  for (const nlohmann::json& entry : list(name)) {
    objects.emplace_back(entry, document_, fmt::format("{}{}[{}].", place_, name, objects.size()));
  }
  return objects;
}

std::vector<nlohmann::json> DocumentFields::numbers(const std::string& name) const {
  std::vector<nlohmann::json> numbers;
  for (const nlohmann::json& entry : list(name)) {
    if (!entry.is_number() && !entry.is_null()) refuse(name, "must hold numbers");
    numbers.push_back(entry);
  }
  return numbers;
}

std::vector<std::string> DocumentFields::texts(const std::string& name) const {
  std::vector<std::string> texts;
  for (const nlohmann::json& entry : list(name)) {
    if (!entry.is_string()) refuse(name, "must hold texts");
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

}  // namespace dpreduce
