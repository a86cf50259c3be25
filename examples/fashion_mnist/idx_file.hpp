// Reads the IDX files of the MNIST family, gzip-compressed.
//
//   bytes 0, 1   0
//   byte 2       0x08: elements are unsigned bytes
//   byte 3       number of dimensions: 3 for images (n, height, width), 1 for labels (n)
//   then         each dimension, 32 bits, big-endian; then the elements, row-major
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace dpreduce::fashion_mnist {

struct LabeledImages {
  std::vector<std::uint8_t> pixels;  ///< n x 28 x 28, row-major
  std::vector<std::uint8_t> labels;  ///< n
  std::size_t count() const { return labels.size(); }
};

/// The images of `<folder>/<stem>-images-idx3-ubyte.gz` with the labels of `<folder>/<stem>-labels-idx1-ubyte.gz`; stem
/// is "train" or "t10k". Throws BadInput where a file is absent (it names the Debian package that has it), is not such
/// an IDX file, has images of another size than 28 x 28, ends early or late, or where the two counts differ.
LabeledImages read_labeled_images(const std::filesystem::path& folder, const char* stem);

}  // namespace dpreduce::fashion_mnist
