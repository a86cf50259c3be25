#include "common/data/silo_files.hpp"

#include "common/data/element_conversion.hpp"
#include "common/data/npy_array.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::silo_files_test {

// n x 3 features k, k + 1, ... (row r starts at 3 r), labels r mod 4, in that element type.
template <typename Element>
void write_data(const TemporaryFolder& folder, const std::string& descr, std::size_t rows,
                Element (*element_of)(float)) {
  std::vector<Element> features;
  std::vector<std::int64_t> labels;
  for (std::size_t k = 0; k < 3 * rows; ++k) features.push_back(element_of(static_cast<float>(k)));
  for (std::size_t row = 0; row < rows; ++row) labels.push_back(static_cast<std::int64_t>(row % 4));
  const ByteOrder order = descr.front() == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  write_bytes(folder / "x.npy",
              npy_header_bytes(npy_text(descr, "(" + std::to_string(rows) + ", 3)")) + element_bytes(features, order));
  write_labels(folder / "y.npy", labels);
}

void write_floats(const TemporaryFolder& folder, std::size_t rows) {
  write_data<float>(folder, "<f4", rows, [](float value) { return value; });
}

std::vector<SiloFiles> cut(const TemporaryFolder& folder, const SiloSpec& spec,
                           const std::optional<ShiftSize>& shift = {}) {
  WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
  return write_silos(rows, 4, spec, shift, folder / "silos", 0);
}

// Number of each row (its first feature over 3) with the label it came with, over all silos.
std::multimap<float, std::int32_t> rows_of(const std::vector<SiloFiles>& silos) {
  std::multimap<float, std::int32_t> found;
  for (const SiloFiles& silo : silos) {
    NpyArray x(silo.x);
    NpyArray y(silo.y);
    EXPECT_EQ(x.rows(), silo.rows);
    EXPECT_EQ(y.rows(), silo.rows);
    std::vector<float> features(3 * x.rows());
    std::vector<std::int32_t> labels(y.rows());
    x.read_features(0, x.rows(), features);
    y.read_labels(0, y.rows(), 4, labels);
    std::vector<std::uint64_t> counts(4, 0);
    for (std::size_t row = 0; row < labels.size(); ++row) {
      found.emplace(features[3 * row] / 3.0f, labels[row]);
      ++counts[static_cast<std::size_t>(labels[row])];
    }
    EXPECT_EQ(counts, silo.class_counts);
  }
  return found;
}

TEST(SiloFilesTest, HoldEveryRowOnceWithItsLabel) {
  const TemporaryFolder folder;
  write_floats(folder, 1003);
  std::multimap<float, std::int32_t> all;
  for (int row = 0; row < 1003; ++row) all.emplace(static_cast<float>(row), row % 4);
  std::size_t number = 0;
  for (const Partition scheme : {Partition::kIid, Partition::kDirichlet, Partition::kClasses, Partition::kQuantity}) {
    WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
    const auto silos = write_silos(rows, 4, {.scheme = scheme, .silos = 5, .alpha = 0.3, .classes_per_silo = 2}, {},
                                   folder / std::to_string(number++), 1);
    EXPECT_EQ(rows_of(silos), all);
    EXPECT_TRUE(silos[0].x.ends_with("silo1/x.npy")) << silos[0].x;
  }
}

TEST(SiloFilesTest, AreReadByWorkersWithRankInThePath) {
  const TemporaryFolder folder;
  write_floats(folder, 100);
  const auto silos = cut(folder, {.scheme = Partition::kQuantity, .silos = 3});
  for (std::size_t worker = 0; worker < 3; ++worker) {
    WorkerRows own =
        WorkerRows::open({folder / "silos/silo{rank}/x.npy"}, {folder / "silos/silo{rank}/y.npy"}, worker, 3);
    EXPECT_EQ(own.range().count, silos[worker].rows);
  }
}

TEST(SiloFilesTest, KeepTheTypeOfTheElementsAndTheirBits) {
  const auto check = [](const std::string& descr, const auto& element_of, DType dtype, const std::string& bytes) {
    const TemporaryFolder folder;
    write_data(folder, descr, 40, +element_of);
    const auto silos = cut(folder, {.silos = 1});
    EXPECT_EQ(NpyArray(silos[0].x).dtype(), dtype);
    EXPECT_EQ(read_bytes(silos[0].x).substr(128), bytes);
  };
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::uint16_t> halves;
  for (int k = 0; k < 120; ++k) {
    floats.push_back(static_cast<float>(k));
    doubles.push_back(k / 3.0);
    halves.push_back(float_to_half(static_cast<float>(k)));
  }
  const auto third = [](float value) { return static_cast<double>(value) / 3.0; };
  check(
      "<f4", [](float value) { return value; }, DType::kFloat32, element_bytes(floats));
  check("<f8", third, DType::kFloat64, element_bytes(doubles));
  check(">f8", third, DType::kFloat64, element_bytes(doubles));
  check(
      "<f2", [](float value) { return float_to_half(value); }, DType::kFloat16, element_bytes(halves));
}

TEST(SiloFilesTest, KeepLabelsOfSeveralClasses) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 6, 3, 0.0f);
  const std::string sets("\1\0\1\0\0\0\0\1\1\1\1\1\0\0\0\0\1\0\0\0\0\1\0\0", 24);
  write_bytes(folder / "y.npy", npy_header_bytes(npy_text("|u1", "(6, 4)")) + sets);
  const auto silos = cut(folder, {.silos = 1});
  EXPECT_EQ(silos[0].class_counts, (std::vector<std::uint64_t>{3, 2, 2, 2}));
  const NpyArray y(silos[0].y);
  EXPECT_EQ(y.shape(), (Shape{6, 4}));
  EXPECT_EQ(y.dtype(), DType::kUint8);
  EXPECT_EQ(read_bytes(silos[0].y).substr(128), sets);
  WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
  EXPECT_THROW(write_silos(rows, 4, {.scheme = Partition::kDirichlet}, {}, folder / "other", 0), UsageError);
}

TEST(SiloFilesTest, AShiftMovesFeaturesAndNothingElse) {
  for (const std::string descr : {"<f4", "<f8", "<f2"}) {
    const TemporaryFolder folder;
    if (descr == "<f4") write_floats(folder, 50);
    if (descr == "<f8") write_data<double>(folder, descr, 50, [](float value) { return double{value}; });
    if (descr == "<f2") write_data<std::uint16_t>(folder, descr, 50, float_to_half);
    WorkerRows rows = WorkerRows::open({folder / "x.npy"}, {folder / "y.npy"}, 0, 1);
    const SiloSpec spec{.scheme = Partition::kFeatureShift, .silos = 2, .seed = 4};
    const auto plain = write_silos(rows, 4, spec, {}, folder / "plain", 0);
    const auto moved = write_silos(rows, 4, spec, ShiftSize{.offset = 8.0}, folder / "moved", 0);
    for (std::size_t silo = 0; silo < 2; ++silo) {
      EXPECT_EQ(read_bytes(plain[silo].y), read_bytes(moved[silo].y));
      NpyArray before(plain[silo].x);
      NpyArray after(moved[silo].x);
      EXPECT_EQ(before.dtype(), after.dtype());
      std::vector<float> x(3 * before.rows());
      std::vector<float> shifted(x.size());
      before.read_features(0, before.rows(), x);
      after.read_features(0, after.rows(), shifted);
      for (std::size_t e = 0; e < x.size(); ++e) EXPECT_EQ(std::abs(shifted[e] - x[e]), 8.0f) << descr;
    }
  }
}

TEST(SiloFilesTest, MoreSilosThanFilesMayBeOpenAtOnceAreWrittenInSeveralPasses) {
  const TemporaryFolder folder;
  write_floats(folder, 700);
  const auto silos = cut(folder, {.scheme = Partition::kQuantity, .silos = 130, .alpha = 1.0});
  EXPECT_EQ(silos.size(), 130u);
  EXPECT_EQ(rows_of(silos).size(), 700u);
}

TEST(SiloFilesTest, FilesThatAreThereAreNotReplacedAndNothingIsLeft) {
  const TemporaryFolder folder;
  write_floats(folder, 20);
  std::filesystem::create_directories(folder / "silos/silo1");
  write_bytes(folder / "silos/silo1/y.npy", "mine");
  expect_bad_input([&] { cut(folder, {.silos = 3}); }, {"silo1/y.npy", "exists already"});
  EXPECT_EQ(read_bytes(folder / "silos/silo1/y.npy"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder / "silos/silo0"));
}

TEST(SiloFilesTest, AFailureTakesBackFilesAndFolders) {
  const TemporaryFolder folder;
  write_floats(folder, 20);
  write_labels(folder / "y.npy", std::vector<std::int64_t>(20, 4));  // no such class
  expect_bad_input([&] { cut(folder, {.silos = 3}); }, {"y.npy", "label 4"});
  EXPECT_FALSE(std::filesystem::exists(folder / "silos"));
}

TEST(SiloFilesTest, FilesOfTwoTypesAreRefused) {
  const TemporaryFolder folder;
  write_floats(folder, 20);
  write_bytes(folder / "x2.npy",
              npy_header_bytes(npy_text("<f8", "(20, 3)")) + element_bytes(std::vector<double>(60, 0.5)));
  write_labels(folder / "y2.npy", std::vector<std::int64_t>(20, 0));
  WorkerRows rows =
      WorkerRows::open({folder / "x.npy", folder / "x2.npy"}, {folder / "y.npy", folder / "y2.npy"}, 0, 1);
  expect_bad_input([&] { write_silos(rows, 4, {.silos = 2}, {}, folder / "silos", 0); },
                   {"x.npy holds float32", "x2.npy holds float64"});
}

}  // namespace dpreduce::silo_files_test
