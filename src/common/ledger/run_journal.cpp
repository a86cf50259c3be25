#include "common/ledger/run_journal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/base/error.hpp"
#include "common/randomness/private_file.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJournalName = "journal";
constexpr std::string_view kFirstLine = "dpreduce journal 2";
constexpr std::string_view kSuffix = ".journal";
constexpr std::size_t kRunIdBytes = 16;
constexpr std::size_t kSecretBytes = 32;
constexpr off_t kLargestJournal = off_t{1} << 28;
constexpr auto kWaitForLock = std::chrono::seconds(5);
constexpr auto kLockPoll = std::chrono::milliseconds(20);

[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
  throw BadInput(fmt::format("{} {}: {}", kJournalName, path.string(), what));
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
  std::array<std::byte, kRunIdBytes> bytes{};
  secure_bytes(bytes);
  return to_hex(bytes);
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_run_id(std::string_view text) {
  return text.size() == 2 * kRunIdBytes && is_hex(text);
}

std::optional<SecretVector<std::byte>> bytes_of(std::string_view digits) {
  if (digits.size() != 2 * kSecretBytes || !is_hex(digits)) return std::nullopt;
  const auto value = [](char digit) { return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10); };
  SecretVector<std::byte> bytes(kSecretBytes);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    bytes[k] = static_cast<std::byte>(value(digits[2 * k]) << 4 | value(digits[2 * k + 1]));
  }
  return bytes;
}

// A journal of another version was written by other rules for noise.
void require_this_version(const fs::path& path, std::span<const std::byte> text) {
  const std::string_view begin(reinterpret_cast<const char*>(text.data()), std::min(text.size(), kFirstLine.size()));
  const std::string_view name = kFirstLine.substr(0, kFirstLine.rfind(' ') + 1);
  if (!begin.starts_with(name) || begin == kFirstLine) return;
  refuse(
      path,
      "is of another version of dpreduce, which draws other noise; go on with the version that wrote it, or remove it "
      "and give the run up with `dpreduce ledger release` (what it has charged stays charged)");
}

void append_text(SecretVector<std::byte>& text, std::string_view more) {
  const auto bytes = std::as_bytes(std::span(more));
  text.insert(text.end(), bytes.begin(), bytes.end());
}

void append_hex(SecretVector<std::byte>& text, std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<std::size_t>(byte);
    text.push_back(static_cast<std::byte>(kDigits[value >> 4]));
    text.push_back(static_cast<std::byte>(kDigits[value & 15]));
  }
}

fs::path path_of(const fs::path& ledger, const std::string& run_id) {
  return fmt::format("{}.{}{}", ledger.string(), run_id, kSuffix);
}

// Journals beside the ledger, the newest first.
std::vector<fs::path> journals_of(const fs::path& ledger) {
  const fs::path folder = ledger.has_parent_path() ? ledger.parent_path() : fs::path(".");
  const std::string prefix = ledger.filename().string() + ".";
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != prefix.size() + 2 * kRunIdBytes + kSuffix.size() || !name.starts_with(prefix) ||
        !name.ends_with(kSuffix) || !is_run_id(std::string_view(name).substr(prefix.size(), 2 * kRunIdBytes))) {
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

SecretVector<std::byte> read_journal(int file, const fs::path& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) refuse_with_reason(path, "cannot be examined");
  if (status.st_size > kLargestJournal) refuse_damaged(path);
  SecretVector<std::byte> text(static_cast<std::size_t>(status.st_size));
  const auto done = read_from_start(file, text);
  if (!done) refuse_with_reason(path, "cannot be read");
  text.resize(*done);
  return text;
}

bool is_overwritten(std::span<const std::byte> text) {
  return std::all_of(text.begin(), text.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

RunJournal::RunJournal(NoiseKey secret) : content_{std::move(secret), {}, {make_run_id()}}, is_new_(true) {}

RunJournal RunJournal::of_ended(std::string run_id) {
  RunJournal ended(Content{NoiseKey::from_entropy(), {}, {std::move(run_id)}});
  ended.has_ended_ = true;
  return ended;
}

RunJournal RunJournal::make(const fs::path& ledger, const std::string& binding, NoiseKey secret) {
  DPREDUCE_ASSERT(is_hex(binding));
  const SecretVector<std::byte> bytes = secret.bytes();
  while (true) {
    const std::string run_id = make_run_id();
    SecretVector<std::byte> text;
    append_text(text, fmt::format("{}\nbinding {}\nsecret {} ", kFirstLine, binding,
                                  secret.is_private() ? "private" : "seeded"));
    append_hex(text, bytes);
    append_text(text, fmt::format("\nrun {}\n", run_id));
    const fs::path path = path_of(ledger, run_id);
    make_private_file(path, kJournalName, text, ExistingFile::kRefused);
    // Another process may have taken it over in the meantime: then it has it.
    std::optional<RunJournal> made = open(path);
    if (!made || !made->try_lock()) continue;
    made->is_new_ = true;
    return std::move(*made);
  }
}

// Without its lock; nothing where the file is gone.
std::optional<RunJournal> RunJournal::open(const fs::path& path) {
  auto file = std::make_unique<FileDescriptor>(
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  if (file->get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse_with_reason(path, "cannot be opened");
  }
  require_private(file->get(), path, kJournalName);
  const SecretVector<std::byte> text = read_journal(file->get(), path);
  Content content;
  try {
    parse(content, {reinterpret_cast<const char*>(text.data()), text.size()});
  } catch (const std::invalid_argument&) {
    // Who destroys a journal has it locked, or was killed half-way.
    if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0 || !has_name(file->get(), path)) return std::nullopt;
    if (!is_overwritten(text)) {
      require_this_version(path, text);
      refuse_damaged(path);
    }
    destroy_private_file(path, kJournalName);
    return std::nullopt;
  }
  // Under two names one run could go on twice at once.
  if (!path.filename().string().ends_with(fmt::format(".{}{}", content.run_ids.front(), kSuffix))) {
    refuse(path, fmt::format("is a copy of the journal of run {}; remove it, it is as private as the rows",
                             content.run_ids.front()));
  }
  RunJournal journal(std::move(content));
  journal.path_ = path;
  journal.file_ = std::move(file);
  return journal;
}

// Whether this process has it now: then its content is what it was when the lock was given.
bool RunJournal::try_lock() {
  while (::flock(file_->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) refuse(path_, "cannot be locked: " + reason_of(errno, FileFeature::kLocks));
  }
  if (!has_name(file_->get(), path_)) return false;
  const SecretVector<std::byte> text = read_journal(file_->get(), path_);
  Content content;
  try {
    const std::size_t whole = parse(content, {reinterpret_cast<const char*>(text.data()), text.size()});
    if (whole < text.size() && ::ftruncate(file_->get(), static_cast<off_t>(whole)) != 0) {
      refuse_with_reason(path_, "cannot be cut where its last record is torn");
    }
  } catch (const std::invalid_argument&) {
    refuse_damaged(path_);
  }
  content_ = std::move(content);
  return true;
}

bool RunJournal::has_run(const Content& content, const std::string& run_id) {
  return std::find(content.run_ids.begin(), content.run_ids.end(), run_id) != content.run_ids.end();
}

// Whether it is one that can follow what is there.
bool RunJournal::parse_record(Content& content, std::string_view record) {
  using Parser = bool (*)(Content&, std::string_view rest);
  static const std::map<std::string_view, Parser> parsers{{"binding", parse_binding},
                                                          {"secret", parse_secret},
                                                          {"run", parse_run},
                                                          {"rows", parse_rows},
                                                          {"charge", parse_charge}};
  const std::size_t space = record.find(' ');
  if (space == std::string_view::npos) return false;
  const auto parser = parsers.find(record.substr(0, space));
  return parser != parsers.end() && parser->second(content, record.substr(space + 1));
}

bool RunJournal::parse_binding(Content& content, std::string_view rest) {
  if (!content.binding.empty() || !is_hex(rest)) return false;
  content.binding = rest;
  return true;
}

bool RunJournal::parse_secret(Content& content, std::string_view rest) {
  const bool is_private = rest.starts_with("private ");
  if (content.secret || (!is_private && !rest.starts_with("seeded "))) return false;
  const auto bytes = bytes_of(rest.substr(rest.find(' ') + 1));
  if (!bytes) return false;
  content.secret.emplace(NoiseKey::from_bytes(std::span<const std::byte, kSecretBytes>(*bytes), is_private));
  return true;
}

bool RunJournal::parse_run(Content& content, std::string_view rest) {
  if (!is_run_id(rest) || has_run(content, std::string(rest))) return false;
  content.run_ids.emplace_back(rest);
  return true;
}

bool RunJournal::parse_rows(Content& content, std::string_view rest) {
  if (!is_hex(rest)) return false;
  content.rows = rest;
  return true;
}

bool RunJournal::parse_charge(Content& content, std::string_view rest) {
  const std::size_t end = rest.find(' ');
  if (content.run_ids.empty() || end == std::string_view::npos || !is_hex(rest.substr(0, end))) return false;
  return content.charges
      .try_emplace({content.run_ids.back(), std::string(rest.substr(end + 1))}, std::string(rest.substr(0, end)))
      .second;
}

// How much of the text is whole records. Throws std::invalid_argument where it is no journal.
std::size_t RunJournal::parse(Content& content, std::string_view text) {
  std::size_t done = 0;
  for (std::size_t end = 0; (end = text.find('\n', done)) != std::string_view::npos; done = end + 1) {
    const std::string_view record = text.substr(done, end - done);
    if (done == 0 ? record != kFirstLine : !parse_record(content, record)) throw std::invalid_argument("record");
  }
  if (content.binding.empty() || !content.secret || content.run_ids.empty()) throw std::invalid_argument("header");
  return done;
}

// The newest that fits and is free, locked.
std::optional<RunJournal> RunJournal::find(const fs::path& ledger, const Fits& fits, LockedJournal locked) {
  const auto give_up =
      std::chrono::steady_clock::now() + (locked == LockedJournal::kWait ? kWaitForLock : kWaitForLock.zero());
  while (true) {
    fs::path in_use;
    for (const fs::path& path : journals_of(ledger)) {
      std::optional<RunJournal> journal = open(path);
      if (!journal || !fits(journal->content_)) continue;
      if (!journal->try_lock()) {
        in_use = path;
      } else if (fits(journal->content_)) {  // still: another process may have had it in the meantime
        return journal;
      }
    }
    if (in_use.empty()) return std::nullopt;
    if (std::chrono::steady_clock::now() >= give_up) {
      refuse(in_use, "its run is alive; wait for its end, or end that process first");
    }
    std::this_thread::sleep_for(kLockPoll);
  }
}

std::optional<RunJournal> RunJournal::take_over(const fs::path& ledger, const std::string& binding,
                                                ResumableJournal which) {
  const auto fits = [&](const Content& content) {
    return content.binding == binding && (which == ResumableJournal::kAny || content.charges.empty());
  };
  return find(ledger, fits, LockedJournal::kWait);
}

std::optional<RunJournal> RunJournal::of_run(const fs::path& ledger, const std::string& run_id, LockedJournal locked) {
  return find(
      ledger, [&](const Content& content) { return has_run(content, run_id); }, locked);
}

void RunJournal::destroy_ended(const fs::path& ledger, const LedgerState& state) {
  const auto has_ended = [&](const RunJournal& journal) {
    const std::optional<RunOutcome> outcome = state.outcome(journal.run_id());
    const bool is_unknown = !outcome && state.open_run(journal.run_id()) == nullptr;
    return outcome == RunOutcome::kFinished || outcome == RunOutcome::kReleased ||
           (is_unknown && !journal.has_charged());
  };
  for (const fs::path& path : journals_of(ledger)) {
    try {
      std::optional<RunJournal> journal = open(path);
      if (!journal || !has_ended(*journal) || !journal->try_lock()) continue;
      if (has_ended(*journal)) journal->destroy();  // still: it may have been resumed in the meantime
    } catch (const BadInput&) {                     // another user's, or damaged: the run that needs it reports that
    }
  }
}

// One write, synced; undone where it fails.
void RunJournal::append(const std::string& record) {
  if (path_.empty()) return;
  DPREDUCE_ASSERT(file_ != nullptr);
  struct stat before {};
  if (::fstat(file_->get(), &before) != 0) refuse_with_reason(path_, "cannot be examined");
  const std::string line = record + "\n";
  const ssize_t written = ::write(file_->get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size()) && ::fsync(file_->get()) == 0) return;
  const int reason = written < 0 || written == static_cast<ssize_t>(line.size()) ? errno : ENOSPC;
  if (::ftruncate(file_->get(), before.st_size) != 0) refuse_with_reason(path_, "cannot be written, nor cut again");
  errno = reason;
  refuse_with_reason(path_, "cannot be written");
}

void RunJournal::begin_run() {
  const std::string run_id = make_run_id();
  append(fmt::format("run {}", run_id));
  content_.run_ids.push_back(run_id);
}

void RunJournal::add_charge(const std::string& label, const std::string& fingerprint) {
  if (const std::string* known = fingerprint_of(run_id(), label)) {
    DPREDUCE_ASSERT(*known == fingerprint);
    return;
  }
  append(fmt::format("charge {} {}", fingerprint, label));
  content_.charges.emplace(std::pair{run_id(), label}, fingerprint);
}

const std::string* RunJournal::fingerprint_of(const std::string& run_id, const std::string& label) const {
  const auto found = content_.charges.find({run_id, label});
  return found == content_.charges.end() ? nullptr : &found->second;
}

void RunJournal::add_rows(const std::string& digest) {
  append(fmt::format("rows {}", digest));
  content_.rows = digest;
}

void RunJournal::destroy() {
  if (path_.empty()) return;
  destroy_private_file(path_, kJournalName);
  path_.clear();
  file_.reset();
}

}  // namespace dpreduce
