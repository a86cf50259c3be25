// Standard output of a command: its format, and the guarantee that all of it reaches its reader, or the command fails.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/described_types.hpp"

namespace dpreduce {

// Format in which a command prints its result.

enum class OutputFormat { kText, kJson };
template <>
inline constexpr auto spellings<OutputFormat> = spelled<OutputFormat>("text", "json");

// All that a command prints reaches its reader, or the command fails.
//
// stdio keeps text until its buffer is full; a print that fails then goes unnoticed, or throws in the middle of a run.
// Here no print fails: text that cannot be written is dropped, the first reason is kept, and the end of the program
// asks for it.

/// Exit code where whoever read standard output has gone: 128 + SIGPIPE, as of a program that the signal ends.
inline constexpr int kClosedPipe = 141;

/// Makes `stdout` write through to the descriptor of standard output from here on, so that no print fails. Descriptors
/// 0 to 2 that the process was started without are taken by /dev/null, so that no file that is opened later gets what
/// is printed. Call it first in main, once.
void keep_errors_of_standard_output();

/// Flushes and closes standard output. Returns `code`, or where that is 0 and text was not written: kBadInput, with one
/// message on standard error; without a message kClosedPipe, where its reader has gone.
int closed_standard_output(int code);

// Text for terminals, which break lines anywhere.

/// Returns the number of characters in a line of the terminal behind a descriptor; nullopt where there is none.
std::optional<std::size_t> columns_of_terminal(int descriptor);

/// The same of standard output; no bound where it is a file or a pipe, so that programs read whole lines.
std::size_t printed_columns();

/// Returns a line broken at spaces into lines of at most `columns` characters, all but the first after `indent` spaces.
/// A longer word has a line of its own. Precondition: indent < columns.
std::string broken_line(std::string_view line, std::size_t columns, std::size_t indent);

/// Returns a text whose lines are broken so; what is in a column, after two spaces, stays in it.
std::string broken_lines(std::string_view text, std::size_t columns);

}  // namespace dpreduce
