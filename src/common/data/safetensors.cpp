#include "common/data/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_fields.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kPrefix = sizeof(std::uint64_t);
// The format's own limit on headers.
constexpr std::uint64_t kMaxHeader = 100'000'000;

// product(shape) * size_of(type), or nothing where it passes 2^64.
std::optional<std::uint64_t> byte_count(DType type, std::span<const std::uint64_t> shape) {
  std::uint64_t bytes = size_of(type);
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

constexpr const char* kMetadataKey = "__metadata__";
constexpr const char* kIsSafetensors = "; is this a safetensors file?";

[[noreturn]] void refuse_header(std::string_view source, const std::string& reason) {
  throw BadInput("{}: {}{}", source, reason, kIsSafetensors);
}

// The header's JSON. What stands twice, or is deeper or longer than a header can be, is refused where it stands.
nlohmann::json header_json(std::string_view text, std::string_view source) {
  // The JSON reader would skip a byte order mark, and take a zero byte for the end of its input.
  if (!text.starts_with('{') || text.find('\0') != std::string_view::npos) {
    refuse_header(source, "the header is not one JSON object");
  }
  constexpr int kDeepest = 3;                // the entries of a shape
  std::vector<std::set<std::string>> names;  // of the objects that are open
  std::size_t in_list = 0;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > kDeepest || (depth == kDeepest && event != Event::value))
      refuse_header(source, "the header is nested too deep");
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(value.get<std::string>()).second) {
      refuse_header(source, fmt::format("{} appears twice in the header", in_quotes(value.get<std::string>())));
    }
    in_list = event == Event::value ? in_list + 1 : 0;
    if (in_list > kMaxTensorRank)
      refuse_header(source, fmt::format("a tensor has more than {} dimensions", kMaxTensorRank));
    return true;
  };
  try {
    return nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::parse_error& error) {
    refuse_header(source, fmt::format("the header is not valid JSON at its byte {}", error.byte));
  } catch (const nlohmann::json::out_of_range&) {
    refuse_header(source, "a number in the header is too large");
  }
}

DType tensor_type(const JsonFields& fields) {
  const std::string name = fields.printable_text("dtype");
  const auto type = std::ranges::find(kNumberTypes, name, &NumberType::tensor);
  if (type == kNumberTypes.end()) fields.refuse("dtype", fmt::format("is \"{}\", which is unknown", name));
  return type->dtype;
}

// Offsets are not yet compared with shapes or the file.
SafetensorsHeader parse_header(std::string_view text, std::string_view source) {
  const nlohmann::json parsed = header_json(text, source);
  SafetensorsHeader header;
  for (const auto& [name, value] : parsed.items()) {
    const JsonFields fields(value, std::string(source), kIsSafetensors, in_quotes(name) + ".");
    if (name == kMetadataKey) {
      for (const auto& [key, text_of_key] : value.items()) {
        if (!text_of_key.is_string()) fields.refuse(in_quotes(key), "must be a text");
        header.metadata.emplace(key, text_of_key.get<std::string>());
      }
      continue;
    }
    if (value.is_object() && value.value("dtype", nlohmann::json()) == "BF16") {
      throw BadInput("{}: {} is of BF16, which is not read; convert it: tensor.float()", source, in_quotes(name));
    }
    const std::vector<std::uint64_t> offsets = fields.counts("data_offsets");
    if (offsets.size() != 2) fields.refuse("data_offsets", "must be two numbers");
    header.entries.emplace(name, TensorEntry{tensor_type(fields), fields.counts("shape"), offsets[0], offsets[1]});
    if (value.size() != 3) fields.refuse(fmt::format("tensor {} has an unknown field", in_quotes(name)));
  }
  return header;
}

// Requires that every entry has as many bytes as its type and shape imply, and that the entries tile [0, data_size): no
// overlap, no hole.
void require_tiling(const SafetensorsHeader& header, std::uint64_t data_size, std::string_view source) {
  const auto fail = [&](std::string_view name, const std::string& reason) {
    throw BadInput("{}: tensor {} {}; the file is damaged", source, in_quotes(name), reason);
  };
  std::vector<std::pair<std::string_view, const TensorEntry*>> ordered;
  for (const auto& [name, entry] : header.entries) {
    const std::optional<std::uint64_t> bytes = byte_count(entry.type, entry.shape);
    if (!bytes) fail(name, "has a shape whose size passes 2^64 bytes");
    if (entry.end < entry.begin) fail(name, fmt::format("ends at {}, before its begin {}", entry.end, entry.begin));
    if (entry.end > data_size) fail(name, fmt::format("ends at {}, past the data's {} bytes", entry.end, data_size));
    if (entry.end - entry.begin != *bytes) {
      fail(name, fmt::format("has {} bytes where its shape needs {}", entry.end - entry.begin, *bytes));
    }
    ordered.emplace_back(name, &entry);
  }
  std::ranges::sort(ordered, {}, [](const auto& named) { return std::pair(named.second->begin, named.second->end); });
  std::uint64_t covered = 0;
  for (const auto& [name, entry] : ordered) {
    if (entry->begin < covered) fail(name, fmt::format("begins at {}, inside another tensor", entry->begin));
    if (entry->begin > covered) fail(name, fmt::format("begins at {}, after a hole from {}", entry->begin, covered));
    covered = entry->end;
  }
  if (covered != data_size) {
    throw BadInput("{}: the last {} bytes belong to no tensor; the file is damaged", source, data_size - covered);
  }
}

}  // namespace

Tensor tensor_of(DType type, std::span<const std::byte> data, std::vector<std::uint64_t> shape) {
  DPREDUCE_ASSERT(byte_count(type, shape) == data.size());
  return {type, std::move(shape), {data.begin(), data.end()}};
}

std::vector<std::byte> serialize(const SafetensorsFile& file) {
  std::vector<const std::pair<const std::string, Tensor>*> ordered;
  for (const auto& named : file.tensors) ordered.push_back(&named);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* left, const auto* right) {
    return size_of(left->second.type) > size_of(right->second.type);
  });

  nlohmann::json header = nlohmann::json::object();
  if (!file.metadata.empty()) header[kMetadataKey] = file.metadata;
  std::uint64_t data_size = 0;
  for (const auto* named : ordered) {
    const auto& [name, tensor] = *named;
    DPREDUCE_ASSERT(name != kMetadataKey && !number_type(tensor.type).tensor.empty());
    DPREDUCE_ASSERT(byte_count(tensor.type, tensor.shape) == tensor.data.size());
    header[name] = {{"dtype", number_type(tensor.type).tensor},
                    {"shape", tensor.shape},
                    {"data_offsets", {data_size, data_size + tensor.data.size()}}};
    data_size += tensor.data.size();
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  DPREDUCE_ASSERT(text.size() <= kMaxHeader);

  std::vector<std::byte> bytes(kPrefix + text.size() + data_size);
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kPrefix);
  auto out = std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), bytes.begin() + kPrefix);
  for (const auto* named : ordered) out = std::copy(named->second.data.begin(), named->second.data.end(), out);
  return bytes;
}

SafetensorsHeader safetensors_header(std::span<const std::byte> bytes, std::string_view source) {
  if (bytes.size() < kPrefix) {
    throw BadInput("{}: {} bytes are too few for a safetensors file", source, bytes.size());
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kPrefix);
  if (length > kMaxHeader || length > bytes.size() - kPrefix) {
    throw BadInput("{}: a header of {} bytes does not fit a file of {}; is it a safetensors file, and whole?", source,
                   length, bytes.size());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kPrefix, length);
  SafetensorsHeader header = parse_header(text, source);
  header.data_offset = kPrefix + length;
  require_tiling(header, bytes.size() - header.data_offset, source);
  return header;
}

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, std::string_view source) {
  SafetensorsHeader header = safetensors_header(bytes, source);
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  for (auto& [name, entry] : header.entries) {
    const std::span<const std::byte> piece = data.subspan(entry.begin, entry.end - entry.begin);
    file.tensors.emplace(name, Tensor{entry.type, std::move(entry.shape), {piece.begin(), piece.end()}});
  }
  return file;
}

}  // namespace dpreduce
