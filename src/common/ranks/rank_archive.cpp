#include "common/ranks/rank_archive.hpp"

#include <cstdint>
#include <cstring>

#include <boost/crc.hpp>

#include "common/base/version.hpp"

namespace dpreduce {
namespace {

constexpr unsigned kFormat = 2;
constexpr const char* kMagic = "dpreduce archive";

std::uint32_t crc_of(const std::string& bytes, const std::type_info& type) {
  boost::crc_32_type crc;
  crc.process_bytes(type.name(), std::strlen(type.name()));
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace

std::string framed_payload(const std::string& payload, const std::type_info& type) {
  return fmt::format("{} {} {} {} {:08x}\n", kMagic, kFormat, version(), payload.size(), crc_of(payload, type)) +
         payload;
}

std::string payload_of(const std::string& archive, const std::type_info& type) {
  const std::size_t end = archive.find('\n');
  if (end == std::string::npos || !archive.starts_with(kMagic)) refuse_damaged_archive();
  std::istringstream line(archive.substr(std::string(kMagic).size(), end - std::string(kMagic).size()));
  unsigned format = 0;
  std::string made_by;
  std::size_t length = 0;
  std::uint32_t crc = 0;
  if (!(line >> format >> made_by)) refuse_damaged_archive();
  if (format != kFormat || made_by != version()) {
    throw UsageError(fmt::format(
        "this rank runs dpreduce {} (messages of format {}), but another one dpreduce {} (format {}); start "
        "the same program on all ranks",
        version(), kFormat, made_by, format));
  }
  std::string payload = archive.substr(end + 1);
  if (!(line >> length >> std::hex >> crc) || payload.size() != length || crc_of(payload, type) != crc)
    refuse_damaged_archive();
  return payload;
}

void refuse_damaged_archive() {
  throw AggregationAborted("a message of another rank of this job is damaged; start the job again");
}

}  // namespace dpreduce
