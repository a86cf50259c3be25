// Markdown of what reports say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/reported_run.hpp"

namespace dpreduce {

/// Text that Markdown takes for nothing but text.
std::string as_text(std::string_view text);

/// Sentences, as text, one below the other.
std::string bullets(const std::vector<std::string>& sentences);

/// A row of a table, of cells that are Markdown, and its first two rows.
std::string table_row(const std::vector<std::string>& cells);
std::string table_head(const std::vector<std::string>& cells);

/// What was released with which noise. Rounds that are alike but for their number stand in one row.
std::string releases_table(const std::vector<ReportedBlock>& blocks);

/// Figures about test rows with noise, each with its interval, and what the intervals hold.
std::string told_table(const ToldFigures& told);

}  // namespace dpreduce
