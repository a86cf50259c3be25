// An output is no input.
#pragma once

#include <span>
#include <string>

#include "common/data/worker_rows.hpp"

namespace dpreduce {

/// A path that an option names.
struct NamedPath {
  std::string option;
  std::string path;  ///< empty: not given
};

/// Throws UsageError where one of `outputs` is a file that `rows` are read from, under whatever name: by device and
/// inode, links followed.
void require_not_read(std::span<const NamedPath> outputs, const WorkerRows& rows);

/// The same of one file.
void require_not_read(std::span<const NamedPath> outputs, const std::string& input);

}  // namespace dpreduce
