// How ranks that trust each other exchange structured values: as one archive of Boost.Serialization.
//
//     "dpreduce archive 2 0.1.0 LENGTH CRC\n"   format and version of the program; of the rest: its bytes, and CRC-32
//                                             (hex) of the name of the value's type followed by it
//     Boost's binary archive of the value       in the machine's own byte order
//
// Only ranks of one job exchange archives: equal programs that trust each other. What comes from anybody else is read
// by common/silos/payload_archive.hpp. Boost's headers are slow to compile: include this in few files.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/split_free.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/tracking.hpp>
#include <boost/serialization/vector.hpp>
#include <fmt/format.h>

#include "common/base/archive_all.hpp"
#include "common/base/error.hpp"

namespace boost::serialization {

// A struct is archived as its members alone. Equal programs need no versions of classes, and values have no identity.
// Without what Boost does for these, a file with archives compiles in 0.7 of the time.
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
void save(Archive& archive, const std::optional<T>& value, unsigned) {
  const bool is_there = value.has_value();
  archive << is_there;
  if (is_there) archive << *value;
}
template <typename Archive, typename T>
void load(Archive& archive, std::optional<T>& value, unsigned) {
  bool is_there = false;
  archive >> is_there;
  value.reset();
  if (is_there) archive >> value.emplace();
}
template <typename Archive, typename T>
void serialize(Archive& archive, std::optional<T>& value, unsigned version) {
  split_free(archive, value, version);
}

// First the index of the alternative, then its value.
template <typename Archive, typename... T>
void save(Archive& archive, const std::variant<T...>& value, unsigned) {
  const std::size_t index = value.index();
  archive << index;
  std::visit([&](const auto& alternative) { archive << alternative; }, value);
}
template <typename Archive, typename... T>
void load(Archive& archive, std::variant<T...>& value, unsigned) {
  std::size_t index = 0;
  archive >> index;
  std::size_t candidate = 0;
  const auto load_if_chosen = [&](auto alternative) {
    if (candidate++ != index) return;
    archive >> alternative;
    value = std::move(alternative);
  };
  (load_if_chosen(T{}), ...);
  if (index >= sizeof...(T)) throw dpreduce::AggregationAborted(fmt::format("no alternative {}", index));
}
template <typename Archive, typename... T>
void serialize(Archive& archive, std::variant<T...>& value, unsigned version) {
  split_free(archive, value, version);
}

}  // namespace boost::serialization

namespace dpreduce {

/// `payload` of a value of `type` behind the first line of an archive.
std::string framed_payload(const std::string& payload, const std::type_info& type);

/// What follows an archive's first line, once it is known to be whole and of `type`. Throws as unarchived().
std::string payload_of(const std::string& archive, const std::type_info& type);

[[noreturn]] void refuse_damaged_archive();

/// The archive of `value`. Equal values have equal archives.
template <typename Value>
std::string archived(const Value& value) {
  std::ostringstream stream;
  {
    boost::archive::binary_oarchive archive(stream);
    archive << value;
  }
  return framed_payload(std::move(stream).str(), typeid(Value));
}

/// The value of archived(value). Throws UsageError naming both versions where another version of the program made the
/// archive, AggregationAborted where it is damaged or of another type.
template <typename Value>
Value unarchived(const std::string& archive) {
  std::istringstream stream(payload_of(archive, typeid(Value)));
  Value value;
  try {
    boost::archive::binary_iarchive reader(stream);
    reader >> value;
  } catch (const std::exception&) {  // made by another Boost
    refuse_damaged_archive();
  }
  return value;
}

}  // namespace dpreduce
