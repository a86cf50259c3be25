// What of docs/ is made from the tables that the program itself reads. It stands in a page between two lines:
//
//     <!-- reference_pages: begin -->
//     <!-- reference_pages: end -->
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dpreduce {

struct Page {
  std::filesystem::path path;  ///< below docs
  std::string text;            ///< between the two lines
};

/// Every option of every command with its default: from the table that the command line is read by.
Page options_page();

/// The methods, what each takes and what it refuses: from their registry.
Page methods_page();

std::vector<Page> all_pages();

/// `text` as a cell of a Markdown table. A vertical bar is an entity: behind a backslash not every reader takes it.
std::string table_cell(const std::string& text);

/// The same in the type of code, where a span between backticks would show entities as they are written.
std::string table_code(const std::string& text);

}  // namespace dpreduce
