// Format of a structured value that crosses a trust boundary: PayloadArchiveWriter writes the value, and
// PayloadArchiveReader, which trusts no byte of it, reads it.
//
//     KIND VERSION      kind of the value, and the program's version: texts
//     DIGEST            SHA-256 of kind, version and value: against damage. The author is proved by a signature or a
//                       sealed fingerprint, where that matters
//     the value         its members in order; of a list its number of elements first
//
// A struct lists its members by serialize(archive, T&, unsigned), as for archives between trusted ranks
// (common/ranks/rank_archive.hpp). A value that was read has these properties, whoever wrote it: a list uses no memory
// before it is known that so many bytes are left; a bool is 0 or 1; an enumeration is one of spellings<E>; a double is
// finite; nothing follows the value. The caller checks the meaning of the value.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/described_types.hpp"
#include "common/base/error.hpp"
#include "common/silos/payload.hpp"

namespace dpreduce {

template <typename T>
concept PayloadNumber = std::integral<T> && !std::same_as<T, bool>;

/// Calls the serialize of T: its member function, or else a free function.
template <typename Archive, typename T>
void visit_members(Archive& archive, T& value) {
  if constexpr (requires { value.serialize(archive, 0U); }) {
    value.serialize(archive, 0U);
  } else {
    serialize(archive, value, 0U);
  }
}

class PayloadArchiveWriter {
 public:
  template <typename T>
  PayloadArchiveWriter& operator&(T& value) {
    write(value);
    return *this;
  }
  std::vector<std::byte> take() { return writer_.take(); }

 private:
  template <PayloadNumber T>
  void write(const T& number) {
    writer_.number(static_cast<std::make_unsigned_t<T>>(number), sizeof(T));
  }
  void write(const bool& flag) { writer_.number(flag ? 1 : 0, 1); }
  void write(const double& number) { writer_.u64(std::bit_cast<std::uint64_t>(number)); }
  template <typename E>
  requires std::is_enum_v<E>
  void write(const E& choice) { writer_.u32(static_cast<std::uint32_t>(choice)); }
  void write(const std::string& text) { writer_.u64(text.size()).text(text); }
  void write(const std::monostate&) {}
  template <typename T, std::size_t N>
  void write(const std::array<T, N>& elements) {
    for (const T& element : elements) write(element);
  }
  template <typename T>
  void write(const std::vector<T>& elements) {
    writer_.u64(elements.size());
    for (const T& element : elements) write(element);
  }
  template <typename First, typename Second>
  void write(const std::pair<First, Second>& pair) {
    write(pair.first);
    write(pair.second);
  }
  template <typename Key, typename T>
  void write(const std::map<Key, T>& entries) {
    write(std::vector<std::pair<Key, T>>(entries.begin(), entries.end()));
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <typename... T>
  void write(const std::variant<T...>& value) {
    writer_.u32(static_cast<std::uint32_t>(value.index()));
    std::visit([this](const auto& alternative) { this->write(alternative); }, value);
  }
  template <typename T>
  void write(const T& value) {
    visit_members(*this, const_cast<T&>(value));  // which reads them only
  }

  PayloadWriter writer_;
};

class PayloadArchiveReader {
 public:
  explicit PayloadArchiveReader(std::span<const std::byte> bytes) : reader_(bytes) {}

  template <typename T>
  PayloadArchiveReader& operator&(T& value) {
    read(value);
    return *this;
  }
  /// Throws AggregationAborted if bytes are left.
  void end() const { reader_.end(); }

 private:
  template <PayloadNumber T>
  void read(T& number) {
    number = static_cast<T>(reader_.number(sizeof(T)));
  }
  void read(bool& flag) {
    const std::uint64_t byte = reader_.number(1);
    if (byte > 1) throw AggregationAborted("a flag is neither 0 nor 1");
    flag = byte == 1;
  }
  void read(double& number) {
    number = std::bit_cast<double>(reader_.u64());
    if (!std::isfinite(number)) throw AggregationAborted("a number is not finite");
  }
  template <typename E>
  requires std::is_enum_v<E>
  void read(E& choice) {
    static_assert(!spellings<E>.empty(), "which values there are must be known");
    const std::uint32_t number = reader_.u32();
    for (const auto& [spelling, value] : spellings<E>) {
      if (static_cast<std::uint32_t>(value) != number) continue;
      choice = value;
      return;
    }
    throw AggregationAborted("a choice is none of its list");
  }
  void read(std::string& text) { text = text_in(reader_.bytes(count())); }
  void read(std::monostate&) {}
  template <typename T, std::size_t N>
  void read(std::array<T, N>& elements) {
    for (T& element : elements) read(element);
  }
  template <typename T>
  void read(std::vector<T>& elements) {
    const std::size_t number = count();
    elements.clear();
    if constexpr (PayloadNumber<T> || std::same_as<T, double>) {
      if (number > reader_.size_left() / sizeof(T)) throw AggregationAborted("a list is longer than its message");
      elements.reserve(number);
    }
    for (std::size_t place = 0; place < number; ++place) read(elements.emplace_back());  // each takes bytes of its own
  }
  template <typename First, typename Second>
  void read(std::pair<First, Second>& pair) {
    read(pair.first);
    read(pair.second);
  }
  template <typename Key, typename T>
  void read(std::map<Key, T>& entries) {
    std::vector<std::pair<Key, T>> listed;
    read(listed);
    entries = std::map<Key, T>(listed.begin(), listed.end());
  }
  template <typename T>
  void read(std::optional<T>& value) {
    bool is_there = false;
    read(is_there);
    value.reset();
    if (is_there) read(value.emplace());
  }
  template <typename... T>
  void read(std::variant<T...>& value) {
    const std::uint32_t index = reader_.u32();
    std::uint32_t candidate = 0;
    const auto read_if_chosen = [&](auto alternative) {
      if (candidate++ != index) return;
      read(alternative);
      value = std::move(alternative);
    };
    (read_if_chosen(T{}), ...);
    if (index >= sizeof...(T)) throw AggregationAborted("a choice is none of its list");
  }
  template <typename T>
  void read(T& value) {
    visit_members(*this, value);
  }

  /// Reads a number of elements or bytes: at most one for each byte that is left.
  std::size_t count() {
    const std::uint64_t number = reader_.u64();
    if (number > reader_.size_left()) throw AggregationAborted("a list is longer than its message");
    return static_cast<std::size_t>(number);
  }

  PayloadReader reader_;
};

/// Message with KIND, VERSION and DIGEST in front of the bytes of a value.
std::string framed_message(std::string_view kind, std::span<const std::byte> value);

/// Returns the bytes of the value in a message. Throws UsageError naming both versions if another version of the
/// program wrote the message, AggregationAborted if the message is of another kind, or damaged.
std::span<const std::byte> value_in(std::string_view message, std::string_view kind);

/// Message with the value: its archive, framed (above).
template <typename Value>
std::string message_of(std::string_view kind, const Value& value) {
  PayloadArchiveWriter archive;
  archive& value;
  return framed_message(kind, archive.take());
}

/// Throws BadInput: the bytes are no message of that kind, or damaged.
[[noreturn]] void refuse_message(std::string_view kind);

/// Reads the value from message_of(kind, value). Throws UsageError naming both versions if another version of the
/// program wrote the message; BadInput if the message is damaged, or of another kind.
template <typename Value>
Value value_of_message(std::string_view kind, std::string_view message) {
  try {
    PayloadArchiveReader archive(value_in(message, kind));
    Value value{};
    archive& value;
    archive.end();
    return value;
  } catch (const AggregationAborted&) {
    refuse_message(kind);
  }
}

}  // namespace dpreduce
