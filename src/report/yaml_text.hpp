// YAML, as versions 1.1 and 1.2 both read it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dpreduce {

/// An object as a YAML document, members in their order: objects of objects, texts, numbers and lists of texts. Texts
/// of several lines are blocks as they stand, all others are quoted, so that no text is taken for a date or a truth
/// value. Line ends behind a text's last word are left out.
std::string yaml_text(const nlohmann::ordered_json& object);

}  // namespace dpreduce
