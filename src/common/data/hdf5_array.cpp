// A dataset of an HDF5 file, read by ranges of rows.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "common/base/error.hpp"
#include "common/data/array_formats.hpp"
#include "common/data/hdf5_written.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMaxChunkCacheBytes = std::size_t{256} << 20;
constexpr std::uint64_t kStringsAtOnce = 1 << 14;
constexpr std::size_t kLongestString = 65536;  // bytes of each, where all are of one length: a class name is shorter

// One thread at a time, and nothing printed, while it lives.
class Hdf5Call {
 public:
  Hdf5Call() : lock_(mutex_) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Hdf5Call() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }
  Hdf5Call(const Hdf5Call&) = delete;
  Hdf5Call& operator=(const Hdf5Call&) = delete;

 private:
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

// The type that elements are read as: native, of the same kind and size (a half as a float).
std::pair<Hdf5Handle, DType> memory_type(hid_t stored, const std::string& name) {
  const auto native = [](hid_t type, DType dtype) { return std::pair(Hdf5Handle(H5Tcopy(type)), dtype); };
  const std::size_t size = H5Tget_size(stored);
  const H5T_class_t kind = H5Tget_class(stored);
  if (kind == H5T_FLOAT && size <= 4) return native(H5T_NATIVE_FLOAT, DType::kFloat32);
  if (kind == H5T_FLOAT && size == 8) return native(H5T_NATIVE_DOUBLE, DType::kFloat64);
  if (kind == H5T_ENUM && size == 1) return native(stored, DType::kBool);
  const bool is_variable = kind == H5T_STRING && H5Tis_variable_str(stored) > 0;
  if (kind == H5T_STRING && (is_variable || size <= kLongestString)) {
    auto strings = native(stored, DType::kBytes);
    // A string of fixed length is so many bytes, filled up with zeros, whatever they are filled up with in the file.
    if (!is_variable) H5Tset_strpad(strings.first.get(), H5T_STR_NULLPAD);
    return strings;
  }
  const std::array signed_types{H5T_NATIVE_INT8, H5T_NATIVE_INT16, H5T_NATIVE_INT32, H5T_NATIVE_INT64};
  const std::array unsigned_types{H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_NATIVE_UINT32, H5T_NATIVE_UINT64};
  if (kind == H5T_INTEGER && std::has_single_bit(size) && size <= 8) {
    const auto power = static_cast<std::size_t>(std::countr_zero(size));
    const bool is_signed = H5Tget_sign(stored) == H5T_SGN_2;
    const auto first = static_cast<std::size_t>(is_signed ? DType::kInt8 : DType::kUint8);
    return native((is_signed ? signed_types : unsigned_types).at(power), static_cast<DType>(first + power));
  }
  throw BadInput(
      "{}: holds elements that are neither floats nor integers of up to 64 bits, nor strings of up to "
      "{} bytes; store features as float32, labels as int64, or as names of classes, and identifiers of "
      "persons as int64 or strings",
      name, kLongestString);
}

// Strings of variable length that the library allocates, and gets back.
class LentStrings {
 public:
  LentStrings(std::size_t count, hid_t type) : pointers_(count, nullptr), type_(type) {}
  ~LentStrings() {
    const hsize_t extent = pointers_.size();
    const Hdf5Handle space(H5Screate_simple(1, &extent, nullptr));
    H5Dvlen_reclaim(type_, space.get(), H5P_DEFAULT, pointers());
  }
  LentStrings(const LentStrings&) = delete;
  LentStrings& operator=(const LentStrings&) = delete;

  void* pointers() const { return const_cast<char**>(pointers_.data()); }
  std::vector<std::string> copied() const {
    std::vector<std::string> strings;
    for (const char* const text : pointers_) strings.emplace_back(text == nullptr ? "" : text);
    return strings;
  }

 private:
  std::vector<char*> pointers_;
  hid_t type_;
};

// Address of the object in its file; nullopt if the library does not know it.
std::optional<std::uint64_t> address_of(hid_t object) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_info1_t info;
  const herr_t status = H5Oget_info1(object, &info);
#else
  H5O_info_t info;
  const herr_t status = H5Oget_info2(object, &info, H5O_INFO_BASIC);
#endif
  if (status < 0) return std::nullopt;
  return info.addr;
}

// The bytes of an element that say that it was never written: a fill value that was chosen, unless it is zero, which
// may be a value, or is not finite, which --bad-rows is about. Empty if there is none. For numbers only.
std::vector<std::byte> chosen_fill(hid_t dataset, hid_t type, DType dtype) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  H5D_fill_value_t chosen = H5D_FILL_VALUE_ERROR;
  if (is_string(dtype) || !creation.is_valid() || H5Pfill_value_defined(creation.get(), &chosen) < 0) return {};
  std::vector<std::byte> fill(size_of(dtype));
  if (chosen != H5D_FILL_VALUE_USER_DEFINED || H5Pget_fill_value(creation.get(), type, fill.data()) < 0) return {};
  if (std::ranges::all_of(fill, [](std::byte byte) { return byte == std::byte{0}; })) return {};
  if (!is_float(dtype)) return fill;
  float value = 0.0F;
  convert_features(fill, dtype, kNativeByteOrder, std::span(&value, 1));
  if (value == 0.0F || !std::isfinite(value)) return {};
  return fill;
}

// A cache that holds one row of chunks, so that a chunk is unpacked once while rows pass; the default otherwise.
Hdf5Handle chunk_cache_for(hid_t dataset, const Shape& shape) {
  Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  const Hdf5Handle creation(H5Dget_create_plist(dataset));
  if (!creation.is_valid() || shape.empty() || H5Pget_layout(creation.get()) != H5D_CHUNKED) return access;
  std::vector<hsize_t> chunk(shape.size());
  if (H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) < 0) return access;
  const Hdf5Handle type(H5Dget_type(dataset));
  long double bytes = static_cast<long double>(H5Tget_size(type.get())) * static_cast<long double>(chunk[0]);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    const hsize_t chunks = shape[axis] / chunk[axis] + (shape[axis] % chunk[axis] != 0 ? 1 : 0);
    bytes *= static_cast<long double>(chunks) * static_cast<long double>(chunk[axis]);
  }
  constexpr std::size_t kDefaultBytes = 1 << 20;
  if (bytes > static_cast<long double>(kDefaultBytes) && bytes <= static_cast<long double>(kMaxChunkCacheBytes)) {
    H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, static_cast<std::size_t>(bytes) + 1,
                       H5D_CHUNK_CACHE_W0_DEFAULT);
  }
  return access;
}

// Throws BadInput where the name is that of a group: a sparse matrix or a categorical column of AnnData is one.
void refuse_group(hid_t file, const std::string& path, const std::string& group, const std::string& name) {
  const Hdf5Handle opened(H5Gopen2(file, group.c_str(), H5P_DEFAULT));
  if (!opened.is_valid()) return;
  const auto has = [&](const char* member) { return H5Lexists(opened.get(), member, H5P_DEFAULT) > 0; };
  std::string what = "is a group; name a dataset in it: list the file with h5ls -r";
  if (has("indptr") && has("indices")) {
    what = fmt::format(
        "is a sparse matrix; make it dense: numpy.save('x.npy', anndata.read_h5ad('{}').X.toarray().astype('float32'))",
        path);
  } else if (has("codes") && has("categories")) {
    what = fmt::format(
        "is a column of categories; name its class indices, {}/codes, and list {}/categories in the file of "
        "--class-names",
        name, group);
  }
  throw BadInput(name + ": " + what);
}

// Handles are closed in reverse order of their declaration: the file last.
struct Dataset {
  Hdf5Handle file;
  Hdf5Handle dataset;
  Hdf5Handle type;
  DType dtype = DType::kFloat32;
  bool has_variable_strings = false;
  Shape shape;
  std::vector<std::byte> fill;  // chosen_fill

  // The size of a string of variable length is that of the pointer to it.
  std::size_t element_bytes() const { return is_string(dtype) ? H5Tget_size(type.get()) : size_of(dtype); }
};

Dataset opened_dataset(const std::string& path, const std::string& dataset_name, const std::string& name) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw BadInput("{}: {}; check the path", path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) throw BadInput("{}: is not a regular file; name an HDF5 file", path);

  const Hdf5Call call;
  Dataset opened;
  opened.file = open_to_read(path);
  require_written(opened.file.get(), dataset_name, name);
  opened.dataset = Hdf5Handle(H5Dopen2(opened.file.get(), dataset_name.c_str(), H5P_DEFAULT));
  if (!opened.dataset.is_valid()) {
    refuse_group(opened.file.get(), path, dataset_name, name);
    throw BadInput("{}: has no such dataset: {}; list the file with h5ls -r", name, hdf5_reason());
  }
  const Hdf5Handle stored(H5Dget_type(opened.dataset.get()));
  const Hdf5Handle space(H5Dget_space(opened.dataset.get()));
  if (!stored.is_valid() || !space.is_valid()) throw BadInput("{}: {}", name, hdf5_reason());
  std::tie(opened.type, opened.dtype) = memory_type(stored.get(), name);
  opened.has_variable_strings = opened.dtype == DType::kBytes && H5Tis_variable_str(stored.get()) > 0;

  const std::vector<hsize_t> extents = extents_of(space.get());
  if (extents.empty()) return opened;
  opened.shape.assign(extents.begin(), extents.end());
  opened.fill = chosen_fill(opened.dataset.get(), opened.type.get(), opened.dtype);

  const Hdf5Handle access = chunk_cache_for(opened.dataset.get(), opened.shape);
  Hdf5Handle cached(H5Dopen2(opened.file.get(), dataset_name.c_str(), access.get()));
  if (cached.is_valid()) opened.dataset = std::move(cached);
  return opened;
}

class Hdf5Array final : public ArrayFile {
 public:
  Hdf5Array(Dataset dataset, const std::string& name)
      : ArrayFile(name, dataset.dtype, kNativeByteOrder, dataset.shape, dataset.element_bytes()),
        dataset_(std::move(dataset)) {}

  ~Hdf5Array() override {
    const Hdf5Call call;
    const Dataset closed = std::move(dataset_);
  }

  FileIdentity identity() const override {
    std::string file;  // an external link may have led to another than was opened
    std::optional<std::uint64_t> address;
    {
      const Hdf5Call call;
      file = file_name_of(dataset_.dataset.get());
      address = address_of(dataset_.dataset.get());
    }
    if (file.empty() || !address) {
      throw BadInput("{}: cannot be found in its file; check or write it again", name());
    }
    return file_identity(file, *address);
  }

  // True of virtual data sets, and of those with raw files.
  bool lies_in_other_files() const override {
    const Hdf5Call call;
    const Hdf5Handle creation(H5Dget_create_plist(dataset_.dataset.get()));
    return H5Pget_layout(creation.get()) == H5D_VIRTUAL || H5Pget_external_count(creation.get()) != 0;
  }

  bool is_cheap_to_keep_open() const override { return false; }

 private:
  std::span<const std::byte> stored_rows(std::uint64_t first_row, std::uint64_t count,
                                         std::vector<std::byte>& scratch) override {
    scratch.resize(count * row_bytes());
    const Hdf5Call call;
    read_rows(first_row, count, scratch.data());
    refuse_fill(first_row, scratch);
    return scratch;
  }

  // Rows of nothing but the fill value that was chosen were never written.
  void refuse_fill(std::uint64_t first_row, std::span<const std::byte> stored) const {
    const std::vector<std::byte>& fill = dataset_.fill;
    if (fill.empty()) return;
    for (std::size_t row = 0; row * row_bytes() < stored.size(); ++row) {
      const std::span<const std::byte> elements = stored.subspan(row * row_bytes(), row_bytes());
      std::size_t same = 0;
      while (same < elements.size() && std::ranges::equal(elements.subspan(same, fill.size()), fill))
        same += fill.size();
      if (same < elements.size()) continue;
      throw BadInput(
          "{}: row {} holds only the fill value of the dataset, so it was never written; write it, or leave it out{}",
          name(), first_row + row, kForOwnerOnly);
    }
  }

  void visit_names(std::uint64_t first_row, std::uint64_t count, const VisitName& visit) override {
    if (!dataset_.has_variable_strings) return ArrayFile::visit_names(first_row, count, visit);
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t block = std::min(kStringsAtOnce, count - done);
      std::vector<std::string> names;
      {
        const Hdf5Call call;
        const LentStrings strings(block, dataset_.type.get());
        read_rows(first_row + done, block, strings.pointers());
        names = strings.copied();
      }
      for (std::uint64_t row = 0; row < block; ++row) visit(first_row + done + row, names[row]);
      done += block;
    }
  }

  // Inside an Hdf5Call.
  void read_rows(std::uint64_t first_row, std::uint64_t count, void* out) const {
    std::vector<hsize_t> start(shape().size(), 0);
    std::vector<hsize_t> extent(shape().begin(), shape().end());
    start.front() = first_row;
    extent.front() = count;

    const Hdf5Handle in_file(H5Dget_space(dataset_.dataset.get()));
    const Hdf5Handle in_memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
    const bool read =
        in_file.is_valid() && in_memory.is_valid() &&
        H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) >= 0 &&
        H5Dread(dataset_.dataset.get(), dataset_.type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, out) >= 0;
    if (!read) {
      throw BadInput("{}: rows {} to {} cannot be read: {}; check or write the file again{}", name(), first_row,
                     first_row + count - 1, hdf5_reason(), kForOwnerOnly);
    }
  }

  Dataset dataset_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_hdf5(const std::string& file, const std::string& dataset) {
  const std::string name = file + ":" + dataset;
  return std::make_unique<Hdf5Array>(opened_dataset(file, dataset, name), name);
}

}  // namespace dpreduce
