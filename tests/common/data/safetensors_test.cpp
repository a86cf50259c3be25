#include "common/data/safetensors.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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
  using Limits = std::numeric_limits<double>;
  const std::vector<std::int64_t> integers = {0, -1, std::numeric_limits<std::int64_t>::max()};
  const std::vector<double> doubles = {0.0, -0.0, Limits::denorm_min(), Limits::max(), -INFINITY, Limits::quiet_NaN()};
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
  const auto refused = [](const std::vector<std::byte>& bytes, const std::string& complaint) {
    const std::string message = refusal<BadInput>([&] { parse_safetensors(bytes, "some/file"); });
    EXPECT_THAT(message, AllOf(StartsWith("some/file: "), HasSubstr(complaint), Not(HasSubstr("\n"))));
  };
  refused({}, "0 bytes are too few");
  refused(as_bytes("1234567"), "7 bytes are too few");
  for (const std::string_view length :
       {std::string_view("\x03\0\0\0\0\0\0\0", 8), std::string_view("\x01\xE1\xF5\x05\0\0\0\0", 8),
        std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")}) {
    refused(as_bytes(std::string(length) + "{}"), "does not fit a file of 10; is it a safetensors file");
  }
  // Headers before so many bytes of data.
  const auto headers = [&](const std::string& complaint, std::size_t size, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      SCOPED_TRACE(text.substr(0, 100));
      refused(safetensors_bytes(text, size), complaint);
    }
  };
  headers("not one JSON object", 0, {"", "[1]", " {}", "\xEF\xBB\xBF{}", std::string("{}\0{}", 5)});
  headers("not valid JSON at its byte", 0, {"{w}"});
  headers("too large", 8, {R"({"w":1e999})"});
  headers("not valid JSON", 0,
          {"{}{}", "{/* */}", "{\"\xFF\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"});
  headers("not valid JSON", 8, {R"({"w":{"dtype":"F64")"});
  headers("appears twice", 0, {R"({"__metadata__":{"a":"1","a":"2"}})", R"({"__metadata__":{},"__metadata__":{}})"});
  headers("\"shape\" appears twice", 8, {R"({"w":{"dtype":"U8","shape":[1],"shape":[8],"data_offsets":[0,8]}})"});
  headers("must be a text", 0, {R"({"__metadata__":{"a":1}})", R"({"__metadata__":{"a":{}}})"});
  headers("must be an object", 0, {R"({"__metadata__":"a"})", R"({"w":null})"});
  headers("unknown field", 8, {R"({"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8],"x":1}})"});
  headers("is missing", 8, {R"({"w":{"dtype":"U8","shape":[8]}})"});
  headers("must be a text", 8, {R"({"w":{"dtype":64,"shape":[1],"data_offsets":[0,8]}})"});
  headers("nested too deep", 0, {R"({"w":)" + std::string(1'000'000, '[')});

  const auto tensor = [](const char* name, const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype, shape, offsets);
  };
  const auto tensors = [&](const std::string& complaint, const std::vector<std::string>& parts) {
    headers(complaint, 8, {fmt::format("{{{}}}", fmt::join(parts, ","))});
  };
  tensors("\"w\" is of BF16, which is not read", {tensor("w", "BF16", "4", "0,8")});
  for (const char* const shape : {"-1", "1.0", "18446744073709551616", "\"1\"", "true"}) {
    tensors("must hold whole numbers", {tensor("w", "F64", shape, "0,8")});
  }
  tensors("nested too deep", {tensor("w", "F64", "[1]", "0,8")});
  tensors("passes 2^64", {tensor("w", "F64", "4294967296,4294967296", "0,8")});
  tensors("passes 2^64", {tensor("w", "U8", "2305843009213693953,8", "0,8")});
  for (const char* const offsets : {"0", "0,8,8"}) tensors("must be two numbers", {tensor("w", "F64", "1", offsets)});
  tensors("before its begin", {tensor("w", "F64", "1", "8,0")});
  tensors("past the data's 8", {tensor("w", "F64", "2", "0,16")});
  tensors("needs 16", {tensor("w", "F64", "2", "0,8")});
  tensors("appears twice", {tensor("w", "U8", "8", "0,8"), tensor("w", "U8", "8", "0,8")});
  tensors("inside another tensor", {tensor("a", "U8", "8", "0,8"), tensor("b", "U8", "4", "4,8")});
  tensors("inside another tensor", {tensor("a", "U8", "8", "0,8"), tensor("b", "U8", "8", "0,8")});
  tensors("after a hole", {tensor("a", "U8", "2", "0,2"), tensor("b", "U8", "4", "4,8")});
  tensors("after a hole", {tensor("a", "U8", "4", "4,8")});
  tensors("last 4 bytes", {tensor("a", "U8", "4", "0,4")});
  std::string ones = "1";
  for (int dimension = 1; dimension < 33; ++dimension) ones += ",1";
  headers("more than 32 dimensions", 1, {"{" + tensor("a", "U8", ones.c_str(), "0,1") + "}"});
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

}  // namespace dpreduce::safetensors_test
