#include "common/silos/payload.hpp"

#include <bit>
#include <cmath>

#include "common/base/error.hpp"

namespace dpreduce {

PayloadWriter& PayloadWriter::number(std::uint64_t number, std::size_t width) {
  const std::size_t first = bytes_.size();
  bytes_.resize(first + width);
  for (std::size_t place = 0; place < width; ++place) {
    bytes_[first + place] = static_cast<std::byte>(number >> (8 * place));
  }
  return *this;
}

PayloadWriter& PayloadWriter::bytes(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

PayloadWriter& PayloadWriter::numbers(std::span<const std::uint32_t> numbers) {
  u32(static_cast<std::uint32_t>(numbers.size()));
  for (const std::uint32_t number : numbers) u32(number);
  return *this;
}

std::span<const std::byte> PayloadReader::bytes(std::size_t length) {
  if (length > rest_.size()) throw AggregationAborted("a message is shorter than its kind needs");
  const auto read = rest_.first(length);
  rest_ = rest_.subspan(length);
  return read;
}

std::uint64_t PayloadReader::number(std::size_t width) {
  const auto read = bytes(width);
  std::uint64_t number = 0;
  for (std::size_t place = 0; place < width; ++place)
    number |= std::to_integer<std::uint64_t>(read[place]) << (8 * place);
  return number;
}

double PayloadReader::whole_number(std::string_view whose) {
  constexpr double kMost = 9007199254740992.0;  // 2^53
  const auto number = std::bit_cast<double>(u64());
  if (number >= 0.0 && number <= kMost && number == std::floor(number)) return number;  // no NaN is
  throw AggregationAborted("{} number is not a whole one from 0 to 2^53", whose);
}

std::vector<std::uint32_t> PayloadReader::numbers() {
  const std::size_t count = u32();
  PayloadReader listed(bytes(4 * count));
  std::vector<std::uint32_t> result(count);
  for (std::uint32_t& number : result) number = listed.u32();
  return result;
}

void PayloadReader::end() const {
  if (!rest_.empty()) throw AggregationAborted("a message is longer than its kind needs");
}

}  // namespace dpreduce
