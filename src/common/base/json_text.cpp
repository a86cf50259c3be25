#include "common/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace dpreduce {
namespace {

using nlohmann::json;

constexpr auto kReplace = json::error_handler_t::replace;

}  // namespace

json parse_json(std::string_view text) {
  return json::parse(text, nullptr, false);
}

std::optional<json> parse_json_up_to(int deepest, std::string_view text) {
  bool is_too_deep = false;
  const auto note_depth = [&](int depth, json::parse_event_t, json&) {
    is_too_deep = is_too_deep || depth > deepest;
    return !is_too_deep;
  };
  json value = json::parse(text, note_depth, false);
  if (is_too_deep) return std::nullopt;
  return value;
}

json or_null(const std::optional<double>& figure) {
  return figure ? json(*figure) : json(nullptr);
}

std::string json_text(const json& value, int indent) {
  return value.dump(indent);
}

std::string json_text(const nlohmann::ordered_json& value) {
  return value.dump();
}

std::string readable_json_text(const json& value, int indent) {
  return value.dump(indent, ' ', false, kReplace);
}

std::string ascii_json_text(const json& value) {
  return value.dump(-1, ' ', true, kReplace);
}

}  // namespace dpreduce
