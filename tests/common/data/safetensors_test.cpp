#include "common/data/safetensors.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::safetensors_test {

std::vector<std::byte> as_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The header's length as eight bytes, least significant first; the header; `data_size` bytes 0, 1, 2, ...
std::vector<std::byte> safetensors_bytes(std::string_view header, std::size_t data_size) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(std::uint64_t{header.size()} >> shift & 0xFF);
  bytes += header;
  for (std::size_t index = 0; index < data_size; ++index) bytes += static_cast<char>(index & 0xFF);
  return as_bytes(bytes);
}

// Two float64 values 1.0 and -2.0, metadata {"a": "bc"}: every byte by hand from the format's description.
std::vector<std::byte> reference_file() {
  // 81 characters and seven spaces: 88 = 0x58.
  std::string bytes("\x58\0\0\0\0\0\0\0", 8);
  bytes += R"({"__metadata__":{"a":"bc"},"w":{"data_offsets":[0,16],"dtype":"F64","shape":[2]}}       )";
  bytes += std::string("\0\0\0\0\0\0\xF0\x3F", 8) + std::string("\0\0\0\0\0\0\0\xC0", 8);
  return as_bytes(bytes);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

SafetensorsFile reference_content() {
  SafetensorsFile file;
  file.metadata["a"] = "bc";
  file.tensors["w"] = make_tensor(std::vector<double>{1.0, -2.0}, {2});
  return file;
}

TEST(Safetensors, TheHandWrittenFileIsReadAndWritten) {
  EXPECT_EQ(parse_safetensors(reference_file(), "f"), reference_content());
  EXPECT_EQ(serialize(reference_content()), reference_file());
}

TEST(Safetensors, NumbersReturnBitForBit) {
  const std::vector<std::int64_t> integers = {0, -1, std::numeric_limits<std::int64_t>::max()};
  const std::vector<double> doubles = {0.0,
                                       -0.0,
                                       std::numeric_limits<double>::denorm_min(),
                                       std::numeric_limits<double>::max(),
                                       -std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::quiet_NaN()};
  SafetensorsFile file;
  file.tensors["i"] = make_tensor(integers, {3});
  file.tensors["d"] = make_tensor(doubles, {3, 2});
  const SafetensorsFile read = parse_safetensors(serialize(file), "f");
  EXPECT_EQ(entries_of<std::int64_t>(read.tensors.at("i")), integers);
  const std::vector<double> back = entries_of<double>(read.tensors.at("d"));
  ASSERT_EQ(back.size(), doubles.size());
  EXPECT_EQ(std::memcmp(back.data(), doubles.data(), doubles.size() * sizeof(double)), 0);
}

TEST(Safetensors, AnEmptyFileHasAnEmptyObject) {
  const std::vector<std::byte> bytes = serialize({});
  EXPECT_EQ(bytes, safetensors_bytes("{}      ", 0));
  EXPECT_EQ(parse_safetensors(bytes, "f"), SafetensorsFile());
}

TEST(Safetensors, RandomFilesOfAllTypesReturnAndAreAligned) {
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 200; ++repeat) {
    SafetensorsFile file;
    const auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    for (unsigned count = draw(6), tensor = 0; tensor < count; ++tensor) {
      Tensor drawn;
      drawn.type = kNumberTypes[draw(kNumberTypes.size())].dtype;
      std::size_t size = size_of(drawn.type);
      for (unsigned rank = draw(4), axis = 0; axis < rank; ++axis) {
        drawn.shape.push_back(draw(5));
        size *= drawn.shape.back();
      }
      for (std::size_t index = 0; index < size; ++index) drawn.data.push_back(static_cast<std::byte>(draw(256)));
      file.tensors["t\"\\\n\xC3\xA4" + std::to_string(draw(1000))] = drawn;
    }
    if (draw(2) == 1) file.metadata["key " + std::to_string(repeat)] = "value\t";
    const std::vector<std::byte> bytes = serialize(file);
    EXPECT_EQ(parse_safetensors(bytes, "f"), file);

    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    EXPECT_EQ(length % 8, 0U);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
    const nlohmann::json header = nlohmann::json::parse(text);
    for (const auto& [name, tensor] : file.tensors) {
      EXPECT_EQ(header[name]["data_offsets"][0].get<std::uint64_t>() % size_of(tensor.type), 0U) << name;
    }
  }
}

// Another writer's choices: spaces, other key order, data in another order than the names, a scalar, an empty tensor.
TEST(Safetensors, OtherWritersFilesAreRead) {
  const SafetensorsFile file = parse_safetensors(
      safetensors_bytes(R"({ "z" : {"shape": [], "dtype": "U8", "data_offsets": [0, 1]},)"
                        "\n\t"
                        R"("e": {"dtype":"F16","shape":[0,7],"data_offsets":[1,1]},)"
                        R"("a": {"dtype":"I32","shape":[1,2],"data_offsets":[1,9]}, "__metadata__": {} }   )",
                        9),
      "f");
  EXPECT_EQ(file.tensors.at("z").data, (std::vector<std::byte>{std::byte{0}}));
  EXPECT_TRUE(file.tensors.at("e").data.empty());
  EXPECT_EQ(file.tensors.at("a").shape, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(file.tensors.at("a").data.back(), std::byte{8});
}

TEST(Safetensors, ADamagedFileIsRefusedWithItsReasonAndName) {
  const auto header = [](std::string_view text, std::size_t size = 8) { return safetensors_bytes(text, size); };
  const auto bytes_tensor = [](const char* name, int size, int begin, int end) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name, size, begin, end);
  };
  const auto two_tensors = [&](const std::string& one, const std::string& other) {
    return header("{" + one + "," + other + "}");
  };
  const auto length = [](std::string_view eight) { return as_bytes(std::string(eight) + "{}"); };
  std::vector<std::byte> bad_utf8 =
      safetensors_bytes("{\"\xFF\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0);
  std::vector<std::byte> zero_byte = safetensors_bytes(std::string_view("{}\0{}", 5), 0);
  const std::pair<std::vector<std::byte>, const char*> damages[] = {
      {{}, "too few"},
      {as_bytes("1234567"), "too few"},
      {length(std::string_view("\x03\0\0\0\0\0\0\0", 8)), "does not fit"},
      {length(std::string_view("\x01\xE1\xF5\x05\0\0\0\0", 8)), "does not fit"},
      {length("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "does not fit"},
      {header("", 0), "not one JSON object"},
      {header("[1]", 0), "not one JSON object"},
      {header(" {}", 0), "not one JSON object"},
      {header("\xEF\xBB\xBF{}", 0), "not one JSON object"},
      {zero_byte, "not one JSON object"},
      {header("{w}", 0), "not valid JSON at its byte"},
      {header(R"({"w":1e999})", 0), "too large"},
      {header(R"({"w":{"dtype":"F64")"), "not valid JSON"},
      {header("{}{}", 0), "not valid JSON"},
      {header("{/* */}", 0), "not valid JSON"},
      {bad_utf8, "not valid JSON"},
      {two_tensors(bytes_tensor("w", 8, 0, 8), bytes_tensor("w", 8, 0, 8)), "appears twice"},
      {header(R"({"w":{"dtype":"U8","shape":[1],"shape":[8],"data_offsets":[0,8]}})"), "\"shape\" appears twice"},
      {header(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "appears twice"},
      {header(R"({"__metadata__":{},"__metadata__":{}})", 0), "appears twice"},
      {header(R"({"__metadata__":{"a":1}})", 0), "must be a text"},
      {header(R"({"__metadata__":"a"})", 0), "must be an object"},
      {header(R"({"__metadata__":{"a":{}}})", 0), "must be a text"},
      {header(R"({"w":null})", 0), "must be an object"},
      {header(R"({"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"x":1}})"), "unknown field"},
      {header(R"({"w":{"dtype":"U8","shape":[8]}})"), "is missing"},
      {header(R"({"w":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})"), "\"w\" is of BF16, which is not read"},
      {header(R"({"w":{"dtype":64,"shape":[1],"data_offsets":[0,8]}})"), "must be a text"},
      {header(R"({"w":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}})"), "must hold whole numbers"},
      {header(R"({"w":{"dtype":"F64","shape":[1.0],"data_offsets":[0,8]}})"), "must hold whole numbers"},
      {header(R"({"w":{"dtype":"F64","shape":[18446744073709551616],"data_offsets":[0,8]}})"),
       "must hold whole numbers"},
      {header(R"({"w":{"dtype":"F64","shape":["1"],"data_offsets":[0,8]}})"), "must hold whole numbers"},
      {header(R"({"w":{"dtype":"F64","shape":[true],"data_offsets":[0,8]}})"), "must hold whole numbers"},
      {header(R"({"w":{"dtype":"F64","shape":[[1]],"data_offsets":[0,8]}})"), "nested too deep"},
      {header(R"({"w":)" + std::string(1'000'000, '['), 0), "nested too deep"},
      {header(R"({"w":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]}})"), "passes 2^64"},
      {header(R"({"w":{"dtype":"U8","shape":[2305843009213693953,8],"data_offsets":[0,8]}})"), "passes 2^64"},
      {header(R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[0]}})"), "must be two numbers"},
      {header(R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8,8]}})"), "must be two numbers"},
      {header(R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[8,0]}})"), "before its begin"},
      {header(R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})"), "past the data's 8"},
      {header(R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}})"), "needs 16"},
      {two_tensors(bytes_tensor("a", 8, 0, 8), bytes_tensor("b", 4, 4, 8)), "inside another tensor"},
      {two_tensors(bytes_tensor("a", 8, 0, 8), bytes_tensor("b", 8, 0, 8)), "inside another tensor"},
      {two_tensors(bytes_tensor("a", 2, 0, 2), bytes_tensor("b", 4, 4, 8)), "after a hole"},
      {header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})"), "after a hole"},
      {header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"), "last 4 bytes"},
      {header(
           R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})",
           1),
       "more than 32 dimensions"},
  };
  for (const auto& [bytes, complaint] : damages) {
    SCOPED_TRACE(complaint);
    const std::string message = refusal<BadInput>([&, &damaged = bytes] { parse_safetensors(damaged, "some/file"); });
    EXPECT_THAT(message, StartsWith("some/file: "));
    EXPECT_THAT(message, HasSubstr(complaint));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
  }
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::vector<std::byte> whole = reference_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(parse_safetensors(std::span(whole).first(size), "f"), BadInput) << size;
  }
}

TEST(Safetensors, ImpossibleContentsAreOurOwnBug) {
  SafetensorsFile wrong_size;
  wrong_size.tensors["w"] = {DType::kFloat32, {3}, std::vector<std::byte>(11)};
  EXPECT_THROW(serialize(wrong_size), std::logic_error);

  SafetensorsFile reserved;
  reserved.tensors["__metadata__"] = {DType::kUint8, {0}, {}};
  EXPECT_THROW(serialize(reserved), std::logic_error);

  SafetensorsFile not_text;
  not_text.metadata["k"] = "\xFF";
  EXPECT_ANY_THROW(serialize(not_text));

  EXPECT_THROW(make_tensor(std::vector<double>{1.0}, {2}), std::logic_error);
  EXPECT_THROW(make_tensor(std::vector<std::int64_t>{1}, {2}), std::logic_error);
  EXPECT_THROW(entries_of<std::int64_t>(make_tensor(std::vector<double>{1.0}, {1})), std::logic_error);
  EXPECT_THROW(entries_of<double>({DType::kFloat32, {2}, std::vector<std::byte>(8)}), std::logic_error);
}

TEST(Safetensors, AFileIsReadOrRefusedByItsName) {
  const TemporaryFolder folder;
  const std::string path = folder / "f";
  expect_refusal<BadInput>([&] { parse_safetensors(MappedFile(path).bytes(), path); }, {path, "No such file"});
  EXPECT_THROW(MappedFile(folder.path()), BadInput);
  write_bytes(path, text_of(reference_file()));
  EXPECT_EQ(parse_safetensors(MappedFile(path).bytes(), path), reference_content());
  write_bytes(path, "\x93NUMPY\x01 and so on");
  expect_refusal<BadInput>([&] { parse_safetensors(MappedFile(path).bytes(), path); }, {"is it a safetensors file"});
  write_bytes(path, "abc");
  expect_refusal<BadInput>([&] { parse_safetensors(MappedFile(path).bytes(), path); }, {"3 bytes are too few"});
}

}  // namespace dpreduce::safetensors_test
