// Sections as HTML. Whatever comes out of a document is escaped here, and nowhere else put into the page.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/sections.hpp"

namespace dpreduce {

/// Returns `text` in a form for an element, or for an attribute between double quotes: & < > " ' as character
/// references; control characters but for tab and line feed, and bytes that are no UTF-8, as U+FFFD.
std::string escaped(std::string_view text);

/// Returns `text` escaped, "1e-06" in it as a power of ten with a raised exponent: for words, not for names.
std::string html_of_words(std::string_view text);

/// Returns JSON in a form for <script type="application/json">: ASCII, and without < > &, which can only be within
/// texts and are written there as \u escapes. No text in it can end the element.
std::string embedded(const nlohmann::json& json);

/// A name out of a document: escaped, and by itself in the direction of its own script.
std::string html_of_name(std::string_view text);

/// Returns a number as people read it, and in <data> exactly as the document has it; "–" for null; a text as a name.
std::string html_of(const Cell& cell);

/// Returns a table in a region of its own that scrolls from side to side, by keyboard too, so that the page does not;
/// empty without rows.
std::string html_of(const Table& table);

std::string html_of(const Chart& chart);
/// Returns a section; empty where nothing is in its blocks.
std::string html_of(const Section& section, const std::string& id);

}  // namespace dpreduce
