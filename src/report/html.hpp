// Sections as HTML. All text from documents is escaped here; no other file puts document text into the page.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "report/sections.hpp"

namespace dpreduce {

/// Returns `text` escaped for an element, or for an attribute between double quotes: & < > " ' as character references;
/// control characters other than tab and line feed, and bytes that are not UTF-8, as U+FFFD.
std::string escaped(std::string_view text);

/// Returns `text` escaped, with "1e-06" in it as a power of ten with a raised exponent: for words, not for names.
std::string html_of_words(std::string_view text);

/// Returns JSON for <script type="application/json">: ASCII, without < > &. These three can occur only within texts and
/// are written there as \u escapes, so that no text can end the element.
std::string embedded(const nlohmann::json& json);

/// Name from a document: escaped, and isolated in the direction of its own script.
std::string html_of_name(std::string_view text);

/// Returns a number in rounded form, with the document's exact value in <data>; "–" for null; a text as a name.
std::string html_of(const Cell& cell);

/// Returns a table in its own region that scrolls sideways, by keyboard too, so that the page does not; empty if the
/// table has no rows.
std::string html_of(const Table& table);

std::string html_of(const Chart& chart);
/// Returns a section; empty if all its blocks are empty.
std::string html_of(const Section& section, const std::string& id);

}  // namespace dpreduce
