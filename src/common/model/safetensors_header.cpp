#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/model/safetensors.hpp"

namespace dpreduce {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadataKey = "__metadata__";

std::optional<TensorType> tensor_type_of(std::string_view name) {
  for (const TensorType type : {TensorType::kF64, TensorType::kF32, TensorType::kF16, TensorType::kI64,
                                TensorType::kI32, TensorType::kI16, TensorType::kU8}) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

// The grammar, as a state machine. A state's name says what may come next.
class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(std::string_view source) : source_(source) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (state_) {
      case State::kTopObject:
        state_ = State::kName;
        return true;
      case State::kMetadataObject:
        state_ = State::kMetadataName;
        return true;
      case State::kEntryObject:
        fields_.clear();
        state_ = State::kField;
        return true;
      default:
        return unexpected("an object");
    }
  }

  bool key(std::string& text) override {
    switch (state_) {
      case State::kName:
        return begin_entry(text);
      case State::kMetadataName:
        name_ = text;
        if (header_.metadata.contains(text)) {
          fail(fmt::format("metadata {} stands twice in the header", printable_name(text)));
        }
        state_ = State::kMetadataValue;
        return true;
      case State::kField:
        return begin_field(text);
      default:
        return unexpected("a key");
    }
  }

  bool string(std::string& text) override {
    if (state_ == State::kMetadataValue) {
      header_.metadata.emplace(std::move(name_), std::move(text));
      state_ = State::kMetadataName;
      return true;
    }
    if (state_ != State::kType) return unexpected("a string");
    const std::optional<TensorType> type = tensor_type_of(text);
    if (!type) {
      fail(fmt::format("tensor {} has dtype {}; known are F64, F32, F16, I64, I32, I16, U8", printable_name(name_),
                       printable_name(text)));
    }
    entry_->type = *type;
    state_ = State::kField;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::kShapeArray) {
      state_ = State::kDimension;
    } else if (state_ == State::kOffsetsArray) {
      offsets_seen_ = 0;
      state_ = State::kOffset;
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (state_ == State::kDimension) {
      if (entry_->shape.size() == kMaxTensorRank) {
        fail(fmt::format("tensor {} has more than {} dimensions", printable_name(name_), kMaxTensorRank));
      }
      entry_->shape.push_back(value);
      return true;
    }
    if (state_ != State::kOffset) return unexpected("a number");
    if (offsets_seen_ == 2) fail(fmt::format("tensor {} has more than two data_offsets", printable_name(name_)));
    (offsets_seen_ == 0 ? entry_->begin : entry_->end) = value;
    ++offsets_seen_;
    return true;
  }

  bool end_array() override {
    if (state_ == State::kOffset && offsets_seen_ != 2) {
      fail(fmt::format("tensor {} has {} data_offsets instead of two", printable_name(name_), offsets_seen_));
    }
    state_ = State::kField;
    return true;
  }

  bool end_object() override {
    if (state_ == State::kField && fields_.size() != 3) {
      fail(fmt::format("tensor {} lacks one of dtype, shape, data_offsets", printable_name(name_)));
    }
    state_ = state_ == State::kName ? State::kEnd : State::kName;
    return true;
  }

  bool number_integer(std::int64_t value) override { return unexpected(fmt::format("the negative number {}", value)); }
  bool number_float(double, const std::string&) override { return unexpected("a number that is no 64-bit integer"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool null() override { return unexpected("null"); }
  bool binary(json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail(fmt::format("the header is not valid JSON at its byte {}", position));
  }

 private:
  enum class State {
    kTopObject,
    kName,
    kMetadataObject,
    kMetadataName,
    kMetadataValue,
    kEntryObject,
    kField,
    kType,
    kShapeArray,
    kDimension,
    kOffsetsArray,
    kOffset,
    kEnd
  };

  [[noreturn]] void fail(const std::string& reason) const {
    throw BadInput(fmt::format("{}: {}; is this a safetensors file?", source_, reason));
  }

  bool unexpected(std::string_view what) const {
    static constexpr std::array<std::string_view, 13> kExpected = {
        "the header's object", "a tensor's name",     "the metadata object",  "a metadata key", "a metadata string",
        "a tensor's object",   "a field's name",      "the dtype's name",     "the shape list", "a dimension from 0 up",
        "the offset list",     "an offset from 0 up", "the end of the header"};
    fail(fmt::format("the header has {} where {} belongs{}", what, kExpected.at(static_cast<std::size_t>(state_)),
                     name_.empty() ? std::string() : " (at " + printable_name(name_) + ")"));
  }

  bool begin_entry(const std::string& name) {
    name_ = name;
    if (name == kMetadataKey) {
      if (metadata_seen_) fail("__metadata__ stands twice in the header");
      metadata_seen_ = true;
      state_ = State::kMetadataObject;
      return true;
    }
    const auto [position, inserted] = header_.entries.try_emplace(name);
    if (!inserted) fail(fmt::format("tensor {} stands twice in the header", printable_name(name)));
    entry_ = &position->second;
    state_ = State::kEntryObject;
    return true;
  }

  bool begin_field(const std::string& field) {
    if (field == "dtype") {
      state_ = State::kType;
    } else if (field == "shape") {
      state_ = State::kShapeArray;
    } else if (field == "data_offsets") {
      state_ = State::kOffsetsArray;
    } else {
      fail(fmt::format("tensor {} has the unknown field {}", printable_name(name_), printable_name(field)));
    }
    if (!fields_.insert(field).second) fail(fmt::format("tensor {} has {} twice", printable_name(name_), field));
    return true;
  }

  std::string_view source_;
  SafetensorsHeader header_;
  State state_ = State::kTopObject;
  bool metadata_seen_ = false;
  std::string name_;              // of the entry or metadata being read
  TensorEntry* entry_ = nullptr;  // in header_.entries, whose nodes do not move
  std::set<std::string> fields_;  // of *entry_ that were read
  std::size_t offsets_seen_ = 0;
};

}  // namespace

std::string printable_name(std::string_view name) {
  constexpr std::size_t kShown = 60;
  const bool whole = name.size() <= kShown;
  return ascii_json_text(json(std::string(name.substr(0, kShown)))) + (whole ? "" : "...");
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::string_view source) {
  // The JSON reader would skip a byte order mark, and take a zero byte for the end of its input.
  if (!text.starts_with('{') || text.find('\0') != std::string_view::npos) {
    throw BadInput(fmt::format("{}: the header is not one JSON object; is this a safetensors file?", source));
  }
  HeaderReader reader(source);
  json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace dpreduce
