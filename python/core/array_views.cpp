#include "core/array_views.hpp"

#include <fmt/format.h>

#include "common/base/error.hpp"

namespace dpreduce::python {
namespace {

namespace py = pybind11;

DType float_of(std::size_t bytes, const std::string& refusal) {
  if (bytes == 2) return DType::kFloat16;
  if (bytes == 4) return DType::kFloat32;
  if (bytes == 8) return DType::kFloat64;
  throw BadInput(refusal);
}

DType integer_of(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::kInt8 : DType::kUint8;
    case 2:
      return is_signed ? DType::kInt16 : DType::kUint16;
    case 4:
      return is_signed ? DType::kInt32 : DType::kUint32;
    default:
      return is_signed ? DType::kInt64 : DType::kUint64;
  }
}

DType dtype_of_elements(const py::dtype& dtype, const std::string& name) {
  const std::string refusal = fmt::format(
      "{}: elements are {}; convert them with .astype: features to float32, labels "
      "to int64, numbers to predict to float64",
      name, py::cast<std::string>(py::str(static_cast<const py::object&>(dtype))));
  const auto bytes = static_cast<std::size_t>(dtype.itemsize());
  switch (dtype.kind()) {
    case 'b':
      return DType::kBool;
    case 'i':
      return integer_of(bytes, true);
    case 'u':
      return integer_of(bytes, false);
    case 'f':
      return float_of(bytes, refusal);
    default:
      throw BadInput(refusal);
  }
}

// With elements that are read already.
ArrayView view_with(const py::array& array, const std::string& name, bool may_be_one_dimensional, DType dtype) {
  const bool is_column = may_be_one_dimensional && array.ndim() == 1;
  if (!is_column && array.ndim() != 2) {
    throw BadInput(fmt::format("{}: the array has {} dimension{}; reshape it to two, one row a record", name,
                               array.ndim(), array.ndim() == 1 ? "" : "s"));
  }
  const auto element_bytes = static_cast<std::size_t>(array.itemsize());
  return {.first = static_cast<const std::byte*>(array.data()),
          .dtype = dtype,
          .rows = static_cast<std::uint64_t>(array.shape(0)),
          .columns = is_column ? 1 : static_cast<std::size_t>(array.shape(1)),
          .row_stride = array.strides(0),
          .column_stride = is_column ? static_cast<std::ptrdiff_t>(element_bytes) : array.strides(1),
          .byte_order = array.dtype().byteorder() == '>' ? ByteOrder::kBig : ByteOrder::kLittle,
          .string_bytes = is_string(dtype) ? element_bytes : 0};
}

}  // namespace

ArrayView view_of(const py::array& array, const std::string& name, bool may_be_one_dimensional) {
  return view_with(array, name, may_be_one_dimensional, dtype_of_elements(array.dtype(), name));
}

ArrayView view_of_persons(const py::array& array, const std::string& name) {
  const char kind = array.dtype().kind();
  if (kind == 'S' || kind == 'U') return view_with(array, name, true, kind == 'S' ? DType::kBytes : DType::kUnicode);
  return view_of(array, name, true);
}

}  // namespace dpreduce::python
