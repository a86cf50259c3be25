// Standard output of a command: its format, and the guarantee that all of it reaches its reader, or the command fails.
#pragma once

#include "common/base/described_types.hpp"

namespace dpreduce {

// Format in which a command prints its result.

enum class OutputFormat { kText, kJson };
template <>
inline constexpr std::array spellings<OutputFormat>{std::pair{std::string_view{"text"}, OutputFormat::kText},
                                                    std::pair{std::string_view{"json"}, OutputFormat::kJson}};

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

}  // namespace dpreduce
