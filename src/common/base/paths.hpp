// Paths given by users: globs, {rank}, and arrays in files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dpreduce {

/// A file, and the array in it: of HDF5 the dataset, which begins with "/"; of .npz and .safetensors its name; of .csv
/// names of columns; or empty.
struct ArrayPath {
  std::string file;
  std::string dataset;
};

/// Splits at the first ":/" that has a name on both sides, or the first ":" behind .h5, .hdf5, .h5ad, .npz, .pt, .pth,
/// .csv or .safetensors: f.h5:features is f.h5:/features, and f.npz:/x is f.npz:x. Without one the dataset is empty.
ArrayPath split_array_path(const std::string& path);

/// Returns true if every pattern contains "{rank}": each worker then has its own files. Returns false if none does: all
/// workers share one list. Throws UsageError if only some do.
bool paths_are_per_worker(const std::vector<std::string>& patterns);
/// Throws UsageError if features have "{rank}" and what lies beside them, `what`, has not, or the other way round.
/// Throws also as paths_are_per_worker.
void require_same_workers(const std::vector<std::string>& features, const std::vector<std::string>& beside,
                          std::string_view what);

/// Returns the files that `patterns` name, in the order of the patterns, those of one glob sorted by bytes; each
/// "{rank}" is replaced by `worker`. A name that exists is taken as it is, even where it holds "*", "?" or "[".
/// In file.h5:/dataset only the file part is a glob.
/// Throws BadInput naming the pattern where it matches nothing, or names something that is missing, a directory or
/// empty, or a file (or dataset) that was named before: a record may count only once.
std::vector<std::string> expand_paths(const std::vector<std::string>& patterns, std::size_t worker);

/// The numbers that replace "{rank}" in a job: first .. last.
struct WorkerNumbers {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// A file that `pattern` names for a number which no worker of the job has, so that nobody would read it: where
/// "{rank}" is in the name of a folder, as in silo{rank}/x.npy. Of plain files (x{rank}.npy), which may stand beside
/// others of such names, only that numbered 0 in a job that counts from 1. Nothing where all are read, or the pattern
/// has no "{rank}". Where there are several, that of the smallest number.
std::optional<std::string> file_of_no_worker(const std::string& pattern, const WorkerNumbers& workers);

}  // namespace dpreduce
