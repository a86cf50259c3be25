#include "common/data/array_formats.hpp"
#include "common/data/simulation.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::silo_files_test {

class SiloFilesTest : public testing::Test {
 protected:
  // n x 3 features k, k + 1, ... (row r starts at 3 r), labels r mod 4, in that element type.
  template <typename Element>
  void write_data(const std::string& descr, std::size_t rows, Element (*element_of)(float)) const {
    std::vector<Element> features;
    std::vector<std::int64_t> labels(rows);
    for (const float value : counted(3 * rows)) features.push_back(element_of(value));
    for (std::size_t row = 0; row < rows; ++row) labels[row] = static_cast<std::int64_t>(row % 4);
    const ByteOrder order = descr.front() == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
    write_bytes(folder_ / "x.npy",
                npy_header_bytes(npy_text(descr, fmt::format("({}, 3)", rows))) + element_bytes(features, order));
    write_labels(folder_ / "y.npy", labels);
  }

  void write_floats(std::size_t rows) const {
    write_data<float>("<f4", rows, [](float value) { return value; });
  }

  std::vector<SiloFiles> cut(const SiloSpec& spec, const std::optional<ShiftSize>& shift = {},
                             const std::string& out = "silos", std::size_t first = 0) const {
    WorkerRows rows = WorkerRows::open({folder_ / "x.npy"}, {folder_ / "y.npy"}, 0, 1);
    return write_silos(rows, 4, spec, shift, folder_ / out, first);
  }

  const TemporaryFolder folder_;
};

// Number of each row (its first feature over 3) with the label it came with, over all silos.
std::multimap<float, std::int32_t> rows_of(const std::vector<SiloFiles>& silos) {
  std::multimap<float, std::int32_t> found;
  for (const SiloFiles& silo : silos) {
    const auto x = open_array(silo.x);
    const auto y = open_array(silo.y);
    EXPECT_EQ(x->rows(), silo.rows);
    EXPECT_EQ(y->rows(), silo.rows);
    const std::vector<float> features = all_features(*x);
    const std::vector<std::int32_t> labels = all_labels(*y, 4);
    std::vector<std::uint64_t> counts(4, 0);
    for (std::size_t row = 0; row < labels.size(); ++row) {
      found.emplace(features[3 * row] / 3.0f, labels[row]);
      ++counts[static_cast<std::size_t>(labels[row])];
    }
    EXPECT_EQ(counts, silo.class_counts);
  }
  return found;
}

TEST_F(SiloFilesTest, HoldEveryRowOnceWithItsLabel) {
  write_floats(1003);
  std::multimap<float, std::int32_t> all;
  for (int row = 0; row < 1003; ++row) all.emplace(static_cast<float>(row), row % 4);
  std::size_t number = 0;
  for (const Partition scheme : {Partition::kIid, Partition::kDirichlet, Partition::kClasses, Partition::kQuantity}) {
    const auto silos =
        cut({.scheme = scheme, .silos = 5, .alpha = 0.3, .classes_per_silo = 2}, {}, std::to_string(number++), 1);
    EXPECT_EQ(rows_of(silos), all);
    EXPECT_TRUE(silos[0].x.ends_with("silo1/x.npy")) << silos[0].x;
  }
}

TEST_F(SiloFilesTest, KeepTheTypeOfTheElementsAndTheirBits) {
  const auto check = [&]<typename Element>(const std::string& descr, Element (*element_of)(float), DType dtype) {
    write_data<Element>(descr, 40, element_of);
    std::vector<Element> elements;
    for (const float value : counted(120)) elements.push_back(element_of(value));
    const auto silos = cut({.silos = 1}, {}, descr);
    EXPECT_EQ(open_array(silos[0].x)->dtype(), dtype);
    EXPECT_EQ(read_bytes(silos[0].x).substr(128), element_bytes(elements)) << descr;
  };
  const auto third = [](float value) { return static_cast<double>(value) / 3.0; };
  check(
      "<f4", +[](float value) { return value; }, DType::kFloat32);
  check("<f8", +third, DType::kFloat64);
  check(">f8", +third, DType::kFloat64);
  check("<f2", float_to_half, DType::kFloat16);
}

TEST_F(SiloFilesTest, KeepLabelsOfSeveralClasses) {
  write_features(folder_ / "x.npy", 6, 3, 0.0f);
  const std::string sets("\1\0\1\0\0\0\0\1\1\1\1\1\0\0\0\0\1\0\0\0\0\1\0\0", 24);
  write_bytes(folder_ / "y.npy", npy_header_bytes(npy_text("|u1", "(6, 4)")) + sets);
  const auto silos = cut({.silos = 1});
  EXPECT_EQ(silos[0].class_counts, (std::vector<std::uint64_t>{3, 2, 2, 2}));
  const auto y = open_array(silos[0].y);
  EXPECT_EQ(y->shape(), (Shape{6, 4}));
  EXPECT_EQ(y->dtype(), DType::kUint8);
  EXPECT_EQ(read_bytes(silos[0].y).substr(128), sets);
  EXPECT_THROW(cut({.scheme = Partition::kDirichlet}, {}, "other"), UsageError);
}

TEST_F(SiloFilesTest, AShiftMovesFeaturesAndNothingElse) {
  for (const std::string descr : {"<f4", "<f8", "<f2"}) {
    if (descr == "<f4") write_floats(50);
    if (descr == "<f8") write_data<double>(descr, 50, [](float value) { return double{value}; });
    if (descr == "<f2") write_data<std::uint16_t>(descr, 50, float_to_half);
    const SiloSpec spec{.scheme = Partition::kFeatureShift, .silos = 2, .seed = 4};
    const auto plain = cut(spec, {}, "plain " + descr);
    const auto moved = cut(spec, ShiftSize{.offset = 8.0}, "moved " + descr);
    for (std::size_t silo = 0; silo < 2; ++silo) {
      EXPECT_EQ(read_bytes(plain[silo].y), read_bytes(moved[silo].y));
      const auto before = open_array(plain[silo].x);
      const auto after = open_array(moved[silo].x);
      EXPECT_EQ(before->dtype(), after->dtype());
      const std::vector<float> x = all_features(*before);
      const std::vector<float> shifted = all_features(*after);
      ASSERT_EQ(x.size(), shifted.size());
      for (std::size_t e = 0; e < x.size(); ++e) EXPECT_EQ(std::abs(shifted[e] - x[e]), 8.0f) << descr;
    }
  }
}

TEST_F(SiloFilesTest, MoreSilosThanFilesMayBeOpenAtOnceAreWrittenInSeveralPasses) {
  write_floats(700);
  const auto silos = cut({.scheme = Partition::kQuantity, .silos = 130, .alpha = 1.0});
  EXPECT_EQ(silos.size(), 130u);
  EXPECT_EQ(rows_of(silos).size(), 700u);
}

TEST_F(SiloFilesTest, FilesThatAreThereAreNotReplacedAndNothingIsLeft) {
  write_floats(20);
  std::filesystem::create_directories(folder_ / "silos/silo1");
  write_bytes(folder_ / "silos/silo1/y.npy", "mine");
  expect_bad_input([&] { cut({.silos = 3}); }, {"silo1/y.npy", "exists already"});
  EXPECT_EQ(read_bytes(folder_ / "silos/silo1/y.npy"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "silos/silo0"));
  write_labels(folder_ / "y.npy", std::vector<std::int64_t>(20, 4));  // no such class
  expect_bad_input([&] { cut({.silos = 3}, {}, "other"); }, {"y.npy", "label 4"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
}

TEST_F(SiloFilesTest, FilesOfTwoTypesAreRefused) {
  write_floats(20);
  write_npy(folder_ / "x2.npy", std::vector<double>(60, 0.5), 3);
  write_labels(folder_ / "y2.npy", std::vector<std::int64_t>(20, 0));
  WorkerRows rows =
      WorkerRows::open({folder_ / "x.npy", folder_ / "x2.npy"}, {folder_ / "y.npy", folder_ / "y2.npy"}, 0, 1);
  expect_bad_input([&] { write_silos(rows, 4, {.silos = 2}, {}, folder_ / "silos", 0); },
                   {"x.npy holds float32", "x2.npy holds float64"});
}

std::vector<double> some_row(std::size_t dim) {
  std::vector<double> row(dim);
  for (std::size_t a = 0; a < dim; ++a) row[a] = std::sin(static_cast<double>(3 * a + 1));
  return row;
}

// some_row(dim), turned.
std::vector<double> turned_row(std::size_t dim, double degrees, std::size_t silo, std::uint64_t seed) {
  std::vector<double> row = some_row(dim);
  FeatureShift({.rotation = degrees}, dim, silo, seed).apply(row);
  return row;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t a = 0; a < x.size(); ++a) sum += (x[a] - y[a]) * (x[a] - y[a]);
  return std::sqrt(sum);
}

TEST(FeatureShift, TurnsEveryRowByTheSameAngle) {
  for (const double degrees : {0.0, 10.0, 90.0, 180.0}) {
    const std::vector<double> row = some_row(16);
    const std::vector<double> turned = turned_row(16, degrees, 2, 5);
    const double norm = distance(row, std::vector<double>(16, 0.0));
    EXPECT_NEAR(distance(turned, std::vector<double>(16, 0.0)), norm, 1e-14);
    EXPECT_NEAR(distance(turned, row), 2.0 * std::sin(degrees * M_PI / 360.0) * norm, 1e-14);
  }
}

TEST(FeatureShift, IsTheSilosOwnAndTheSeeds) {
  EXPECT_EQ(turned_row(16, 30.0, 1, 1), turned_row(16, 30.0, 1, 1));
  EXPECT_NE(turned_row(16, 30.0, 1, 1), turned_row(16, 30.0, 2, 1));
  EXPECT_NE(turned_row(16, 30.0, 1, 1), turned_row(16, 30.0, 1, 2));
}

TEST(FeatureShift, LeavesOneOfAnOddNumberOfFeaturesAndASingleOne) {
  const std::vector<double> row = some_row(5);
  const std::vector<double> turned = turned_row(5, 45.0, 0, 3);
  std::size_t same = 0;
  for (std::size_t a = 0; a < 5; ++a) same += turned[a] == row[a] ? 1 : 0;
  EXPECT_EQ(same, 1u);
  EXPECT_EQ(turned_row(1, 45.0, 0, 3), some_row(1));
}

TEST(FeatureShift, RefusesSizesAndRowsThatAreNone) {
  EXPECT_THROW(FeatureShift({.rotation = 181.0}, 4, 0, 0), std::logic_error);
  EXPECT_THROW(FeatureShift({.rotation = -1.0}, 4, 0, 0), std::logic_error);
  EXPECT_THROW(FeatureShift({}, 0, 0, 0), std::logic_error);
  std::vector<double> row(3);
  EXPECT_THROW(FeatureShift({}, 4, 0, 0).apply(row), std::logic_error);
}

}  // namespace dpreduce::silo_files_test
