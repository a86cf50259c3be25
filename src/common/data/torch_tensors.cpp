#include "common/data/torch_tensors.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/utf8.hpp"
#include "common/data/archive_array.hpp"
#include "common/data/held_array.hpp"
#include "common/data/torch_pickle.hpp"

namespace dpreduce {
namespace {

DType dtype_of_storage(const std::string& storage, const std::string& name) {
  constexpr std::pair<std::string_view, DType> kStorages[] = {
      {"torch.FloatStorage", DType::kFloat32}, {"torch.DoubleStorage", DType::kFloat64},
      {"torch.HalfStorage", DType::kFloat16},  {"torch.LongStorage", DType::kInt64},
      {"torch.IntStorage", DType::kInt32},     {"torch.ShortStorage", DType::kInt16},
      {"torch.CharStorage", DType::kInt8},     {"torch.ByteStorage", DType::kUint8},
      {"torch.BoolStorage", DType::kBool}};
  for (const auto& [type, dtype] : kStorages) {
    if (storage == type) return dtype;
  }
  throw BadInput(fmt::format("{}: holds elements of {}; convert features by .float(), labels by .long()", name,
                             in_quotes(storage)));
}

// Whether all elements lie among the first `elements` of the storage, each of them once at least.
bool lies_within(const StoredTensor& tensor, std::uint64_t elements) {
  if (std::ranges::count(tensor.shape, 0u) > 0) return true;
  std::uint64_t last = tensor.offset;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const std::uint64_t steps = tensor.shape[axis] - 1;
    const std::uint64_t stride = tensor.strides[axis];
    if (last >= elements || (steps > 0 && (stride == 0 || steps > (elements - 1 - last) / stride))) return false;
    last += steps * stride;
  }
  return last < elements;
}

ArrayView view_of(const StoredTensor& tensor, std::span<const std::byte> stored, ByteOrder order,
                  const std::string& name) {
  const DType dtype = dtype_of_storage(tensor.storage, name);
  const std::size_t dimensions = tensor.shape.size();
  if (dimensions < 1 || dimensions > 2) {
    throw BadInput(
        fmt::format("{}: has {} dimensions; save one row a record: x.reshape(len(x), -1)", name, dimensions));
  }
  const std::size_t element = size_of(dtype);
  if (!lies_within(tensor, stored.size() / element)) {
    throw BadInput(
        fmt::format("{}: does not lie in its storage, or repeats elements; save x.contiguous().clone()", name));
  }
  const std::uint64_t columns = dimensions == 2 ? tensor.shape[1] : 1;
  const bool is_empty = tensor.shape[0] == 0 || columns == 0;
  const auto bytes = [&](std::size_t axis) { return static_cast<std::ptrdiff_t>(tensor.strides[axis] * element); };
  return {.first = is_empty ? stored.data() : stored.data() + tensor.offset * element,
          .dtype = dtype,
          .rows = tensor.shape[0],
          .columns = columns,
          .row_stride = tensor.shape[0] > 1 ? bytes(0) : 0,
          .column_stride = columns > 1 ? bytes(1) : static_cast<std::ptrdiff_t>(element),
          .byte_order = order};
}

}  // namespace

std::unique_ptr<ArrayFile> open_tensor(ZipFile archive, const ZipFile::Member& pickle, const std::string& path,
                                       const std::string& name) {
  constexpr std::size_t kLongestPickle = 1 << 20;
  const std::string folder = pickle.name.substr(0, pickle.name.size() - std::string_view("data.pkl").size());
  const std::vector<StoredTensor> tensors = tensors_of_pickle(archive.read(pickle, kLongestPickle), path);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : tensors) names.push_back(tensor.name);
  const StoredTensor& tensor = tensors[place_of_array(names, path, name)];
  const std::string full_name = tensor.name.empty() ? path : path + ":" + tensor.name;

  const std::vector<ZipFile::Member> members = archive.members();
  const auto storage = std::ranges::find(members, folder + "data/" + tensor.key, &ZipFile::Member::name);
  if (storage == members.end()) {
    throw BadInput(fmt::format("{}: its elements are not in the file; write or copy it again", full_name));
  }
  const auto told = std::ranges::find(members, folder + "byteorder", &ZipFile::Member::name);
  const bool is_big = told != members.end() && told->unpacked == std::string_view("big").size();
  StoredBytes stored = std::move(archive).take(*storage);
  const ArrayView view = view_of(tensor, stored.bytes(), is_big ? ByteOrder::kBig : ByteOrder::kLittle, full_name);
  return std::make_unique<HeldArray>(std::move(stored), view, full_name, path, storage->offset + tensor.offset);
}

}  // namespace dpreduce
