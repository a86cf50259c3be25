#include "common/files/line_file.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/local_path.hpp"

namespace dpreduce {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw BadInput(fmt::format("{}: {} ({})", path, what, std::generic_category().message(errno)));
}

}  // namespace

int LineFile::opened(Existing existing) {
  if (path_.empty()) throw BadInput("an output path is empty; name a file");
  require_local(path_);
  std::error_code error;
  if (is_file(path_) || !std::filesystem::exists(path_, error)) {
    claim_ = OutputClaim(path_, std::filesystem::weakly_canonical(path_, error));
  }
  const int made = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  is_new_ = made >= 0;
  if (is_new_) return made;
  if (errno != EEXIST) fail(path_, "cannot be written");
  if (existing == Existing::kKeep && is_file(path_)) refuse_existing(path_);
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) fail(path_, "cannot be written");
  return file;
}

LineFile::LineFile(const std::string& path, Existing existing) : path_(path), file_(opened(existing)) {}

LineFile::~LineFile() {
  if (is_new_ && !is_written_) ::unlink(path_.c_str());
}

void LineFile::write(std::string_view line) {
  struct stat status {};
  if (!is_written_ && ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      ::ftruncate(file_.get(), 0) != 0) {
    fail(path_, "cannot be written");
  }
  is_written_ = true;
  const std::string bytes = std::string(line) + "\n";
  if (write_all(file_.get(), std::as_bytes(std::span(bytes))) < bytes.size()) fail(path_, "a line cannot be written");
}

}  // namespace dpreduce
