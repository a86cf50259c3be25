// Payload of a message: numbers and bytes in sequence, little-endian, every length bounded by the bytes left.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace dpreduce {

inline std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string_view text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PayloadWriter {
 public:
  /// Writes the lowest `width` bytes of a number; width <= 8.
  PayloadWriter& number(std::uint64_t number, std::size_t width);
  PayloadWriter& u32(std::uint32_t value) { return number(value, 4); }
  PayloadWriter& u64(std::uint64_t value) { return number(value, 8); }
  PayloadWriter& bytes(std::span<const std::byte> bytes);
  PayloadWriter& text(std::string_view text) { return bytes(bytes_in(text)); }
  /// Writes the bytes of a struct whose members are all bytes.
  template <typename T>
  PayloadWriter& plain(const T& value) {
    static_assert(alignof(T) == 1);
    return bytes(std::as_bytes(std::span(&value, 1)));
  }
  /// Writes the count of the numbers, then each of them.
  PayloadWriter& numbers(std::span<const std::uint32_t> numbers);
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reader of a payload. Every read throws AggregationAborted if the payload ends before it.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  /// Reads a number of `width` bytes; width <= 8.
  std::uint64_t number(std::size_t width);
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  /// Reads a double that is a whole number from 0 to 2^53, as messages of kind `number` hold one. Throws
  /// AggregationAborted if it is another, with `whose` ("its") before the fault.
  double whole_number(std::string_view whose);
  std::span<const std::byte> bytes(std::size_t length);
  template <typename T>
  T plain() {
    static_assert(alignof(T) == 1);
    T value{};
    std::ranges::copy(bytes(sizeof(T)), std::as_writable_bytes(std::span(&value, 1)).begin());
    return value;
  }
  template <std::size_t N>
  std::array<std::byte, N> array() {
    return plain<std::array<std::byte, N>>();
  }
  /// Reads numbers that PayloadWriter::numbers has written. Their count is checked against the bytes left.
  std::vector<std::uint32_t> numbers();
  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  std::size_t size_left() const { return rest_.size(); }
  /// Throws AggregationAborted if bytes are left.
  void end() const;

 private:
  std::span<const std::byte> rest_;
};

}  // namespace dpreduce
