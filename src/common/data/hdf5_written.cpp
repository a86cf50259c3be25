#include "common/data/hdf5_written.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/data/array_file.hpp"

namespace dpreduce {
namespace {

std::string text_of(ssize_t length, const auto& get) {
  if (length <= 0) return "";
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  if (get(text.data(), text.size()) < 0) return "";
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

std::vector<hsize_t> extents_of(hid_t space) {
  const int dimensions = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(dimensions, 0)));
  if (dimensions > 0 && H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0) extents.clear();
  return extents;
}

std::string file_name_of(hid_t object) {
  return text_of(H5Fget_name(object, nullptr, 0),
                 [&](char* text, std::size_t size) { return H5Fget_name(object, text, size); });
}

namespace {

namespace fs = std::filesystem;

constexpr int kMostNested = 16;  // virtual datasets of virtual datasets

// Rows first .. end - 1.
struct Rows {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// What is missing of a dataset, and why.
struct Missing {
  Rows rows;
  std::string reason;
};

std::optional<Missing> missing_of(hid_t dataset, const Rows& rows, int depth);

// Where what is selected of the space begins and ends, along each axis.
struct Bounds {
  std::vector<hsize_t> first;
  std::vector<hsize_t> last;
};
std::optional<Bounds> bounds_of(hid_t space) {
  const std::size_t dimensions = extents_of(space).size();
  Bounds bounds{std::vector<hsize_t>(dimensions), std::vector<hsize_t>(dimensions)};
  if (dimensions == 0 || H5Sget_select_bounds(space, bounds.first.data(), bounds.last.data()) < 0) return std::nullopt;
  return bounds;
}

std::optional<Missing> missing_chunk(hid_t dataset, const Rows& rows, hid_t creation, hid_t space) {
  const std::vector<hsize_t> extents = extents_of(space);
  std::vector<hsize_t> chunk(extents.size());
  hsize_t written = 0;
  if (H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) < 0 ||
      H5Dget_num_chunks(dataset, space, &written) < 0) {
    return Missing{rows, "its chunks cannot be listed"};
  }
  long double wanted = 1.0L;
  for (std::size_t axis = 0; axis < chunk.size(); ++axis) {
    wanted *= static_cast<long double>(extents[axis] / chunk[axis] + (extents[axis] % chunk[axis] != 0 ? 1 : 0));
  }
  if (static_cast<long double>(written) >= wanted) return std::nullopt;
  std::vector<hsize_t> place(chunk.size(), 0);
  place[0] = rows.first / chunk[0] * chunk[0];
  while (place[0] < rows.end) {
    unsigned filters = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info_by_coord(dataset, place.data(), &filters, &address, &bytes) < 0 || address == HADDR_UNDEF) {
      return Missing{{place[0], std::min<std::uint64_t>(place[0] + chunk[0], rows.end)}, "their chunk is not there"};
    }
    for (std::size_t axis = chunk.size(); axis-- > 0;) {
      place[axis] += chunk[axis];
      if (axis == 0 || place[axis] < extents[axis]) break;
      place[axis] = 0;
    }
  }
  return std::nullopt;
}

// The raw file, found as the library finds it.
fs::path external_file(const std::string& name, hid_t dataset) {
  const char* const prefix = std::getenv("HDF5_EXTFILE_PREFIX");
  if (fs::path(name).is_absolute() || prefix == nullptr || *prefix == '\0') return name;
  constexpr std::string_view kOrigin = "${ORIGIN}";
  std::string folder = prefix;
  if (folder.starts_with(kOrigin)) {
    folder = fs::absolute(file_name_of(dataset)).parent_path().string() + folder.substr(kOrigin.size());
  }
  return fs::path(folder) / name;
}

std::optional<Missing> missing_external(hid_t dataset, const Rows& rows, hid_t creation, int files,
                                        std::uint64_t bytes) {
  constexpr std::size_t kLongestFileName = 4096;
  std::uint64_t held = 0;
  for (int file = 0; file < files && held < bytes; ++file) {
    std::string name(kLongestFileName, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(creation, static_cast<unsigned>(file), name.size() - 1, name.data(), &offset, &size) < 0) {
      return Missing{rows, "a raw file of it cannot be listed"};
    }
    name.resize(name.find('\0'));
    std::error_code error;
    const std::uint64_t there = fs::file_size(external_file(name, dataset), error);
    if (error) return Missing{rows, fmt::format("the raw file {} is not there", name)};
    const std::uint64_t wanted = size == H5F_UNLIMITED ? bytes - held : std::min<std::uint64_t>(size, bytes - held);
    if (there < static_cast<std::uint64_t>(offset) + wanted) {
      return Missing{rows, fmt::format("the raw file {} is too short", name)};
    }
    held += wanted;
  }
  return std::nullopt;
}

// Where the library looks for the source of a virtual dataset, in this order.
std::vector<fs::path> places_of_source(const std::string& name, hid_t dataset) {
  const fs::path main_file = fs::absolute(file_name_of(dataset));
  std::vector<fs::path> places;
  fs::path below = name;
  if (below.is_absolute()) {
    places.push_back(below);
    below = below.filename();
  }
  if (const char* const prefixes = std::getenv("HDF5_VDS_PREFIX"); prefixes != nullptr) {
    const std::string_view all = prefixes;
    for (std::size_t first = 0; first < all.size();) {
      const std::size_t end = std::min(all.find(':', first), all.size());
      std::string folder(all.substr(first, end - first));
      constexpr std::string_view kOrigin = "${ORIGIN}";
      if (folder.starts_with(kOrigin)) folder = main_file.parent_path().string() + folder.substr(kOrigin.size());
      if (!folder.empty()) places.push_back(fs::path(folder) / below);
      first = end + 1;
    }
  }
  places.push_back(main_file.parent_path() / below);
  places.push_back(below);
  std::error_code error;
  const fs::path actual = fs::canonical(main_file, error);
  if (!error) places.push_back(actual.parent_path() / below);
  return places;
}

Hdf5Handle file_of_source(const std::string& name, hid_t dataset) {
  if (name == ".") return {H5Iget_file_id(dataset), H5Fclose};
  for (const fs::path& place : places_of_source(name, dataset)) {
    Hdf5Handle file(H5Fopen(place.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file.is_valid()) return file;
  }
  return {};
}

// Whether a virtual dataset with mappings without an end goes on past a row that no source has. It must not be open.
bool goes_on_past_missing(hid_t file, const std::string& dataset) {
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  if (H5Pset_virtual_view(access.get(), H5D_VDS_FIRST_MISSING) < 0) return true;
  const auto extents_with = [&](hid_t how) {
    const Hdf5Handle opened(H5Dopen2(file, dataset.c_str(), how), H5Dclose);
    const Hdf5Handle creation(opened.is_valid() ? H5Dget_create_plist(opened.get()) : -1, H5Pclose);
    if (!creation.is_valid() || H5Pget_layout(creation.get()) != H5D_VIRTUAL) return std::vector<hsize_t>();
    const Hdf5Handle space(H5Dget_space(opened.get()), H5Sclose);
    return extents_of(space.get());
  };
  const std::vector<hsize_t> until_missing = extents_with(access.get());
  return !until_missing.empty() && until_missing != extents_with(H5P_DEFAULT);
}

// Why what the mapping takes of its source is not all there; empty where it is.
std::string source_fault(hid_t dataset, hid_t creation, std::size_t mapping, int depth) {
  const std::string file =
      text_of(H5Pget_virtual_filename(creation, mapping, nullptr, 0),
              [&](char* text, std::size_t size) { return H5Pget_virtual_filename(creation, mapping, text, size); });
  const std::string object =
      text_of(H5Pget_virtual_dsetname(creation, mapping, nullptr, 0),
              [&](char* text, std::size_t size) { return H5Pget_virtual_dsetname(creation, mapping, text, size); });
  const Hdf5Handle selected(H5Pget_virtual_srcspace(creation, mapping), H5Sclose);
  const Hdf5Handle source_file = file_of_source(file, dataset);
  if (!source_file.is_valid()) return fmt::format("the source {} of the virtual dataset is not there", file);
  if (goes_on_past_missing(source_file.get(), object))
    return fmt::format("a source of {}:{} ends too early", file, object);
  const Hdf5Handle source(H5Dopen2(source_file.get(), object.c_str(), H5P_DEFAULT), H5Dclose);
  if (!source.is_valid()) return fmt::format("the source {}:{} of the virtual dataset is not there", file, object);
  const Hdf5Handle space(H5Dget_space(source.get()), H5Sclose);
  const std::vector<hsize_t> extents = extents_of(space.get());
  const std::optional<Bounds> bounds = bounds_of(selected.get());
  const bool is_unlimited = H5Sget_select_npoints(selected.get()) == static_cast<hssize_t>(H5S_UNLIMITED);
  Rows rows{0, extents.empty() ? 0 : extents[0]};
  if (!is_unlimited) {
    bool fits = bounds && bounds->last.size() == extents.size();
    for (std::size_t axis = 0; fits && axis < extents.size(); ++axis) fits = bounds->last[axis] < extents[axis];
    if (!fits) return fmt::format("the source {}:{} of the virtual dataset is too small", file, object);
    rows = {bounds->first[0], bounds->last[0] + 1};
  }
  const std::optional<Missing> missing = missing_of(source.get(), rows, depth + 1);
  if (!missing) return "";
  return fmt::format("in the source {}:{}, rows {} to {}: {}", file, object, missing->rows.first, missing->rows.end - 1,
                     missing->reason);
}

// Takes what the mapping covers out of `left`.
bool take_out(hid_t left, hid_t covered) {
  const std::size_t dimensions = extents_of(left).size();
  if (H5Sget_select_type(covered) == H5S_SEL_ALL) return H5Sselect_none(left) >= 0;
  const hssize_t blocks = H5Sget_select_hyper_nblocks(covered);
  if (blocks < 0) return false;
  std::vector<hsize_t> corners(static_cast<std::size_t>(blocks) * 2 * dimensions);
  if (blocks > 0 && H5Sget_select_hyper_blocklist(covered, 0, static_cast<hsize_t>(blocks), corners.data()) < 0) {
    return false;
  }
  for (std::size_t block = 0; block < static_cast<std::size_t>(blocks); ++block) {
    const hsize_t* const first = &corners[block * 2 * dimensions];
    std::vector<hsize_t> extent(dimensions);
    for (std::size_t axis = 0; axis < dimensions; ++axis) extent[axis] = first[dimensions + axis] - first[axis] + 1;
    if (H5Sselect_hyperslab(left, H5S_SELECT_NOTB, first, nullptr, extent.data(), nullptr) < 0) return false;
  }
  return true;
}

std::optional<Missing> missing_virtual(hid_t dataset, const Rows& rows, hid_t creation, hid_t space, int depth) {
  if (depth > kMostNested) return Missing{rows, "its virtual datasets are nested without end"};
  const std::vector<hsize_t> extents = extents_of(space);
  std::vector<hsize_t> first(extents.size(), 0);
  std::vector<hsize_t> wanted = extents;
  first[0] = rows.first;
  wanted[0] = rows.end - rows.first;
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(creation, &mappings) < 0 ||
      H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, wanted.data(), nullptr) < 0) {
    return Missing{rows, "the sources of the virtual dataset cannot be listed"};
  }
  bool has_end = true;
  for (std::size_t mapping = 0; mapping < mappings; ++mapping) {
    const Hdf5Handle covered(H5Pget_virtual_vspace(creation, mapping), H5Sclose);
    if (H5Sget_select_npoints(covered.get()) == static_cast<hssize_t>(H5S_UNLIMITED)) {
      has_end = false;
      continue;
    }
    const std::optional<Bounds> bounds = bounds_of(covered.get());
    if (!bounds) return Missing{rows, "a source of the virtual dataset cannot be read"};
    if (bounds->first[0] >= rows.end || bounds->last[0] < rows.first) continue;
    if (std::string fault = source_fault(dataset, creation, mapping, depth); !fault.empty()) {
      return Missing{{std::max<std::uint64_t>(bounds->first[0], rows.first),
                      std::min<std::uint64_t>(bounds->last[0] + 1, rows.end)},
                     std::move(fault)};
    }
    if (!take_out(space, covered.get())) return Missing{rows, "a source of the virtual dataset cannot be read"};
  }
  if (!has_end) return std::nullopt;  // goes_on_past_missing
  if (H5Sget_select_npoints(space) == 0) return std::nullopt;
  const std::optional<Bounds> gap = bounds_of(space);
  return Missing{gap ? Rows{gap->first[0], gap->last[0] + 1} : rows, "no source of the virtual dataset has them"};
}

std::optional<Missing> missing_of(hid_t dataset, const Rows& rows, int depth) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  if (!creation.is_valid() || !type.is_valid() || elements < 0) return Missing{rows, "it cannot be looked at"};
  if (elements == 0 || rows.first >= rows.end) return std::nullopt;
  switch (H5Pget_layout(creation.get())) {
    case H5D_COMPACT:
      return std::nullopt;  // written with the header
    case H5D_CHUNKED:
      return missing_chunk(dataset, rows, creation.get(), space.get());
    case H5D_VIRTUAL:
      return missing_virtual(dataset, rows, creation.get(), space.get(), depth);
    case H5D_CONTIGUOUS:
      break;
    default:
      return Missing{rows, "it is stored in a way that is not known"};
  }
  if (const int files = H5Pget_external_count(creation.get()); files > 0) {
    return missing_external(dataset, rows, creation.get(), files,
                            static_cast<std::uint64_t>(elements) * H5Tget_size(type.get()));
  }
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  if (H5Dget_space_status(dataset, &status) >= 0 && status == H5D_SPACE_STATUS_ALLOCATED) return std::nullopt;
  return Missing{rows, "the dataset was made, and nothing stored in it"};
}

}  // namespace

void require_written(hid_t file, const std::string& dataset, const std::string& name) {
  const bool ends_early = goes_on_past_missing(file, dataset);
  const Hdf5Handle opened(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!opened.is_valid()) return;
  const Hdf5Handle space(H5Dget_space(opened.get()), H5Sclose);
  const std::vector<hsize_t> extents = extents_of(space.get());
  if (extents.empty()) return;
  const Rows rows{0, extents.front()};
  const std::optional<Missing> missing =
      ends_early ? Missing{rows, "a source of the virtual dataset ends too early, or is not there"}
                 : missing_of(opened.get(), rows, 0);
  if (!missing) return;
  throw BadInput(fmt::format(
      "{}: rows {} to {} were never written: {}; HDF5 would read a fill value in their place: write the file again, or "
      "put what is missing beside it{}",
      name, missing->rows.first, missing->rows.end - 1, missing->reason, kForOwnerOnly));
}

}  // namespace dpreduce
