#include "common/data/npy_array.hpp"

#include <sys/stat.h>

#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::npy_array_test {

template <typename Element>
std::string npy_bytes(const std::string& descr, const std::string& shape, const std::vector<Element>& elements,
                      bool fortran = false, int major = 1) {
  const ByteOrder order = descr.front() == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  return npy_header_bytes(npy_text(descr, shape, fortran), major) + element_bytes(elements, order);
}

std::vector<float> features_of(const std::string& bytes) {
  NpyArray array(as_bytes_of(bytes), "x.npy");
  array.require_holds_features();
  std::vector<float> out(array.rows() * array.columns());
  array.read_features(0, array.rows(), out);
  return out;
}

std::vector<std::int32_t> labels_of(const std::string& bytes, std::uint64_t classes,
                                    UnlistedLabels unlisted = UnlistedLabels::kRefused) {
  NpyArray array(as_bytes_of(bytes), "y.npy");
  array.require_holds_labels(nullptr);
  std::vector<std::int32_t> out(array.rows());
  array.read_labels(0, array.rows(), classes, out, nullptr, unlisted);
  return out;
}

const std::vector<float> kSixOfNpy = {0, 1, 2, 3, 4, 5};

TEST(NpyArray, FeaturesOfEachTypeByteOrderAndVersionAreRead) {
  const std::vector<std::uint16_t> halves = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
  for (const int major : {1, 2, 3}) {
    for (const std::string order : {"<", ">"}) {
      EXPECT_EQ(features_of(npy_bytes<float>(order + "f4", "(2, 3)", kSixOfNpy, false, major)), kSixOfNpy);
      EXPECT_EQ(features_of(npy_bytes<double>(order + "f8", "(2, 3)", {0, 1, 2, 3, 4, 5}, false, major)), kSixOfNpy);
      EXPECT_EQ(features_of(npy_bytes<std::uint16_t>(order + "f2", "(2, 3)", halves, false, major)), kSixOfNpy);
    }
  }
}

TEST(NpyArray, FortranOrderIsTransposedOnReading) {
  const std::vector<float> column_major = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(features_of(npy_bytes<float>("<f4", "(2, 3)", column_major, true)), kSixOfNpy);
  const std::string doubles = npy_bytes<double>(">f8", "(2, 3)", {0, 3, 1, 4, 2, 5}, true);
  EXPECT_EQ(features_of(doubles), kSixOfNpy);

  NpyArray array(as_bytes_of(doubles), "x.npy");
  std::vector<float> last(3);
  array.read_features(1, 1, last);
  EXPECT_EQ(last, (std::vector<float>{3, 4, 5}));
}

TEST(NpyArray, RowsBeyondOneScratchBlockAreRead) {
  constexpr std::size_t kRows = 3000;
  constexpr std::size_t kDim = 700;  // 8.4 MB of float32, 16.8 MB of float64
  std::vector<double> column_major(kRows * kDim);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t a = 0; a < kDim; ++a) column_major[a * kRows + row] = static_cast<double>(row * kDim + a);
  }
  const std::vector<float> out = features_of(npy_bytes<double>("<f8", "(3000, 700)", column_major, true));
  for (std::size_t k = 0; k < out.size(); ++k) ASSERT_EQ(out[k], static_cast<float>(k));
}

TEST(NpyArray, LabelsAreReadInEitherOrderAndShape) {
  const std::vector<std::int32_t> wanted = {0, 2, 1};
  for (const bool fortran : {false, true}) {
    EXPECT_EQ(labels_of(npy_bytes<std::int64_t>("<i8", "(3,)", {0, 2, 1}, fortran), 3), wanted);
    EXPECT_EQ(labels_of(npy_bytes<std::int16_t>(">i2", "(3, 1)", {0, 2, 1}, fortran), 3), wanted);
    EXPECT_EQ(labels_of(npy_bytes<std::uint8_t>("|u1", "(3,)", {0, 2, 1}, fortran), 3), wanted);
  }
}

TEST(NpyArray, ALabelOutsideTheClassesIsNamedWithItsRow) {
  expect_bad_input(
      [] {
        labels_of(npy_bytes<std::int64_t>("<i8", "(3,)", {0, 2, 10}), 10);
      },
      {"y.npy", "row 2", "label 10", "0 to 9", "--classes", "for the data's owner only"});
  expect_bad_input([] { labels_of(npy_bytes<std::int8_t>("|i1", "(3,)", {0, -1, 1}), 10); }, {"row 1", "label -1"});
}

TEST(NpyArray, FeaturesOfOtherShapesAndTypesAreRefused) {
  expect_bad_input([] { features_of(npy_bytes<float>("<f4", "(6,)", kSixOfNpy)); },
                   {"x.npy", "(6,)", "two dimensions"});
  expect_bad_input([] { features_of(npy_bytes<float>("<f4", "(1, 2, 3)", kSixOfNpy)); }, {"(1, 2, 3)"});
  expect_bad_input([] { features_of(npy_bytes<float>("<f4", "(6, 0)", {})); }, {"no features"});
  expect_bad_input([] { features_of(npy_bytes<std::int32_t>("<i4", "(2, 1)", {0, 1})); }, {"int32", "swapped"});
}

TEST(NpyArray, LabelsOfOtherShapesAndTypesAreRefused) {
  expect_bad_input([] { labels_of(npy_bytes<float>("<f4", "(6,)", kSixOfNpy), 6); }, {"y.npy", "float32", "int64"});
  expect_bad_input(
      [] {
        labels_of(npy_bytes<std::int64_t>("<i8", "(1, 3)", {0, 1, 2}), 6);
      },
      {"3 columns", "6 classes"});
  expect_bad_input([] { labels_of(npy_bytes<std::int64_t>("<i8", "(3, 1, 1)", {0, 1, 2}), 6); }, {"(3, 1, 1)"});
}

TEST(NpyArray, ASingleNumberIsRefused) {
  expect_bad_input([] { features_of(npy_bytes<float>("<f4", "()", {1})); }, {"x.npy", "single number"});
}

TEST(NpyArray, MissingAndAdditionalBytesAreRefused) {
  const std::string whole = npy_bytes<float>("<f4", "(2, 3)", kSixOfNpy);
  expect_bad_input([&] { features_of(whole.substr(0, whole.size() - 1)); }, {"x.npy", "23 bytes", "24", "cut short"});
  expect_bad_input([&] { features_of(whole + "x"); }, {"25 bytes", "appended"});
}

TEST(NpyArray, AShapeThatOverflowsIsRefused) {
  expect_bad_input([] { features_of(npy_bytes<float>("<f4", "(4611686018427387904, 4)", {})); }, {"x.npy", "2^63"});
  expect_bad_input([] { features_of(npy_bytes<float>("<f4", "(0, 4611686018427387904, 8)", {})); }, {"x.npy", "2^63"});
}

TEST(NpyArray, NoRowsIsAnArrayToo) {
  EXPECT_TRUE(features_of(npy_bytes<float>("<f4", "(0, 3)", {})).empty());
  EXPECT_TRUE(labels_of(npy_bytes<std::int64_t>("<i8", "(0,)", {}), 2).empty());
}

TEST(NpyArray, RowsInCOrderAreSeenInPlaceWhateverTheirType) {
  for (const auto& bytes : {npy_bytes<float>("<f4", "(2, 3)", kSixOfNpy), npy_bytes<float>(">f4", "(2, 3)", kSixOfNpy),
                            npy_bytes<double>("<f8", "(2, 3)", {0, 1, 2, 3, 4, 5})}) {
    const StoredFloats row = NpyArray(as_bytes_of(bytes), "x.npy").features_in_place(1, 1);
    ASSERT_EQ(row.size(), 3);
    std::vector<float> scratch;
    const auto decoded = row.decoded(0, 3, scratch);
    EXPECT_EQ(std::vector<float>(decoded.begin(), decoded.end()), (std::vector<float>{3, 4, 5}));
  }
  const std::string fortran = npy_bytes<float>("<f4", "(2, 3)", kSixOfNpy, true);
  EXPECT_TRUE(NpyArray(as_bytes_of(fortran), "x.npy").features_in_place(0, 2).empty());
}

TEST(NpyArray, AMappedFileReadsAsItsBytesAlsoAfterPagesWereReleased) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 5000, 7, 1.0f);
  NpyArray array(folder / "x.npy");
  std::vector<float> before(5000 * 7);
  array.read_features(0, 5000, before);
  array.release_rows(0, 5000);
  array.expect_rows(100, 4900);
  std::vector<float> after(5000 * 7);
  array.read_features(0, 5000, after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(before.back(), 35000.0f);
}

TEST(NpyArray, FilesThatCannotBeReadAreNamedWithTheReason) {
  const TemporaryFolder folder;
  expect_bad_input([&] { NpyArray(folder / "none.npy"); }, {"none.npy", "No such file"});
  expect_bad_input([&] { NpyArray(folder.path()); }, {folder.path(), "directory"});
  write_bytes(folder / "empty.npy", "");
  expect_bad_input([&] { NpyArray(folder / "empty.npy"); }, {"empty.npy", "empty"});
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_bad_input([&] { NpyArray(folder / "pipe"); }, {"pipe", "regular file"});
}

TEST(NpyArray, RowsOutsideTheArrayAreOurOwnMistake) {
  const std::string bytes = npy_bytes<float>("<f4", "(2, 3)", kSixOfNpy);
  NpyArray array(as_bytes_of(bytes), "x.npy");
  std::vector<float> out(6);
  EXPECT_THROW(array.read_features(1, 2, out), std::logic_error);
  EXPECT_THROW(array.read_features(~std::uint64_t{0}, 2, out), std::logic_error);
  EXPECT_THROW(array.read_features(0, 1, out), std::logic_error);
  EXPECT_THROW(array.features_in_place(0, 3), std::logic_error);
}

std::vector<std::int32_t> named_labels_of(const std::string& bytes) {
  const NamedClasses names({"ash", "oak", "élm"});
  NpyArray array(as_bytes_of(bytes), "y.npy");
  array.require_holds_labels(&names);
  std::vector<std::int32_t> out(array.rows());
  array.read_labels(0, array.rows(), names.size(), out, &names);
  return out;
}

std::string strings_of(const std::string& descr, const std::string& shape, const std::vector<std::u32string>& words,
                       std::size_t length) {
  std::vector<std::uint32_t> points;
  for (const std::u32string& word : words) {
    points.insert(points.end(), word.begin(), word.end());
    points.insert(points.end(), length - word.size(), 0);
  }
  if (descr[1] == 'U') return npy_bytes<std::uint32_t>(descr, shape, points);
  return npy_header_bytes(npy_text(descr, shape)) + std::string(points.begin(), points.end());
}

TEST(NpyArray, NamesOfEachTypeAndByteOrderAreTheirClasses) {
  const std::vector<std::int32_t> expected = {1, 2, 0, 1};
  const std::vector<std::u32string> words = {U"oak", U"élm", U"ash", U"oak"};
  for (const std::string descr : {"<U5", ">U5"}) {
    EXPECT_EQ(named_labels_of(strings_of(descr, "(4,)", words, 5)), expected);
    EXPECT_EQ(named_labels_of(strings_of(descr, "(4, 1)", words, 5)), expected);
  }
  for (const std::string descr : {"|S4", "<S4"}) {
    EXPECT_EQ(named_labels_of(strings_of(descr, "(2,)", {U"oak", U"ash"}, 4)), (std::vector<std::int32_t>{1, 0}));
  }
  EXPECT_EQ(named_labels_of(npy_bytes<std::int64_t>("<i8", "(3,)", {2, 0, 1})), (std::vector<std::int32_t>{2, 0, 1}));
}

TEST(NpyArray, ANameOfNoClassIsToldWithItsRow) {
  expect_bad_input(
      [] {
        named_labels_of(strings_of("<U4", "(3,)", {U"oak", U"ash", U"oka"}, 4));
      },
      {"y.npy: row 2 has label \"oka\"", "did you mean \"oak\"?", kForOwnerOnly});
  expect_bad_input([] { named_labels_of(strings_of("<U4", "(1,)", {U""}, 4)); }, {"row 0 has label \"\""});
  expect_bad_input(
      [] {
        named_labels_of(strings_of("<U4", "(1, 2)", {U"oak", U"ash"}, 4));
      },
      {"y.npy: labels are names of shape (1, 2)", "zeros and ones"});
  expect_bad_input([] { labels_of(strings_of("<U4", "(1,)", {U"oak"}, 4), 3); },
                   {"y.npy: labels are names", "--class-names"});
  expect_bad_input([] { features_of(strings_of("<U4", "(1, 2)", {U"oak", U"ash"}, 4)); }, {"features are strings"});
}

TEST(NpyArray, LabelsThatSeemToCountFromOneAreToldSo) {
  const auto refused = [](std::int64_t label, const std::vector<std::string>& parts) {
    expect_bad_input([&] { labels_of(npy_bytes<std::int64_t>("<i8", "(2,)", {1, label}), 3); }, parts);
  };
  refused(3, {"row 1 has label 3", "labels count from 0", "subtract 1", "--class-names"});
  refused(4, {"row 1 has label 4, outside 0 to 2; correct it, or fit with more classes"});
  refused(-1, {"row 1 has label -1, outside 0 to 2; labels are 0 and above: of two classes -1 and 1, write 0 and 1"});
}

TEST(NpyArray, LabelsThatAreNotListedAreToldApartWhereTheyAreTaken) {
  EXPECT_EQ(labels_of(npy_bytes<std::int64_t>("<i8", "(5,)", {3, 1, -1, std::int64_t{1} << 40, 2}), 3,
                      UnlistedLabels::kTaken),
            (std::vector<std::int32_t>{kUnlistedLabel, 1, kUnlistedLabel, kUnlistedLabel, 2}));
}

TEST(NpyArray, AStringThatIsCutShortIsRefused) {
  const std::string whole = strings_of("<U4", "(2,)", {U"oak", U"ash"}, 4);
  expect_bad_input([&] { named_labels_of(whole.substr(0, whole.size() - 1)); }, {"holds 31 bytes", "needs 32"});
}

}  // namespace dpreduce::npy_array_test
