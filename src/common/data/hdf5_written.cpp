#include "common/data/hdf5_written.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"
#include "common/data/array_file.hpp"

namespace dpreduce {
namespace {

// Text that a function of the library writes into memory of a size; without memory the function returns the length.
std::string text_of(const auto& get) {
  const ssize_t length = get(nullptr, 0);
  if (length <= 0) return "";
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  if (get(text.data(), text.size()) < 0) return "";
  text.resize(static_cast<std::size_t>(length));
  return text;
}

bool has_locks(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return true;
  return errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

std::string hdf5_reason() {
  std::string innermost = "unknown HDF5 error";
  const auto keep = [](unsigned depth, const H5E_error2_t* error, void* out) -> herr_t {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep, &innermost);
  return innermost;
}

// The library locks a file against those that write it. Where the file system has no locks, it is read without.
Hdf5Handle open_to_read(const std::string& path) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
  if (!has_locks(path)) H5Pset_file_locking(access.get(), 0, 1);
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (file.is_valid()) return file;
  const std::string reason = hdf5_reason();
  if (reason.find("unable to lock file") != std::string::npos ||
      reason.find("already open for write") != std::string::npos) {
    throw BadInput(
        "{}: is open for writing in another program; close it there, then run again (if a program crashed, "
        "h5clear -s clears its mark of an open file)",
        path);
  }
  throw BadInput("{}: cannot be opened as an HDF5 file: {}; check or write it again", path, reason);
}

std::vector<hsize_t> extents_of(hid_t space) {
  const int dimensions = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(dimensions, 0)));
  if (dimensions > 0 && H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0) extents.clear();
  return extents;
}

std::string file_name_of(hid_t object) {
  return text_of([&](char* text, std::size_t size) { return H5Fget_name(object, text, size); });
}

namespace {

namespace fs = std::filesystem;

constexpr int kMostNested = 16;  // virtual datasets of virtual datasets
constexpr auto kNoEnd = static_cast<hssize_t>(H5S_UNLIMITED);

// Why not all of the dataset was ever written; empty where it was.
std::string missing_of(hid_t dataset, int depth);

std::string missing_chunks(hid_t dataset, hid_t creation, hid_t space) {
  const std::vector<hsize_t> extents = extents_of(space);
  std::vector<hsize_t> most(extents.size());
  std::vector<hsize_t> chunk(extents.size());
  hsize_t written = 0;
  if (H5Sget_simple_extent_dims(space, nullptr, most.data()) < 0 ||
      H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) < 0 ||
      H5Dget_num_chunks(dataset, space, &written) < 0) {
    return "its chunks cannot be listed";
  }
  long double wanted = 1.0L;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    // The library goes astray in a file that damage makes so; it writes one only where a dataset was made empty.
    if (chunk[axis] == 0 || chunk[axis] > most[axis]) return "its chunks are larger than it may become";
    wanted *= static_cast<long double>(extents[axis] / chunk[axis] + (extents[axis] % chunk[axis] != 0 ? 1 : 0));
  }
  if (static_cast<long double>(written) >= wanted) return "";
  return fmt::format("{} of its {:.0f} chunks are there", written, wanted);
}

// A folder of the library's environment, in which ${ORIGIN} is that of the dataset's file.
std::string folder_of(std::string_view prefix, hid_t dataset) {
  constexpr std::string_view kOrigin = "${ORIGIN}";
  if (!prefix.starts_with(kOrigin)) return std::string(prefix);
  return fs::absolute(file_name_of(dataset)).parent_path().string().append(prefix.substr(kOrigin.size()));
}

// The raw file, found as the library finds it.
fs::path external_file(const std::string& name, hid_t dataset) {
  const char* const prefix = std::getenv("HDF5_EXTFILE_PREFIX");
  if (fs::path(name).is_absolute() || prefix == nullptr || *prefix == '\0') return name;
  return fs::path(folder_of(prefix, dataset)) / name;
}

std::string missing_external(hid_t dataset, hid_t creation, int files, std::uint64_t bytes) {
  constexpr std::size_t kLongestFileName = 4096;
  std::uint64_t held = 0;
  for (int file = 0; file < files && held < bytes; ++file) {
    std::string name(kLongestFileName, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(creation, static_cast<unsigned>(file), name.size() - 1, name.data(), &offset, &size) < 0) {
      return "a raw file of it cannot be listed";
    }
    name.resize(name.find('\0'));
    std::error_code error;
    const std::uint64_t there = fs::file_size(external_file(name, dataset), error);
    if (error) return fmt::format("the raw file {} is missing", name);
    const std::uint64_t wanted = size == H5F_UNLIMITED ? bytes - held : std::min<std::uint64_t>(size, bytes - held);
    if (there < static_cast<std::uint64_t>(offset) + wanted) {
      return fmt::format("the raw file {} is too short", name);
    }
    held += wanted;
  }
  return "";
}

// Places where the library looks for the source of a virtual dataset, in this order.
std::vector<fs::path> places_of_source(const std::string& name, hid_t dataset) {
  const fs::path main_file = fs::absolute(file_name_of(dataset));
  std::vector<fs::path> places;
  fs::path below = name;
  if (below.is_absolute()) {
    places.push_back(below);
    below = below.filename();
  }
  const char* const prefixes = std::getenv("HDF5_VDS_PREFIX");
  for (const std::string& prefix : parts_of(prefixes == nullptr ? "" : prefixes, ':')) {
    const std::string folder = folder_of(prefix, dataset);
    if (!folder.empty()) places.push_back(fs::path(folder) / below);
  }
  places.push_back(main_file.parent_path() / below);
  places.push_back(below);
  std::error_code error;
  const fs::path actual = fs::canonical(main_file, error);
  if (!error) places.push_back(actual.parent_path() / below);
  return places;
}

Hdf5Handle file_of_source(const std::string& name, hid_t dataset) {
  if (name == ".") return Hdf5Handle(H5Iget_file_id(dataset));
  std::error_code error;
  for (const fs::path& place : places_of_source(name, dataset)) {
    if (fs::is_regular_file(place, error)) return open_to_read(place);
  }
  return {};
}

// Returns whether a virtual dataset with unlimited mappings continues past a row that no source has. The dataset must
// not be open.
bool goes_on_past_missing(hid_t file, const std::string& dataset) {
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  if (H5Pset_virtual_view(access.get(), H5D_VDS_FIRST_MISSING) < 0) return true;
  const auto extents_with = [&](hid_t how) {
    const Hdf5Handle opened(H5Dopen2(file, dataset.c_str(), how));
    const Hdf5Handle creation(opened.is_valid() ? H5Dget_create_plist(opened.get()) : -1);
    if (!creation.is_valid() || H5Pget_layout(creation.get()) != H5D_VIRTUAL) return std::vector<hsize_t>();
    const Hdf5Handle space(H5Dget_space(opened.get()));
    return extents_of(space.get());
  };
  const std::vector<hsize_t> until_missing = extents_with(access.get());
  return !until_missing.empty() && until_missing != extents_with(H5P_DEFAULT);
}

// A source of a virtual dataset, or a pattern of them.
struct SourceName {
  std::string file;
  std::string object;

  bool is_pattern() const { return (file + object).find("%b") != std::string::npos; }
  std::string text() const { return file + ":" + object; }
  SourceName of_block(std::size_t block) const { return {filled(file, block), filled(object, block)}; }

 private:
  // %b is replaced by the number of the block, %% by a per cent sign.
  static std::string filled(std::string_view pattern, std::size_t block) {
    std::string text;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      const std::string_view two = pattern.substr(at, 2);
      if (two == "%b" || two == "%%") ++at;
      text += two == "%b" ? std::to_string(block) : std::string(1, two.front());
    }
    return text;
  }
};

// Why what is taken of a source, `wanted` elements, is not all there: empty where it is, none where there is no source.
std::optional<std::string> source_fault(hid_t dataset, const SourceName& name, hid_t taken, hssize_t wanted,
                                        int depth) {
  const Hdf5Handle file = file_of_source(name.file, dataset);
  if (!file.is_valid()) return std::nullopt;
  if (goes_on_past_missing(file.get(), name.object)) return fmt::format("a source of {} ends too early", name.text());
  const Hdf5Handle source(H5Dopen2(file.get(), name.object.c_str(), H5P_DEFAULT));
  if (!source.is_valid()) return std::nullopt;
  const Hdf5Handle space(H5Dget_space(source.get()));
  const std::vector<hsize_t> extents = extents_of(space.get());
  bool fits = H5Sget_select_type(taken) != H5S_SEL_ERROR;  // -1 elements are then no selection without an end
  if (H5Sget_select_type(taken) == H5S_SEL_ALL) {          // the whole source, whose extents are not in the mapping
    fits = wanted == kNoEnd || wanted == H5Sget_simple_extent_npoints(space.get());
  } else if (fits && H5Sget_select_npoints(taken) != kNoEnd) {
    std::vector<hsize_t> first(extents.size());
    std::vector<hsize_t> last(extents.size());
    fits = static_cast<std::size_t>(H5Sget_simple_extent_ndims(taken)) == extents.size() &&
           H5Sget_select_bounds(taken, first.data(), last.data()) >= 0;
    for (std::size_t axis = 0; fits && axis < extents.size(); ++axis) fits = last[axis] < extents[axis];
  }
  if (!fits) return fmt::format("the source {} of the virtual dataset has another size", name.text());
  const std::string missing = missing_of(source.get(), depth + 1);
  return missing.empty() ? "" : fmt::format("in the source {}: {}", name.text(), missing);
}

SourceName source_of(hid_t creation, std::size_t mapping) {
  const auto name = [&](auto get) {
    return text_of([&](char* text, std::size_t size) { return get(creation, mapping, text, size); });
  };
  return {name(H5Pget_virtual_filename), name(H5Pget_virtual_dsetname)};
}

// The same of all sources of a mapping. How far a pattern goes on is a matter of goes_on_past_missing.
std::string mapping_fault(hid_t dataset, hid_t creation, std::size_t mapping, hssize_t wanted, int depth) {
  const SourceName name = source_of(creation, mapping);
  const Hdf5Handle taken(H5Pget_virtual_srcspace(creation, mapping));
  for (std::size_t block = 0;; ++block) {
    const SourceName own = name.of_block(block);
    const std::optional<std::string> fault = source_fault(dataset, own, taken.get(), wanted, depth);
    if (name.is_pattern() && !fault) return "";
    if (!fault) return fmt::format("the source {} of the virtual dataset is missing", own.text());
    if (!fault->empty() || !name.is_pattern()) return *fault;
  }
}

// Takes what the mapping covers out of `left`.
bool take_out(hid_t left, hid_t covered) {
  if (H5Sget_select_type(covered) == H5S_SEL_ALL) return H5Sselect_none(left) >= 0;
  return H5Sget_select_npoints(left) == 0 || H5Smodify_select(left, H5S_SELECT_NOTB, covered) >= 0;
}

std::string missing_virtual(hid_t dataset, hid_t creation, hid_t left, int depth) {
  if (depth > kMostNested) return "its virtual datasets are nested without end";
  const std::vector<hsize_t> extents = extents_of(left);
  std::vector<hsize_t> first(extents.size(), 0);
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(creation, &mappings) < 0 ||
      H5Sselect_hyperslab(left, H5S_SELECT_SET, first.data(), nullptr, extents.data(), nullptr) < 0) {
    return "the sources of the virtual dataset cannot be listed";
  }
  bool has_end = true;
  for (std::size_t mapping = 0; mapping < mappings; ++mapping) {
    const Hdf5Handle covered(H5Pget_virtual_vspace(creation, mapping));
    const H5S_sel_type selection = H5Sget_select_type(covered.get());
    if (selection == H5S_SEL_ERROR) return "the sources of the virtual dataset cannot be listed";
    const bool is_all = selection == H5S_SEL_ALL;
    const hssize_t wanted = is_all ? H5Sget_simple_extent_npoints(left) : H5Sget_select_npoints(covered.get());
    if (std::string fault = mapping_fault(dataset, creation, mapping, wanted, depth); !fault.empty()) return fault;
    has_end = has_end && wanted != kNoEnd;
    if (wanted != kNoEnd && !take_out(left, covered.get())) return "a source of the virtual dataset cannot be read";
  }
  if (!has_end || H5Sget_select_npoints(left) == 0) return "";
  std::vector<hsize_t> last(extents.size());
  if (H5Sget_select_bounds(left, first.data(), last.data()) < 0)
    return "no source of the virtual dataset has some rows";
  return fmt::format("no source of the virtual dataset has rows {} to {}", first[0], last[0]);
}

std::string missing_of(hid_t dataset, int depth) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  const Hdf5Handle space(H5Dget_space(dataset));
  const Hdf5Handle type(H5Dget_type(dataset));
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  if (!creation.is_valid() || !type.is_valid() || elements < 0) return "it cannot be inspected";
  if (elements == 0) return "";
  switch (H5Pget_layout(creation.get())) {
    case H5D_COMPACT:
      return "";  // written with the header
    case H5D_CHUNKED:
      return missing_chunks(dataset, creation.get(), space.get());
    case H5D_VIRTUAL:
      return missing_virtual(dataset, creation.get(), space.get(), depth);
    case H5D_CONTIGUOUS:
      break;
    default:
      return "its storage layout is unknown";
  }
  if (const int files = H5Pget_external_count(creation.get()); files > 0) {
    return missing_external(dataset, creation.get(), files,
                            static_cast<std::uint64_t>(elements) * H5Tget_size(type.get()));
  }
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  if (H5Dget_space_status(dataset, &status) >= 0 && status == H5D_SPACE_STATUS_ALLOCATED) return "";
  return "the dataset was created, but nothing was written to it";
}

}  // namespace

void require_written(hid_t file, const std::string& dataset, const std::string& name) {
  const bool ends_early = goes_on_past_missing(file, dataset);
  const Hdf5Handle opened(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT));
  if (!opened.is_valid()) return;
  const Hdf5Handle space(H5Dget_space(opened.get()));
  if (extents_of(space.get()).empty()) return;
  const std::string missing =
      ends_early ? "a source of the virtual dataset ends too early, or is missing" : missing_of(opened.get(), 0);
  if (missing.empty()) return;
  throw BadInput(
      "{}: some rows were never written: {}; HDF5 would read a fill value instead: write the file again, "
      "or put missing files beside it{}",
      name, missing, kForOwnerOnly);
}

}  // namespace dpreduce
