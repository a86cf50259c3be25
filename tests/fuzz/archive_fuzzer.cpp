// Any bytes as an .npz file, and as a .csv: refused with BadInput, or read without touching a byte outside them.
#include <memory>

#include <fmt/format.h>
#include <sys/mman.h>

#include "common/base/file_descriptor.hpp"
#include "common/data/array_formats.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace dpreduce;

template <typename Open>
void read_some(const Open& open) {
  constexpr std::uint64_t kMaxRows = 64;
  constexpr std::uint64_t kMaxElements = 1 << 16;
  is_refused<BadInput>([&] {
    const std::unique_ptr<ArrayFile> array = open();
    const std::uint64_t rows = std::min(array->rows(), kMaxRows);
    if (!is_float(array->dtype())) {
      array->require_holds_labels(nullptr);
      if (array->columns() != 1) return;
      std::vector<std::int32_t> labels(rows);
      array->read_labels(array->rows() - rows, rows, 10, labels);
      return;
    }
    array->require_holds_features();
    if (array->columns() > kMaxElements) return;
    std::vector<float> features(rows * array->columns());
    array->read_features(array->rows() - rows, rows, features);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FileDescriptor memory(::memfd_create("fuzz", MFD_CLOEXEC));
  if (write_all(memory.get(), std::as_bytes(std::span(data, size))) < size || size == 0) return 0;
  const std::string path = fmt::format("/proc/self/fd/{}", memory.get());
  for (const char* const name : {"", "features"}) {
    read_some([&] { return open_archive(MappedFile(path), path, name); });
  }
  for (const ArrayRole role : {ArrayRole::kFeatures, ArrayRole::kLabels}) {
    read_some([&] { return open_csv(MappedFile(path), {path, ""}, role); });
  }
  return 0;
}
