// Any bytes as an .npz file, and as a .csv.
#include <fmt/format.h>
#include <sys/mman.h>

#include "common/base/file_descriptor.hpp"
#include "tests/fuzz/read_array.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpreduce;
  const FileDescriptor memory(::memfd_create("fuzz", MFD_CLOEXEC));
  if (write_all(memory.get(), std::as_bytes(std::span(data, size))) < size || size == 0) return 0;
  const std::string path = fmt::format("/proc/self/fd/{}", memory.get());
  for (const char* const name : {"", "features"}) {
    read_last_rows([&] { return open_archive(MappedFile(path), path, name); });
  }
  for (const ArrayRole role : {ArrayRole::kFeatures, ArrayRole::kLabels}) {
    read_last_rows([&] { return open_csv(MappedFile(path), {path, ""}, role); });
  }
  return 0;
}
