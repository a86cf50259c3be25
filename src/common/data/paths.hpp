// From what a user typed to files: globs, {rank}, and file.h5:/dataset.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dpreduce {

/// A file, and the dataset in it (empty for .npy).
struct ArrayPath {
  std::string file;
  std::string dataset;
};

/// Splits at the first ":/" that has a name on both sides; without one the dataset is empty.
ArrayPath split_array_path(const std::string& path);

/// True where every pattern holds "{rank}": each worker then owns files of its own. False where none does: all workers
/// share one list. Throws UsageError where some do and some do not.
bool paths_are_per_worker(const std::vector<std::string>& patterns);

/// Returns the files that `patterns` name, in the order of the patterns, those of one glob sorted by bytes; each
/// "{rank}" is replaced by `worker`. A name that exists is taken as it is, even where it holds "*", "?" or "[".
/// In file.h5:/dataset only the file part is a glob.
/// Throws BadInput naming the pattern where it matches nothing, or names something that is missing, a directory or
/// empty, or a file (or dataset) that was named before: a record may count only once.
std::vector<std::string> expand_paths(const std::vector<std::string>& patterns, std::size_t worker);

}  // namespace dpreduce
