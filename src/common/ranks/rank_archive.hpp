// Archives by which ranks that trust each other exchange structured values: one archive of Boost.Serialization, within
// a message that names its kind and its version and has a digest (framed_message). The kind names the type of the
// value: ranks run one and the same program, so that types have the same names for all of them.
//
// Data from anybody else is read by common/silos/payload_archive.hpp, which trusts nothing. Boost's headers are slow to
// compile: only sources that define a message of ranks include this.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/array.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/tracking.hpp>
#include <boost/serialization/vector.hpp>

#include "common/base/described_types.hpp"
#include "common/base/error.hpp"
#include "common/silos/payload_archive.hpp"

namespace boost::serialization {

// A struct is archived as its members alone. Equal programs need no versions of classes, and values have no identity.
template <typename T>
requires std::is_class_v<T>
struct implementation_level_impl<const T> : mpl::int_<object_serializable> {
};
template <typename T>
requires std::is_class_v<T>
struct tracking_level_impl<const T> : mpl::int_<track_never> {
};

// First whether there is a value, then the value.
template <typename Archive, typename T>
void serialize(Archive& archive, std::optional<T>& value, unsigned) {
  bool is_there = value.has_value();
  dpreduce::archive_all(archive, is_there);
  if constexpr (Archive::is_loading::value) {
    value.reset();
    if (is_there) value.emplace();
  }
  if (is_there) dpreduce::archive_all(archive, *value);
}

}  // namespace boost::serialization

namespace dpreduce {

/// Kind of message of an archive of that type.
template <typename Value>
std::string kind_of_archive() {
  return std::string("message between ranks, of type ") + typeid(Value).name();
}

/// The archive of `value`. Equal values have equal archives.
template <typename Value>
std::string archived(const Value& value) {
  std::ostringstream stream;
  {
    boost::archive::binary_oarchive archive(stream, boost::archive::no_header);
    archive << value;
  }
  return framed_message(kind_of_archive<Value>(), std::as_bytes(std::span(stream.view())));
}

/// The value of archived(value). Throws UsageError naming both versions where another version of the program made the
/// archive, AggregationAborted where it is damaged or of another type.
template <typename Value>
Value unarchived(std::string_view message) {
  const std::span<const std::byte> bytes = value_in(message, kind_of_archive<Value>());
  std::istringstream stream(std::string(text_in(bytes)));
  Value value{};
  try {
    boost::archive::binary_iarchive archive(stream, boost::archive::no_header);
    archive >> value;
  } catch (const std::exception&) {  // made by another Boost
    throw AggregationAborted("a message is damaged");
  }
  if (stream.peek() != std::istringstream::traits_type::eof()) throw AggregationAborted("a message is damaged");
  return value;
}

}  // namespace dpreduce
