// Any bytes as an .npy file: refused with BadInput, or read without touching a byte outside them.
#include "common/data/array_formats.hpp"
#include "tests/fuzz/fuzz_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dpreduce;
  constexpr std::uint64_t kMaxRows = 64;
  constexpr std::uint64_t kMaxElements = 1 << 16;
  is_refused<BadInput>([&] {
    StoredBytes stored;
    const auto bytes = std::as_bytes(std::span(data, size));
    stored.unpacked.assign(bytes.begin(), bytes.end());
    stored.is_packed = true;
    const auto array = open_npy(std::move(stored), "fuzz.npy", "fuzz.npy");
    const std::uint64_t rows = std::min(array->rows(), kMaxRows);
    if (!is_float(array->dtype())) {
      const NamedClasses names({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
      array->require_holds_labels(&names);
      std::vector<std::int32_t> labels(rows);
      array->read_labels(array->rows() - rows, rows, 10, labels, &names);
      return;
    }
    array->require_holds_features();
    if (array->columns() > kMaxElements) return;
    std::vector<float> features(rows * array->columns());
    array->read_features(array->rows() - rows, rows, features);
    if (const StoredFloats in_place = array->features_in_place(0, rows); !in_place.empty()) {
      std::vector<float> scratch;
      const auto floats = in_place.decoded(0, in_place.size(), scratch);
      std::vector<float> copy(floats.begin(), floats.end());
    }
  });
  return 0;
}
