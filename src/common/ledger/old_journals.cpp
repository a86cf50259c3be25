#include "common/ledger/old_journals.hpp"

#include <algorithm>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file_descriptor.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/run_file.hpp"
#include "common/randomness/private_file.hpp"

namespace dpreduce {
namespace {

constexpr std::string_view kBegins = "dpreduce journal ";
constexpr std::size_t kLargestJournal = std::size_t{1} << 28;

// The runs that a journal names, each in a line "run <id>".
std::vector<std::string> runs_in(std::string_view text) {
  constexpr std::string_view kRun = "run ";
  std::vector<std::string> runs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(kRun)) continue;
    const std::string_view id = line.substr(kRun.size());
    if (is_lower_hex(id, kRunIdDigits, kRunIdDigits)) runs.emplace_back(id);
  }
  return runs;
}

}  // namespace

std::vector<std::string> give_up_journals(const std::filesystem::path& ledger) {
  std::vector<std::string> given_up;
  for (const std::filesystem::path& path : files_of_runs(ledger, ".journal")) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    // A link, a folder, or another user's file is no journal of this ledger.
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) continue;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;  // a run of an earlier version lives
    const auto bytes = read_private_file(path, "journal", kLargestJournal);
    if (!bytes) continue;
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (!text.starts_with(kBegins)) continue;  // what is no journal is never overwritten
    for (const std::string& run : runs_in(text)) {
      if (Ledger(ledger).end(run, RunOutcome::kReleased)) given_up.push_back(run);
    }
    destroy_private_file(path, "journal");
  }
  return given_up;
}

}  // namespace dpreduce
