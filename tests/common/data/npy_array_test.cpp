#include <sys/stat.h>

#include "common/data/array_formats.hpp"
#include "tests/common/data/array_reads.hpp"

namespace dpreduce::npy_array_test {

template <typename Element>
std::string npy_bytes(const std::string& descr, const std::string& shape, const std::vector<Element>& elements,
                      bool fortran = false, int major = 1) {
  const ByteOrder order = descr.front() == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  return npy_header_bytes(npy_text(descr, shape, fortran), major) + element_bytes(elements, order);
}

std::vector<float> features_of(const std::string& bytes) {
  return all_features(*npy_of(bytes, "x.npy"));
}

std::vector<std::int32_t> labels_of(const std::string& bytes, std::uint64_t classes,
                                    UnlistedLabels unlisted = UnlistedLabels::kRefused) {
  return all_labels(*npy_of(bytes, "y.npy"), classes, nullptr, unlisted);
}

const std::vector<float> kSixOfNpy = counted(6);

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
  EXPECT_THAT(some_features(*npy_of(doubles, "x.npy"), 1, 1), ElementsAre(3, 4, 5));
}

TEST(NpyArray, RowsBeyondOneScratchBlockAreRead) {
  constexpr std::size_t kRows = 3000;
  constexpr std::size_t kDim = 700;  // 8.4 MB of float32, 16.8 MB of float64
  std::vector<double> column_major(kRows * kDim);
  for (std::size_t k = 0; k < column_major.size(); ++k)
    column_major[k % kDim * kRows + k / kDim] = static_cast<double>(k);
  EXPECT_TRUE(features_of(npy_bytes("<f8", "(3000, 700)", column_major, true)) == counted(kRows * kDim));
}

TEST(NpyArray, LabelsAreReadInEitherOrderAndShape) {
  const std::vector<std::int32_t> wanted = {0, 2, 1};
  for (const bool fortran : {false, true}) {
    EXPECT_EQ(labels_of(npy_bytes<std::int64_t>("<i8", "(3,)", {0, 2, 1}, fortran), 3), wanted);
    EXPECT_EQ(labels_of(npy_bytes<std::int16_t>(">i2", "(3, 1)", {0, 2, 1}, fortran), 3), wanted);
    EXPECT_EQ(labels_of(npy_bytes<std::uint8_t>("|u1", "(3,)", {0, 2, 1}, fortran), 3), wanted);
  }
}

TEST(NpyArray, FeaturesOfOtherShapesTypesAndSizesAreRefused) {
  const std::string whole = npy_bytes("<f4", "(2, 3)", kSixOfNpy);
  const std::pair<std::string, std::vector<std::string>> files[] = {
      {npy_bytes<float>("<f4", "(6,)", kSixOfNpy), {"x.npy", "(6,)", "two dimensions"}},
      {npy_bytes<float>("<f4", "(1, 2, 3)", kSixOfNpy), {"(1, 2, 3)"}},
      {npy_bytes<float>("<f4", "(6, 0)", {}), {"no features"}},
      {npy_bytes<float>("<f4", "()", {1}), {"x.npy", "single number"}},
      {npy_bytes<std::int32_t>("<i4", "(2, 1)", {0, 1}), {"int32", "swapped"}},
      {whole.substr(0, whole.size() - 1), {"x.npy", "23 bytes", "24", "cut short"}},
      {whole + "x", {"25 bytes", "appended"}},
      {npy_bytes<float>("<f4", "(0, 4611686018427387904, 8)", {}), {"x.npy", "2^63"}}};
  for (const auto& file : files) {
    SCOPED_TRACE(file.first);
    expect_bad_input([&] { features_of(file.first); }, file.second);
  }
}

TEST(NpyArray, LabelsOfOtherShapesTypesAndClassesAreRefused) {
  const auto refused = [](const std::string& bytes, std::uint64_t classes, const std::vector<std::string>& parts) {
    SCOPED_TRACE(bytes);
    expect_bad_input([&] { labels_of(bytes, classes); }, parts);
  };
  refused(npy_bytes<float>("<f4", "(6,)", kSixOfNpy), 6, {"y.npy", "float32", "int64"});
  refused(npy_bytes<std::int64_t>("<i8", "(1, 3)", {0, 1, 2}), 6, {"3 columns", "6 classes"});
  refused(npy_bytes<std::int64_t>("<i8", "(3, 1, 1)", {0, 1, 2}), 6, {"(3, 1, 1)"});
  refused(npy_bytes<std::int64_t>("<i8", "(3,)", {0, 2, 10}), 10,
          {"y.npy", "row 2", "label 10", "0 to 9", "--classes", "for the data's owner only"});
  refused(npy_bytes<std::int8_t>("|i1", "(3,)", {0, -1, 1}), 10, {"row 1", "label -1"});
  const auto refused_label = [&](std::int64_t label, const std::vector<std::string>& parts) {
    refused(npy_bytes<std::int64_t>("<i8", "(2,)", {1, label}), 3, parts);
  };
  refused_label(3, {"row 1 has label 3", "labels count from 0", "subtract 1", "--class-names"});
  refused_label(4, {"row 1 has label 4, outside 0 to 2; correct it, or fit with more classes"});
  refused_label(-1,
                {"row 1 has label -1, outside 0 to 2; labels are 0 and above: of two classes -1 and 1, write 0 and 1"});
}

TEST(NpyArray, NoRowsIsAnArrayToo) {
  EXPECT_TRUE(features_of(npy_bytes<float>("<f4", "(0, 3)", {})).empty());
  EXPECT_TRUE(labels_of(npy_bytes<std::int64_t>("<i8", "(0,)", {}), 2).empty());
}

TEST(NpyArray, RowsInCOrderAreSeenInPlaceWhateverTheirType) {
  for (const auto& bytes : {npy_bytes("<f4", "(2, 3)", kSixOfNpy), npy_bytes(">f4", "(2, 3)", kSixOfNpy),
                            npy_bytes<double>("<f8", "(2, 3)", {0, 1, 2, 3, 4, 5})}) {
    const auto array = npy_of(bytes, "x.npy");
    const StoredFloats row = array->features_in_place(1, 1);
    EXPECT_THAT(decoded_floats(row, 0, row.size()), ElementsAre(3, 4, 5));
  }
  const std::string fortran = npy_bytes("<f4", "(2, 3)", kSixOfNpy, true);
  EXPECT_TRUE(npy_of(fortran, "x.npy")->features_in_place(0, 2).empty());
}

TEST(NpyArray, AMappedFileReadsAsItsBytesAlsoAfterPagesWereReleased) {
  const TemporaryFolder folder;
  write_features(folder / "x.npy", 5000, 7, 1.0f);
  const auto array = open_array(folder / "x.npy");
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_TRUE(all_features(*array) == counted(35000, 1.0f));
    array->release_rows(0, 5000);
    array->expect_rows(100, 4900);
  }
}

TEST(NpyArray, FilesThatCannotBeReadAreNamedWithTheReason) {
  const TemporaryFolder folder;
  write_bytes(folder / "empty.npy", "");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const auto& [name, reason] : {std::pair{"none.npy", "No such file"},
                                     {"", "directory"},
                                     {"empty.npy", "empty"},
                                     {"pipe", "is not a regular file"}}) {
    const std::string path = folder / name;
    expect_bad_input([&] { open_array(path); }, {path, reason});
  }
}

TEST(NpyArray, RowsOutsideTheArrayAreOurOwnMistake) {
  const auto array = npy_of(npy_bytes("<f4", "(2, 3)", kSixOfNpy), "x.npy");
  std::vector<float> out(6);
  EXPECT_THROW(array->read_features(1, 2, out), std::logic_error);
  EXPECT_THROW(array->read_features(~std::uint64_t{0}, 2, out), std::logic_error);
  EXPECT_THROW(array->read_features(0, 1, out), std::logic_error);
  EXPECT_THROW(array->features_in_place(0, 3), std::logic_error);
}

std::vector<std::int32_t> named_labels_of(const std::string& bytes) {
  const NamedClasses names({"ash", "oak", "élm"});
  return all_labels(*npy_of(bytes, "y.npy"), names.size(), &names);
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

TEST(NpyArray, NamesOfNoClassAndOfOtherShapesAreRefused) {
  const std::string row_of_names = strings_of("<U4", "(1, 2)", {U"oak", U"ash"}, 4);
  const std::string whole = strings_of("<U4", "(2,)", {U"oak", U"ash"}, 4);
  const std::vector<std::pair<std::string, std::vector<std::string>>> files = {
      {strings_of("<U4", "(3,)", {U"oak", U"ash", U"oka"}, 4),
       {"y.npy: row 2 has label \"oka\"", "did you mean \"oak\"?", kForOwnerOnly}},
      {strings_of("<U4", "(1,)", {U""}, 4), {"row 0 has label \"\""}},
      {row_of_names, {"y.npy: labels are names of shape (1, 2)", "zeros and ones"}},
      {whole.substr(0, whole.size() - 1), {"holds 31 bytes", "needs 32"}}};
  for (const auto& file : files) {
    SCOPED_TRACE(file.second.front());
    expect_bad_input([&] { named_labels_of(file.first); }, file.second);
  }
  expect_bad_input([] { labels_of(strings_of("<U4", "(1,)", {U"oak"}, 4), 3); },
                   {"y.npy: labels are names", "--class-names"});
  expect_bad_input([&] { features_of(row_of_names); }, {"features are strings"});
}

TEST(NpyArray, LabelsThatAreNotListedAreToldApartWhereTheyAreTaken) {
  EXPECT_EQ(labels_of(npy_bytes<std::int64_t>("<i8", "(5,)", {3, 1, -1, std::int64_t{1} << 40, 2}), 3,
                      UnlistedLabels::kTaken),
            (std::vector<std::int32_t>{kUnlistedLabel, 1, kUnlistedLabel, kUnlistedLabel, 2}));
}

ArrayLayout parsed(const std::string& bytes) {
  return parse_npy_header(as_bytes_of(bytes), "x.npy");
}

TEST(NpyHeader, EveryTypeAndByteOrderIsRead) {
  const std::pair<std::string, DType> types[] = {
      {"i1", DType::kInt8},    {"i2", DType::kInt16},   {"i4", DType::kInt32},   {"i8", DType::kInt64},
      {"u1", DType::kUint8},   {"u2", DType::kUint16},  {"u4", DType::kUint32},  {"u8", DType::kUint64},
      {"f2", DType::kFloat16}, {"f4", DType::kFloat32}, {"f8", DType::kFloat64}, {"b1", DType::kBool}};
  for (const auto& [name, dtype] : types) {
    for (const char order : std::string("<>=")) {
      const ArrayLayout header = parsed(npy_header_bytes(npy_text(order + name, "(3, 4)")));
      EXPECT_EQ(header.dtype, dtype);
      EXPECT_EQ(header.byte_order, order == '>' ? ByteOrder::kBig : ByteOrder::kLittle);
      EXPECT_EQ(header.shape, (Shape{3, 4}));
      EXPECT_EQ(header.memory_order, MemoryOrder::kC);
    }
    if (size_of(dtype) == 1) {
      EXPECT_EQ(parsed(npy_header_bytes(npy_text("|" + name, "(3,)"))).dtype, dtype);
    }
  }
}

TEST(NpyHeader, WhateverPythonWritesForAPlainArrayIsRead) {
  const std::vector<std::pair<std::string, Shape>> texts = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }        \n", {3, 4}},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", {3, 4}},
      {"{'shape': (3,), 'fortran_order': True, 'descr': '<f4'}\n", {3}},
      {"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": ()}\n", {}},
      {"{'descr':'<f4','fortran_order':False,'shape':(3L,4L,)}\n", {3, 4}},
      {" { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 0 , 18446744073709551615 ) } ",
       {0, ~std::uint64_t{0}}}};
  for (const auto& [text, shape] : texts) EXPECT_EQ(parsed(npy_header_bytes(text)).shape, shape) << text;
  EXPECT_EQ(parsed(npy_header_bytes(npy_text("<f4", "(3, 4)", true))).memory_order, MemoryOrder::kFortran);
}

TEST(NpyHeader, EachDamageIsNamed) {
  const auto refused = [](const std::string& what, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      SCOPED_TRACE(text);
      expect_bad_input([&] { parsed(npy_header_bytes(text)); }, {"x.npy", what});
    }
  };
  const auto shaped = [](const std::string& shape) { return npy_text("<f4", shape); };
  refused("'{' expected", {"", "[1]"});
  refused("'shape' is missing", {"{'descr': '<f4', 'fortran_order': False, }"});
  refused("'fortran_order' is missing", {"{'descr': '<f4', 'shape': (3,), }"});
  refused("'descr' is missing", {"{'fortran_order': False, 'shape': (3,), }"});
  refused("key \"more\" is unknown", {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}"});
  refused("appears twice", {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"});
  refused("True or False", {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }"});
  refused("an extent expected, from 0 to 2^64 - 1",
          {shaped("(-3,)"), shaped("(18446744073709551616,)"), shaped("(,)")});
  refused("extent expected", {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,"});
  refused("not a tuple", {shaped("(3)")});
  refused("','", {shaped("(3 4)"), shaped("(3.0,)")});
  refused("'(' expected", {shaped("[3]")});
  refused("after the dictionary", {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } + 1"});
  refused("does not end", {"{'descr': '<f4"});
  refused("quoted", {"{'descr': <f4}"});
  refused("'}' expected", {"{'descr': '<f4' 'fortran_order': False}"});
}

TEST(NpyHeader, TypesThatAreNoNumbersOfOursAreRefused) {
  for (const std::string descr : {"<c8", "<f16", "|U4", "<U0", "|S", "<S-1", "<U99999999", "<U4 ", "|O", "<M8[s]", "f4",
                                  "|f4", "", "<", "<i3", "<\x1b[2J"}) {
    SCOPED_TRACE(descr);
    const std::string message = refusal<BadInput>([&] { parsed(npy_header_bytes(npy_text(descr, "(3,)"))); });
    EXPECT_THAT(message, AllOf(HasSubstr("x.npy"), HasSubstr("elements of type"), Not(HasSubstr("\x1b"))));
  }
  expect_bad_input([] { parsed(npy_header_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}")); },
                   {"x.npy", "named fields"});
}

TEST(NpyHeader, MoreThan32ExtentsAndAHugeTextAreRefused) {
  std::string shape = "(";
  for (int extent = 0; extent < 32; ++extent) shape += "1, ";
  EXPECT_EQ(parsed(npy_header_bytes(npy_text("<f4", shape + ")"))).shape.size(), 32u);
  expect_bad_input([&] { parsed(npy_header_bytes(npy_text("<f4", shape + "1)"))); }, {"32"});
  std::string bytes = npy_header_bytes("{}", 2);
  bytes.replace(8, 4, "\xff\xff\xff\x7f");
  expect_bad_input([&] { parsed(bytes); }, {"header of 2147483647 bytes"});
}

TEST(NpyHeader, FilesOfOtherFormatsAreRefused) {
  expect_bad_input([] { parsed("PK\3\4 zip"); }, {"x.npy", "not an .npy file"});
  expect_bad_input([] { parsed("\x93NUMP"); }, {"not an .npy file"});
  expect_bad_input([] { parsed("\x89HDF\r\n\x1a\n...."); }, {"HDF5", "x.npy:/features"});
  for (const int major : {0, 4}) {
    std::string bytes = npy_header_bytes(npy_text("<f4", "(3,)"));
    bytes[6] = static_cast<char>(major);
    expect_bad_input([&] { parsed(bytes); }, {"version " + std::to_string(major) + ".0"});
  }
}

TEST(NpyHeader, AFileCutAnywhereInItsHeaderIsRefused) {
  for (const int major : {1, 2, 3}) {
    const std::string bytes = npy_header_bytes(npy_text("<f4", "(3, 4)"), major);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_THROW(parsed(bytes.substr(0, length)), BadInput) << length;
    }
  }
}

}  // namespace dpreduce::npy_array_test
