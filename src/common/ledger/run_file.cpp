#include "common/ledger/run_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/randomness/private_file.hpp"
#include "common/randomness/secure_bytes.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFileName = "releases";
constexpr std::string_view kFirstLine = "dpreduce releases 1";
constexpr std::string_view kSuffix = ".releases";
constexpr std::size_t kConfigDigits = 64;
constexpr std::size_t kLongestLine = std::size_t{1} << 16;
constexpr auto kWaitForLock = std::chrono::seconds(5);  // ranks of a killed run may live that long
constexpr auto kLockPoll = std::chrono::milliseconds(20);

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw BadInput("{} {}: {}", kFileName, path.string(), what);
}

[[noreturn]] void refuse_with_reason(const fs::path& path, const std::string& what) {
  refuse(path, fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

[[noreturn]] void refuse_damaged(const fs::path& path) {
  refuse(path,
         "is damaged; restore it, or remove it and give the run up with `dpreduce ledger release` (what it has charged "
         "stays charged)");
}

// 128 random bits that name the run in the ledger.
std::string make_run_id() {
  std::array<std::byte, kRunIdDigits / 2> bytes{};
  secure_bytes(bytes);
  return to_hex(bytes);
}

// Returns whether the ledger has a line of any of these runs.
bool has_line(const std::vector<std::string>& runs, const LedgerState& state) {
  return std::ranges::any_of(
      runs, [&](const std::string& run) { return state.outcome(run) || state.open_run(run) != nullptr; });
}

// Returns whether the ledger has a line of them, and none has finished or been given up.
bool are_resumable(const std::vector<std::string>& runs, const LedgerState& state) {
  const auto is_over = [&](const std::string& run) {
    const std::optional<RunOutcome> outcome = state.outcome(run);
    return outcome == RunOutcome::kFinished || outcome == RunOutcome::kReleased;
  };
  return has_line(runs, state) && std::ranges::none_of(runs, is_over);
}

bool is_run_id(std::string_view text) {
  return is_lower_hex(text, kRunIdDigits, kRunIdDigits);
}

// Fills `bytes` from there on; returns how many there are.
std::size_t read_from(int file, const fs::path& path, std::uint64_t first, std::span<std::byte> bytes) {
  const std::optional<std::size_t> length = read_at(file, bytes, first);
  if (!length) refuse_with_reason(path, "cannot be read");
  return *length;
}

// Integers of a block from there on; nullopt if the file ends before.
std::optional<std::vector<std::int64_t>> integers_at(int file, const fs::path& path, std::uint64_t first,
                                                     std::uint64_t length) {
  std::vector<std::int64_t> integers(length);
  const auto bytes = std::as_writable_bytes(std::span(integers));
  return read_from(file, path, first, bytes) == bytes.size() ? std::optional(std::move(integers)) : std::nullopt;
}

std::uint64_t size_of_file(int file, const fs::path& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) refuse_with_reason(path, "cannot be examined");
  return static_cast<std::uint64_t>(status.st_size);
}

json header_of(const RunFile::Record& record, const std::string& config) {
  return {{"run", record.run_id},
          {"label", record.label},
          {"config", config},
          {"line", record.line_sha256},
          {"blocks", record.blocks}};
}

std::string digest_of(std::span<const std::int64_t> integers) {
  return to_hex(sha256(std::as_bytes(integers)));
}

// Digest of the header, except of the field that holds it, and of the digests of its blocks.
std::string digest_of_record(const json& header, const std::string& of_blocks) {
  return to_hex(sha256(json_text(header) + "\n" + of_blocks));
}

std::optional<RunFile::Record> record_of(const json& header) {
  try {
    return RunFile::Record{.run_id = header.at("run").get<std::string>(),
                           .label = header.at("label").get<std::string>(),
                           .line_sha256 = header.at("line").get<std::string>(),
                           .blocks = header.at("blocks").get<std::vector<std::pair<std::string, std::uint64_t>>>()};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::uint64_t bytes_of(const RunFile::Record& record, std::uint64_t most) {
  std::uint64_t bytes = 0;
  for (const auto& [name, length] : record.blocks) {
    if (length > most / sizeof(std::int64_t)) return most + 1;
    bytes += length * sizeof(std::int64_t);
  }
  return bytes;
}

// Reads lines and records from the beginning; what is not whole at the end is left.
class Reader {
 public:
  Reader(int file, const fs::path& path) : file_(file), path_(path), size_(size_of_file(file, path)) {}

  std::uint64_t place() const { return place_; }

  // Returns the next line without its newline; nullopt if none is whole any more.
  std::optional<std::string> line() {
    // Reads no further than the file was long: a living run appends to it meanwhile.
    std::string bytes(std::min<std::uint64_t>(kLongestLine, size_ - place_), '\0');
    bytes.resize(read_from(file_, path_, place_, std::as_writable_bytes(std::span(bytes))));
    const std::size_t end = bytes.find('\n');
    if (end == std::string::npos && bytes.size() == kLongestLine) refuse_damaged(path_);
    if (end == std::string::npos) return std::nullopt;
    place_ += end + 1;
    return bytes.substr(0, end);
  }

  // Record with that header; nullopt if it is the last one, and torn or being written.
  std::optional<RunFile::Record> record(std::string_view text, const std::string& config) {
    json header = parse_json(text);
    std::optional<RunFile::Record> record = record_of(header);
    const auto told = header.find("sha256");
    if (!record || told == header.end() || !told->is_string()) refuse_damaged(path_);
    record->first_byte = place_;
    const std::uint64_t bytes = bytes_of(*record, size_);
    if (bytes > size_ - place_) {
      std::string rest(size_ - place_, '\0');
      read_from(file_, path_, place_, std::as_writable_bytes(std::span(rest)));
      bool has_more = rest.find(R"(release {"blocks":)") != std::string::npos;  // lines follow a torn end never
      for (std::size_t at = 0; !has_more && (at = rest.find("run ", at)) != std::string::npos; ++at) {
        has_more = is_run_id(std::string_view(rest).substr(at + 4, kRunIdDigits));
      }
      if (has_more) refuse_damaged(path_);
      return std::nullopt;
    }
    const auto digest = told->get<std::string>();
    header.erase("sha256");
    std::string of_blocks;
    std::uint64_t first = place_;
    for (const auto& [name, length] : record->blocks) {
      const std::optional<std::vector<std::int64_t>> integers = integers_at(file_, path_, first, length);
      if (!integers) return std::nullopt;  // its writer has cut it again, since it could not be written whole
      of_blocks += digest_of(*integers);
      first += length * sizeof(std::int64_t);
    }
    if (header != header_of(*record, config) || digest != digest_of_record(header, of_blocks)) {
      if (place_ + bytes == size_) return std::nullopt;
      refuse_damaged(path_);
    }
    place_ += bytes;
    return record;
  }

 private:
  int file_;
  const fs::path& path_;
  std::uint64_t size_;
  std::uint64_t place_ = 0;
};

}  // namespace

std::vector<fs::path> files_of_runs(const fs::path& ledger, std::string_view suffix) {
  const fs::path folder = ledger.has_parent_path() ? ledger.parent_path() : fs::path(".");
  const std::string prefix = ledger.filename().string() + ".";
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != prefix.size() + kRunIdDigits + suffix.size() || !name.starts_with(prefix) ||
        !name.ends_with(suffix) || !is_run_id(std::string_view(name).substr(prefix.size(), kRunIdDigits))) {
      continue;
    }
    std::error_code unknown;
    fs::file_time_type written = fs::last_write_time(entry.path(), unknown);
    if (unknown) written = fs::file_time_type::min();  // it has vanished, or is no file: `open` reports that
    // Named as the ledger is, so that messages do not depend on the folder's own name.
    found.emplace_back(written, ledger.has_parent_path() ? folder / name : fs::path(name));
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  for (auto& [written, path] : found) paths.push_back(std::move(path));
  return paths;
}

RunFile::RunFile() : content_{.run_ids = {make_run_id()}}, is_new_(true) {}

RunFile RunFile::make(const fs::path& ledger, const std::string& config, SavesReleases saves) {
  DPREDUCE_ASSERT(is_lower_hex(config, kConfigDigits, kConfigDigits));
  while (true) {
    const std::string run_id = make_run_id();
    const std::string text = fmt::format("{}\nconfig {}\nrun {}\n", kFirstLine, config, run_id);
    const fs::path path = fmt::format("{}.{}{}", ledger.string(), run_id, kSuffix);
    make_private_file(path, kFileName, std::as_bytes(std::span(text)), ExistingFile::kRefused);
    // Another process may have removed it in the meantime, as one of a run without a line.
    std::optional<RunFile> made = open(path);
    if (!made || !made->try_lock()) continue;
    made->is_new_ = true;
    made->saves_ = saves;
    return std::move(*made);
  }
}

RunFile::Content RunFile::read(int file, const fs::path& path) {
  Reader reader(file, path);
  Content content;
  const std::optional<std::string> first = reader.line();
  const std::optional<std::string> config = reader.line();
  if (first != kFirstLine || !config || !config->starts_with("config ")) refuse_damaged(path);
  content.config = config->substr(config->find(' ') + 1);
  if (!is_lower_hex(content.config, kConfigDigits, kConfigDigits)) refuse_damaged(path);
  content.whole = reader.place();
  while (const std::optional<std::string> line = reader.line()) {
    const std::size_t space = std::min(line->find(' '), line->size());
    const std::string rest = line->substr(std::min(space + 1, line->size()));
    if (line->starts_with("run ") && is_run_id(rest)) {
      content.run_ids.push_back(rest);
    } else if (line->starts_with("release ") && !content.run_ids.empty()) {
      std::optional<Record> record = reader.record(rest, content.config);
      if (!record) break;
      content.records.push_back(std::move(*record));
    } else {
      refuse_damaged(path);
    }
    content.whole = reader.place();
  }
  if (content.run_ids.empty()) refuse_damaged(path);
  return content;
}

// Opens the file without its lock; nullopt if the file is gone.
std::optional<RunFile> RunFile::open(const fs::path& path) {
  auto file = std::make_unique<FileDescriptor>(
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  if (file->get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse_with_reason(path, "cannot be opened");
  }
  require_private(file->get(), path, kFileName);
  RunFile opened(read(file->get(), path));
  // Under two names one run could be gone on with twice.
  if (!path.filename().string().ends_with(fmt::format(".{}{}", opened.content_.run_ids.front(), kSuffix))) {
    refuse(path, fmt::format("is a copy of the file of run {}; remove it", opened.content_.run_ids.front()));
  }
  opened.path_ = path;
  opened.file_ = std::move(file);
  return opened;
}

// Returns whether this process holds it now: then `content_` is its content when the lock was given.
bool RunFile::try_lock() {
  while (::flock(file_->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) refuse(path_, "cannot be locked: " + reason_of(errno, FileFeature::kLocks));
  }
  if (!has_name(file_->get(), path_)) return false;
  content_ = read(file_->get(), path_);
  if (content_.whole < size_of_file(file_->get(), path_) &&
      ::ftruncate(file_->get(), static_cast<off_t>(content_.whole)) != 0) {
    refuse_with_reason(path_, "cannot be cut where its last record is torn");
  }
  return true;
}

bool RunFile::has_run(const std::string& run_id) const {
  return std::ranges::find(content_.run_ids, run_id) != content_.run_ids.end();
}

// The newest that fits and is free, locked; `longest`: how long it waits for one that another process holds.
std::optional<RunFile> RunFile::find(const fs::path& ledger, const std::function<bool(const RunFile&)>& fits,
                                     std::chrono::seconds longest) {
  const auto give_up = std::chrono::steady_clock::now() + longest;
  fs::path in_use;
  while (true) {
    bool is_in_use = false;
    for (const fs::path& path : files_of_runs(ledger, kSuffix)) {
      std::optional<RunFile> found = open(path);
      if (!found || !fits(*found)) continue;
      if (!found->try_lock()) {
        is_in_use = true;
        in_use = path;
      } else if (fits(*found)) {  // still: another process may have had it in the meantime
        return found;
      }
    }
    if (!is_in_use && in_use.empty()) return std::nullopt;
    if (!is_in_use) refuse(in_use, "its run has ended in the meantime; start a new run");
    if (std::chrono::steady_clock::now() >= give_up) {
      refuse(in_use, "its run is still running; wait for its end, or end that process first");
    }
    std::this_thread::sleep_for(kLockPoll);
  }
}

std::optional<RunFile> RunFile::take_over(const fs::path& ledger, const std::string& config, const LedgerState& state) {
  const auto fits = [&](const RunFile& file) {
    return file.content_.config == config && are_resumable(file.run_ids(), state);
  };
  std::optional<RunFile> file = find(ledger, fits, kWaitForLock);
  if (!file) return std::nullopt;
  file->content_.run_ids.push_back(make_run_id());
  file->is_announced_ = false;
  file->saves_ = SavesReleases::kYes;
  return file;
}

std::optional<RunFile> RunFile::of_run(const fs::path& ledger, const std::string& run_id) {
  return find(
      ledger, [&](const RunFile& file) { return file.has_run(run_id); }, std::chrono::seconds::zero());
}

void RunFile::remove_ended(const fs::path& ledger, const LedgerState& state) {
  for (const fs::path& path : files_of_runs(ledger, kSuffix)) {
    try {
      std::optional<RunFile> file = open(path);
      if (!file || are_resumable(file->run_ids(), state) || !file->try_lock()) continue;
      // A file of which the ledger has no line may belong to a newer copy of the ledger, or to another one.
      if (!has_line(file->run_ids(), state) && !file->records().empty()) continue;
      if (!are_resumable(file->run_ids(), state)) file->remove();  // still: a run may have gone on with it
    } catch (const BadInput&) {  // another user's, or damaged: whoever needs it says so
    }
  }
}

std::vector<RunFile::DeadRun> RunFile::dead_runs(const fs::path& ledger, const LedgerState& state) {
  std::vector<DeadRun> dead;
  for (const fs::path& path : files_of_runs(ledger, kSuffix)) {
    try {
      std::optional<RunFile> file = open(path);
      if (!file || !are_resumable(file->run_ids(), state) || !file->try_lock()) continue;
      const auto releases =
          std::ranges::count_if(file->records(), [](const Record& record) { return !record.line_sha256.empty(); });
      dead.push_back({file->run_id(), file->content_.config, static_cast<std::size_t>(releases)});
    } catch (const BadInput&) {
    }
  }
  return dead;
}

void RunFile::announce_run() {
  if (is_announced_) return;
  append(fmt::format("run {}\n", run_id()), {});
  is_announced_ = true;
}

NamedIntegers RunFile::values_of(const Record& record) const {
  NamedIntegers values;
  std::uint64_t place = record.first_byte;
  for (const auto& [name, length] : record.blocks) {
    std::optional<std::vector<std::int64_t>> integers = integers_at(file_->get(), path_, place, length);
    if (!integers) refuse_damaged(path_);
    place += length * sizeof(std::int64_t);
    values.emplace_back(name, std::move(*integers));
  }
  return values;
}

void RunFile::make_room(std::uint64_t integers) const {
  if (!saves()) return;
  const auto bytes = static_cast<off_t>(kLongestLine + integers * sizeof(std::int64_t));
  const auto end = static_cast<off_t>(size_of_file(file_->get(), path_));
  errno = EFBIG;
  rlimit largest{};
  if (::getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < static_cast<rlim_t>(end + bytes)) {
    refuse_with_reason(path_, "has no space for another release");
  }
  if (::fallocate(file_->get(), FALLOC_FL_KEEP_SIZE, end, bytes) == 0) return;
  if (errno == EOPNOTSUPP || errno == ENOSYS) return;  // then a full disk may be met after the charge
  refuse_with_reason(path_, "has no space for another release");
}

void RunFile::save(const std::string& label, const std::string& line_sha256, const NamedViews& blocks) {
  if (!saves()) return;
  Record record{.run_id = run_id(), .label = label, .line_sha256 = line_sha256};
  std::string of_blocks;
  for (const auto& [name, values] : blocks) {
    record.blocks.emplace_back(name, values.size());
    of_blocks += digest_of(values);
  }
  json header = header_of(record, content_.config);
  header["sha256"] = digest_of_record(header, of_blocks);
  append(fmt::format("release {}\n", json_text(header)), blocks);
}

// A line, then blocks, flushed; undone where it fails.
void RunFile::append(const std::string& line, const NamedViews& blocks) {
  const std::uint64_t before = size_of_file(file_->get(), path_);
  const auto is_written = [&](std::span<const std::byte> bytes) {
    return write_all(file_->get(), bytes) == bytes.size();
  };
  errno = ENOSPC;  // the system says no reason for a short write
  const bool are_written =
      is_written(std::as_bytes(std::span(line))) &&
      std::ranges::all_of(blocks, [&](const auto& block) { return is_written(std::as_bytes(block.second)); });
  if (are_written && ::fsync(file_->get()) == 0) return;
  const int reason = errno;
  if (::ftruncate(file_->get(), static_cast<off_t>(before)) != 0) {
    refuse_with_reason(path_, "cannot be written, nor cut again");
  }
  errno = reason;
  refuse_with_reason(path_, "cannot be written");
}

void RunFile::remove() {
  if (path_.empty()) return;
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) refuse_with_reason(path_, "cannot be removed");
  sync_folder_of(path_);
  path_.clear();
  file_.reset();
  saves_ = SavesReleases::kNo;
}

}  // namespace dpreduce
