// JSON from text and to text. Both are compiled once, here, since each use of the library's parser and serializer
// elsewhere costs seconds of every build.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// The value that a text holds; discarded (is_discarded()) if the text is not JSON.
nlohmann::json parse_json(std::string_view text);

/// The same; nullopt if values are nested more than `deepest` deep.
std::optional<nlohmann::json> parse_json_up_to(int deepest, std::string_view text);

/// A figure that may be absent, as JSON.
nlohmann::json or_null(const std::optional<double>& figure);

/// The value as text: on one line, or with so many spaces of indent a level. Throws nlohmann::json::type_error if a
/// string is not UTF-8.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value);  ///< on one line, keys in the order of their insertion

/// The same for people: bytes that are not UTF-8 become the replacement character.
std::string readable_json_text(const nlohmann::json& value, int indent = -1);

/// The same as readable_json_text, on one line of ASCII: all other characters are escaped.
std::string ascii_json_text(const nlohmann::json& value);

}  // namespace dpreduce
