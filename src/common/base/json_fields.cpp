#include "common/base/json_fields.hpp"

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kLongestText = 80;

const nlohmann::json kNone;
const nlohmann::json kNoMembers = nlohmann::json::object();

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, std::string document, std::string advice, std::string place)
    : object_(&object), document_(std::move(document)), advice_(std::move(advice)), place_(std::move(place)) {
  if (object.is_object()) return;
  refuse(place_.empty() ? "must be an object"
                        : fmt::format("'{}' must be an object", place_.substr(0, place_.size() - 1)));
}

void JsonFields::refuse(const std::string& name, const std::string& reason) const {
  refuse(fmt::format("'{}{}' {}", place_, name, reason));
}

void JsonFields::refuse(const std::string& reason) const {
  throw BadInput("{}: {}{}", document_, reason, advice_);
}

const nlohmann::json& JsonFields::member(const std::string& name) const {
  const auto found = object_->find(name);
  return found == object_->end() ? kNone : *found;
}

const nlohmann::json& JsonFields::typed(const std::string& name, Is is, const char* type) const {
  const nlohmann::json& value = member(name);
  if (!value.is_null() && !(value.*is)()) refuse(name, fmt::format("must be {}", type));
  return value;
}

std::optional<double> JsonFields::optional_number(const std::string& name) const {
  const nlohmann::json& value = number(name);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

std::string JsonFields::text(const std::string& name) const {
  const nlohmann::json& value = typed(name, &nlohmann::json::is_string, "a text");
  return value.is_null() ? std::string() : value.get<std::string>();
}

bool JsonFields::flag(const std::string& name) const {
  const nlohmann::json& value = typed(name, &nlohmann::json::is_boolean, "true or false");
  return !value.is_null() && value.get<bool>();
}

JsonFields JsonFields::object(const std::string& name) const {
  const nlohmann::json& value = member(name);
  return {value.is_null() ? kNoMembers : value, document_, advice_, place_ + name + "."};
}

std::vector<JsonFields> JsonFields::objects(const std::string& name) const {
  std::vector<JsonFields> objects;
  for (const nlohmann::json& entry : list(name)) {
    objects.emplace_back(entry, document_, advice_, fmt::format("{}{}[{}].", place_, name, objects.size()));
  }
  return objects;
}

std::vector<nlohmann::json> JsonFields::numbers(const std::string& name) const {
  std::vector<nlohmann::json> numbers;
  for (const nlohmann::json& entry : list(name)) {
    if (!entry.is_number() && !entry.is_null()) refuse(name, "must hold numbers");
    numbers.push_back(entry);
  }
  return numbers;
}

std::vector<std::string> JsonFields::texts(const std::string& name) const {
  std::vector<std::string> texts;
  for (const nlohmann::json& entry : list(name)) {
    if (!entry.is_string()) refuse(name, "must hold texts");
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

const JsonFields& JsonFields::with(const std::string& name) const {
  if (!object_->contains(name)) refuse(name, "is missing");
  return *this;
}

double JsonFields::number_within(const std::string& name, double low, double high) const {
  const nlohmann::json& value = with(name).member(name);
  if (!value.is_number()) refuse(name, "must be a number");
  const double figure = value.get<double>();
  if (!(figure >= low && figure <= high)) {
    refuse(name, fmt::format("is {}, and must be from {} to {}", figure, low, high));
  }
  return figure;
}

std::vector<std::uint64_t> JsonFields::counts(const std::string& name) const {
  std::vector<std::uint64_t> counts;
  for (const nlohmann::json& entry : with(name).list(name)) {
    if (!entry.is_number_unsigned()) refuse(name, "must hold whole numbers from 0 up");
    counts.push_back(entry.get<std::uint64_t>());
  }
  return counts;
}

std::uint64_t JsonFields::count(const std::string& name, std::uint64_t least) const {
  const nlohmann::json& value = with(name).member(name);
  const bool is_count = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (!is_count || value.get<std::uint64_t>() < least) {
    refuse(name, least == 0 ? "must be a whole number" : fmt::format("must be a whole number above {}", least - 1));
  }
  return value.get<std::uint64_t>();
}

std::string JsonFields::printable_text(const std::string& name) const {
  const nlohmann::json& value = with(name).member(name);
  if (!value.is_string()) refuse(name, "must be a text");
  const std::string escaped = ascii_json_text(nlohmann::json(value.get<std::string>().substr(0, kLongestText)));
  return escaped.substr(1, escaped.size() - 2);
}

void JsonMembers::text(const char* name, std::string& value) {
  if (read_ != nullptr) {
    value = read_->printable_text(name);
  } else {
    (*written_)[name] = value;
  }
}

void JsonMembers::count(const char* name, std::uint64_t& value, std::uint64_t least) {
  if (read_ != nullptr) {
    value = read_->count(name, least);
  } else {
    (*written_)[name] = value;
  }
}

void JsonMembers::number(const char* name, double& value, double low, double high) {
  if (read_ != nullptr) {
    value = read_->number_within(name, low, high);
  } else {
    (*written_)[name] = value;
  }
}

void JsonMembers::optional(const char* name, std::optional<double>& value, double low, double high) {
  if (has(name, value.has_value())) number(name, value.emplace(value.value_or(low)), low, high);
}

void JsonMembers::object(const char* name, const std::function<void(JsonMembers&)>& of_object) {
  if (read_ != nullptr) {
    const JsonFields object = read_->with(name).object(name);
    JsonMembers members(object);
    of_object(members);
  } else {
    JsonMembers members((*written_)[name] = nlohmann::json::object());
    of_object(members);
  }
}

void JsonMembers::nullable(const char* name, std::optional<double>& value, double low, double high) {
  if (read_ == nullptr) (*written_)[name] = nullptr;
  optional(name, value, low, high);
}

}  // namespace dpreduce
