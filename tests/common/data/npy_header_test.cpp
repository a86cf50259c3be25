
#include "common/data/npy_array.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::npy_header_test {

NpyHeader parsed(const std::string& bytes) {
  return parse_npy_header(as_bytes_of(bytes), "x.npy");
}

TEST(NpyHeader, EveryTypeAndByteOrderIsRead) {
  const std::vector<std::pair<std::string, DType>> types = {
      {"i1", DType::kInt8},    {"i2", DType::kInt16},   {"i4", DType::kInt32},   {"i8", DType::kInt64},
      {"u1", DType::kUint8},   {"u2", DType::kUint16},  {"u4", DType::kUint32},  {"u8", DType::kUint64},
      {"f2", DType::kFloat16}, {"f4", DType::kFloat32}, {"f8", DType::kFloat64}, {"b1", DType::kBool}};
  for (const auto& [name, dtype] : types) {
    for (const char order : std::string("<>=")) {
      const NpyHeader header = parsed(npy_header_bytes(npy_text(order + name, "(3, 4)")));
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

TEST(NpyHeader, EveryVersionTellsWhereElementsBegin) {
  const std::string text = npy_text("<f4", "(2,)");
  for (const int major : {1, 2, 3}) {
    const std::string bytes = npy_header_bytes(text, major);
    EXPECT_EQ(parsed(bytes + "elements").data_offset, bytes.size());
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
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "'{' expected"},
      {"[1]", "'{' expected"},
      {"{'descr': '<f4', 'fortran_order': False, }", "'shape' is missing"},
      {"{'descr': '<f4', 'shape': (3,), }", "'fortran_order' is missing"},
      {"{'fortran_order': False, 'shape': (3,), }", "'descr' is missing"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "unknown key \"more\""},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "appears twice"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }", "True or False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "negative"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,), }", "64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }", "','"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,), }", "','"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [3], }", "'(' expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", "an extent expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,", "extent expected"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } + 1", "after the dictionary"},
      {"{'descr': '<f4", "does not end"},
      {"{'descr': <f4}", "quoted"},
      {"{'descr': '<f4' 'fortran_order': False}", "'}' expected"}};
  for (const auto& [text, what] : texts) {
    SCOPED_TRACE(text);
    const std::string bytes = npy_header_bytes(text);
    expect_bad_input([&] { parsed(bytes); }, {"x.npy", what});
  }
}

TEST(NpyHeader, TypesThatAreNoNumbersOfOursAreRefused) {
  for (const std::string descr : {"<c8", "<f16", "|U4", "<U0", "|S", "<S-1", "<U99999999", "<U4 ", "|O", "<M8[s]", "f4",
                                  "|f4", "", "<", "<i3", "<\x1b[2J"}) {
    SCOPED_TRACE(descr);
    expect_bad_input([&] { parsed(npy_header_bytes(npy_text(descr, "(3,)"))); }, {"x.npy", "elements of type"});
  }
  expect_bad_input([] { parsed(npy_header_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}")); },
                   {"x.npy", "named fields"});
}

TEST(NpyHeader, ControlCharactersOfAHostileFileAreNotShown) {
  try {
    parsed(npy_header_bytes(npy_text("<\x1b[2J", "(3,)")));
    FAIL();
  } catch (const BadInput& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
  }
}

TEST(NpyHeader, MoreThan32ExtentsAreRefused) {
  std::string shape = "(";
  for (int extent = 0; extent < 32; ++extent) shape += "1, ";
  EXPECT_EQ(parsed(npy_header_bytes(npy_text("<f4", shape + ")"))).shape.size(), 32u);
  expect_bad_input([&] { parsed(npy_header_bytes(npy_text("<f4", shape + "1)"))); }, {"32"});
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

TEST(NpyHeader, AHugeTextIsRefusedBeforeItIsRead) {
  std::string bytes = npy_header_bytes("{}", 2);
  bytes.replace(8, 4, "\xff\xff\xff\x7f");
  expect_bad_input([&] { parsed(bytes); }, {"header of 2147483647 bytes"});
}

}  // namespace dpreduce::npy_header_test
