#include "idx_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <zlib.h>

#include "common/base/error.hpp"
#include "scattering.hpp"

namespace dpreduce::fashion_mnist {
namespace {

// A header may claim any size; this bounds what is allocated for it (Fashion-MNIST has 60,000 images).
constexpr std::size_t kMostItems = 1'000'000;

class GzipReader {
 public:
  explicit GzipReader(const std::filesystem::path& path) : path_(path.string()), file_(gzopen(path_.c_str(), "rb")) {
    if (file_ == nullptr) {
      throw BadInput(fmt::format(
          "{}: {}; install the Debian package dataset-fashion-mnist, or name the folder that has it with --dataset",
          path_, std::strerror(errno)));
    }
    gzbuffer(file_.get(), 1 << 18);
  }

  void read(void* to, std::size_t size) {
    const int got = gzread(file_.get(), to, static_cast<unsigned>(size));
    if (got < 0 || static_cast<std::size_t>(got) != size) fail("ends early or is not a sound gzip file");
  }

  // Reading past the last element also makes zlib compare the checksum.
  void expect_end() {
    char more;
    const int got = gzread(file_.get(), &more, 1);
    if (got < 0) fail("is damaged: its checksum does not fit");
    if (got > 0) fail("has more bytes than its header says");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput(fmt::format("{}: {}; reinstall the Debian package dataset-fashion-mnist", path_, what));
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

std::uint32_t read_big_endian(GzipReader& reader) {
  std::array<unsigned char, 4> bytes;
  reader.read(bytes.data(), bytes.size());
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::size_t read_header(GzipReader& reader, std::uint32_t dimensions) {
  const std::uint32_t magic = read_big_endian(reader), expected = 0x0800 | dimensions;
  if (magic != expected) {
    reader.fail(fmt::format("is not an IDX file of {}-dimensional bytes (magic {:#010x}, expected {:#010x})",
                            dimensions, magic, expected));
  }
  const std::size_t count = read_big_endian(reader);
  if (count == 0 || count > kMostItems)
    reader.fail(fmt::format("claims {} items, allowed are 1 to {}", count, kMostItems));
  return count;
}

std::vector<std::uint8_t> read_images(const std::filesystem::path& path) {
  GzipReader reader(path);
  const std::size_t count = read_header(reader, 3);
  const std::uint32_t height = read_big_endian(reader), width = read_big_endian(reader);
  if (height != kImageSide || width != kImageSide) {
    reader.fail(fmt::format("has images of {} x {} pixels, expected {} x {}", height, width, kImageSide, kImageSide));
  }
  std::vector<std::uint8_t> pixels(count * kImagePixels);
  reader.read(pixels.data(), pixels.size());
  reader.expect_end();
  return pixels;
}

std::vector<std::uint8_t> read_labels(const std::filesystem::path& path) {
  GzipReader reader(path);
  std::vector<std::uint8_t> labels(read_header(reader, 1));
  reader.read(labels.data(), labels.size());
  reader.expect_end();
  return labels;
}

}  // namespace

LabeledImages read_labeled_images(const std::filesystem::path& folder, const char* stem) {
  LabeledImages read{read_images(folder / fmt::format("{}-images-idx3-ubyte.gz", stem)),
                     read_labels(folder / fmt::format("{}-labels-idx1-ubyte.gz", stem))};
  const std::size_t images = read.pixels.size() / kImagePixels;
  if (images != read.count()) {
    throw BadInput(fmt::format("{}: {} has {} images but {} labels; reinstall the Debian package dataset-fashion-mnist",
                               folder.string(), stem, images, read.count()));
  }
  return read;
}

}  // namespace dpreduce::fashion_mnist
