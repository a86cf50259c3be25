// Any bytes as a model file: either BadInput, or a file that is written and read again without a change.
#include "common/data/safetensors.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace dpreduce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  is_refused<BadInput>([&] {
    const SafetensorsFile file = parse_safetensors(bytes, "input");
    DPREDUCE_ASSERT(parse_safetensors(serialize(file), "copy") == file);

    const Classifier classifier = classifier_from_bytes(bytes, "input");
    const std::vector<std::byte> written = to_bytes(classifier);
    DPREDUCE_ASSERT(to_bytes(classifier_from_bytes(written, "copy")) == written);
    if (classifier.input_dim() <= 4096) {
      const std::vector<float> rows(3 * classifier.input_dim(), 0.5F);
      DPREDUCE_ASSERT(classifier.predict_labels(rows).size() == 3);
    }
  });
  return 0;
}
