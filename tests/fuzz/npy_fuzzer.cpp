// Any bytes as an .npy file.
#include "tests/fuzz/read_array.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpreduce;
  read_last_rows([&] {
    StoredBytes stored;
    const auto bytes = std::as_bytes(std::span(data, size));
    stored.unpacked.assign(bytes.begin(), bytes.end());
    stored.is_packed = true;
    return open_npy(std::move(stored), "fuzz.npy", "fuzz.npy");
  });
  return 0;
}
