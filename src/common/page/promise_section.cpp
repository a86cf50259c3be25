// What was promised, and to whom: the words of `privacy explain`.
#include <fmt/format.h>

#include "common/page/html.hpp"
#include "common/page/promise_headings.hpp"
#include "common/page/sections.hpp"

namespace dpreduce {
namespace {

std::string list_of(const nlohmann::json& sentences) {
  std::string items;
  for (const nlohmann::json& sentence : sentences) items += "<li>" + escaped(sentence.get<std::string>()) + "</li>\n";
  return "<ul>\n" + items + "</ul>\n";
}

std::string fact(const std::string& term, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", term, value);
}

std::string facts_of(const nlohmann::json& promise) {
  std::string facts;
  for (const char* term : {"epsilon", "delta", "mu"}) {
    if (promise[term].is_number()) facts += fact(term, at_most(promise[term]));
  }
  if (promise["adjacency"].is_string()) facts += fact("neighbors", escaped(promise["adjacency"].get<std::string>()));
  if (const auto unit = promise.find("unit"); unit != promise.end() && unit->is_string()) {
    facts += fact("unit", *unit == "person" ? "a person, with any number of rows" : "a row");
  }
  return facts.empty() ? "" : "<dl class=\"facts\">\n" + facts + "</dl>\n";
}

}  // namespace

void add_promise(std::vector<Section>& sections, const PageDocument& document) {
  const nlohmann::json& promise = document.promise;
  std::string body;
  if (!promise["private"].get<bool>()) body += "<p class=\"alarm\">This run is not private.</p>\n";
  if (promise["warning"].is_string()) {
    body += "<p class=\"alarm\">" + escaped(promise["warning"].get<std::string>()) + "</p>\n";
  }
  body += facts_of(promise) + "<dl class=\"words\">\n";
  for (const auto& [key, heading] : promise_headings(is_of_persons(promise))) {
    if (!promise["words"].contains(key)) continue;
    body += fmt::format("<dt>{}</dt>\n<dd>{}</dd>\n", heading, list_of(promise["words"][key]));
  }
  sections.push_back({"What is promised, and to whom", body + "</dl>\n"});
}

}  // namespace dpreduce
