// Members of a JSON object from elsewhere, each read with its type and range checked (JsonFields); and members of a
// type, named once for writing and reading (JsonMembers).
//
// A member that is null counts as absent. Every refusal is a BadInput that names the document, the member by its place
// in it, what the member must be, and what to give instead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/described_types.hpp"

namespace dpreduce {

class JsonFields {
 public:
  /// The members of `object`, which outlives this. `place` is the path of the object in the document: "test.". `advice`
  /// ends every message: "; give ...". Throws BadInput where the value is no object.
  JsonFields(const nlohmann::json& object, std::string document, std::string advice = "", std::string place = "");

  bool has(const std::string& name) const { return !member(name).is_null(); }
  const nlohmann::json& json() const { return *object_; }

  // Members that may be absent: then null, an empty text, false, an object without members, or an empty list.
  const nlohmann::json& number(const std::string& name) const {
    return typed(name, &nlohmann::json::is_number, "a number");
  }
  std::string text(const std::string& name) const;
  bool flag(const std::string& name) const;
  JsonFields object(const std::string& name) const;
  std::vector<JsonFields> objects(const std::string& name) const;
  std::optional<double> optional_number(const std::string& name) const;
  std::vector<nlohmann::json> numbers(const std::string& name) const;  ///< each a number or null
  std::vector<std::string> texts(const std::string& name) const;

  /// These fields, where they have a member of that name. Throws BadInput where it is missing.
  const JsonFields& with(const std::string& name) const;
  /// A number from low to high.
  double number_within(const std::string& name, double low, double high) const;
  /// A whole number, at least `least`.
  std::uint64_t count(const std::string& name, std::uint64_t least = 1) const;
  /// A list of whole numbers.
  std::vector<std::uint64_t> counts(const std::string& name) const;
  /// A text for the terminal: at most 80 bytes of it; quotes, control characters and all beyond ASCII are escaped.
  std::string printable_text(const std::string& name) const;
  /// A value of an enum by its spelling.
  template <typename E>
  E choice(const std::string& name) const {
    const std::string spelling = printable_text(name);
    const std::optional<E> chosen = choice_of<E>(spelling);
    if (!chosen) refuse(name, fmt::format("is \"{}\", which is unknown", spelling));
    return *chosen;
  }

  /// A list of values of an enum by their spellings, not empty; may be absent.
  template <typename E>
  std::vector<E> choices(const std::string& name) const {
    std::vector<E> chosen;
    for (const std::string& spelling : texts(name)) {
      const std::optional<E> known = choice_of<E>(spelling);
      if (!known) refuse(name, "has an entry that is unknown");
      chosen.push_back(*known);
    }
    if (chosen.empty() && has(name)) refuse(name, "must not be empty");
    return chosen;
  }

  [[noreturn]] void refuse(const std::string& name, const std::string& reason) const;
  /// Throws BadInput with a reason that is of no member alone.
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  using Is = bool (nlohmann::json::*)() const noexcept;
  const nlohmann::json& member(const std::string& name) const;
  // The member, which must be null or of that type.
  const nlohmann::json& typed(const std::string& name, Is is, const char* type) const;
  const nlohmann::json& list(const std::string& name) const { return typed(name, &nlohmann::json::is_array, "a list"); }

  const nlohmann::json* object_;
  std::string document_;
  std::string advice_;
  std::string place_;
};

/// Members of one JSON object for both directions: a type names its members in members_of(T& value, JsonMembers&), and
/// that list writes a value, or reads it as JsonFields does.
class JsonMembers {
 public:
  explicit JsonMembers(nlohmann::json& written) : written_(&written) {}
  explicit JsonMembers(const JsonFields& read) : read_(&read) {}

  /// Returns whether the object has a member that some objects lack: on writing, `is_written`.
  bool has(const char* name, bool is_written) const { return read_ != nullptr ? read_->has(name) : is_written; }
  /// On reading, throws BadInput as JsonFields::refuse.
  void refuse_on_reading(const char* name, const std::string& reason) const {
    if (read_ != nullptr) read_->refuse(name, reason);
  }

  void text(const char* name, std::string& value);
  void count(const char* name, std::uint64_t& value, std::uint64_t least = 1);
  void number(const char* name, double& value, double low, double high);
  /// Member that is left out where there is no value; null counts as none.
  void optional(const char* name, std::optional<double>& value, double low, double high);
  /// Member that is null where there is no value.
  void nullable(const char* name, std::optional<double>& value, double low, double high);
  template <typename E>
  void choice(const char* name, E& value) {
    if (read_ != nullptr) {
      value = read_->choice<E>(name);
    } else {
      (*written_)[name] = to_string(value);
    }
  }
  /// Member that follows from others, or that only people read.
  template <typename T>
  void written_only(const char* name, const T& value) {
    if (read_ == nullptr) (*written_)[name] = value;
  }
  /// Member that is an object itself, with the members that `of_object` names.
  void object(const char* name, const std::function<void(JsonMembers&)>& of_object);
  template <typename T>
  void list(const char* name, std::vector<T>& values);

 private:
  nlohmann::json* written_ = nullptr;
  const JsonFields* read_ = nullptr;
};

/// The value as a JSON object, by its members_of.
template <typename T>
nlohmann::json json_of(T value) {
  nlohmann::json object = nlohmann::json::object();
  JsonMembers members(object);
  members_of(value, members);
  return object;
}

/// The value that an object holds, by its members_of. Throws as JsonFields.
template <typename T>
T read_members(const JsonFields& object) {
  T value{};
  JsonMembers members(object);
  members_of(value, members);
  return value;
}

template <typename T>
void JsonMembers::list(const char* name, std::vector<T>& values) {
  if (read_ != nullptr) {
    values.clear();
    for (const JsonFields& entry : read_->objects(name)) values.push_back(read_members<T>(entry));
  } else {
    nlohmann::json& list = (*written_)[name] = nlohmann::json::array();
    for (const T& value : values) list.push_back(json_of(value));
  }
}

}  // namespace dpreduce
