#include "dpreduce/randomness/private_file.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "dpreduce/config/error.hpp"
#include "dpreduce/config/file_descriptor.hpp"

namespace dpreduce {

std::optional<SecretVector<std::byte>> read_private_file(const std::filesystem::path& path, std::string_view option,
                                                         std::size_t most) {
  const auto refuse = [&](const std::string& what) {
    throw BadInput(fmt::format("{} {}: {}", option, path.string(), what));
  };
  const auto refuse_with_reason = [&](const char* what) {
    refuse(fmt::format("{}: {}", what, std::generic_category().message(errno)));
  };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse_with_reason("cannot be opened");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse_with_reason("cannot be examined");
  if (!S_ISREG(status.st_mode)) refuse("must be a regular file");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    refuse("others than its owner may use it; after making sure that nobody did: chmod 600");
  }
  SecretVector<std::byte> content(most + 1);
  std::size_t length = 0;
  while (length < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + length, content.size() - length);
    if (got < 0) refuse_with_reason("cannot be read");
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  content.resize(length);
  return content;
}

}  // namespace dpreduce
