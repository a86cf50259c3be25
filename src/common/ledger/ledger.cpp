#include "common/ledger/ledger.hpp"

#include <array>
#include <ctime>
#include <utility>

#include "common/base/error.hpp"
#include "common/ledger/ledger_file.hpp"
#include "common/ledger/ledger_key.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/ledger/line_signature.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

// Whole minutes, rounded down: a ledger's readers are not told how long a pass over rows took, to the second.
std::string utc_now() {
  constexpr std::time_t kMinute = 60;
  const std::time_t now = std::time(nullptr) / kMinute * kMinute;
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

// The key that goes on signing the ledger; a new one where there is no line yet. `known`, where there is one, has been
// read before: reading takes longer than all else that a line takes.
SigningKey key_of(const fs::path& path, const LedgerHead& head, std::optional<SigningKey> known) {
  if (head.public_key.empty()) return find_or_make_signing_key(path);
  if (known && to_hex(known->public_key()) == head.public_key) return std::move(*known);
  std::optional<SigningKey> key = find_signing_key(path);
  const std::string key_path = signing_key_path(path).string();
  if (!key) {
    throw BadInput(path.string() + ": its signing key " + key_path +
                   " is not there, and only its owner can add lines; put the key back, or start a new ledger");
  }
  if (to_hex(key->public_key()) == head.public_key) return std::move(*key);
  throw LedgerCorrupt(path.string() + ": is signed with the key " + head.public_key + ", not with " + key_path +
                      ": the ledger, or its key, has been exchanged");
}

// New lines at the end of a ledger, each chained to the one before.
class NewLines {
 public:
  NewLines(const SigningKey& key, const LedgerHead& head)
      : key_(key), has_begun_(!head.public_key.empty()), previous_(head.last_line_sha256) {}

  // `version` of this library, for the ledger's first line.
  void add(decltype(LedgerRecord::content) content, const std::string& version) {
    if (!has_begun_) {
      has_begun_ = true;
      add_line(LedgerStart{to_hex(key_.public_key()), version});
    }
    add_line(std::move(content));
  }

  // Each with its newline.
  const std::string& text() const { return text_; }
  std::size_t longest() const { return longest_; }

 private:
  void add_line(decltype(LedgerRecord::content) content) {
    const LedgerRecord record{std::move(content), utc_now(), previous_};
    const std::string line = sign_line(print_unsigned(record), key_);
    longest_ = std::max(longest_, line.size());
    previous_ = to_hex(sha256(line));
    text_ += line + "\n";
  }

  const SigningKey& key_;
  bool has_begun_;
  std::string previous_;
  std::string text_;
  std::size_t longest_ = 0;
};

void require_writable(const std::string& what, const std::string& fault) {
  if (!fault.empty()) throw UsageError(what + ": " + fault);
}

void require_not_released(const LedgerState& state, const fs::path& path, const std::string& run_id) {
  if (state.outcome(run_id) != RunOutcome::kReleased) return;
  throw BudgetRefused(path.string() + ": run " + run_id +
                      " was given up (dpreduce ledger release), and may charge nothing more; start a new run");
}

// That the state takes the reservation, under that limit.
void require_reservable(const LedgerState& state, const Reservation& reservation,
                        const std::optional<DataSetBudget>& limit, const fs::path& path) {
  require_not_released(state, path, reservation.run_id);
  require_not_released(state, path, reservation.instead_of);
  require_one_unit(state, reservation.terms.unit, path);
  if (limit) require_room(state, reservation, *limit, path);
}

}  // namespace

// Makes state_ that of the text, whose lines are verified, but for the signatures of lines that are this object's own.
// Lines that it has read before must still be there.
void Ledger::verify_text(const std::string& text, LedgerState::Signatures signatures) {
  try {
    if (text.starts_with(verified_text_)) {
      state_.extend(text, path_.string(), signatures);
    } else {
      state_ = LedgerState::of(text, path_.string());
    }
    if (last_head_.lines > 0) require_contains(state_, last_head_, path_.string());
  } catch (...) {
    state_ = {};
    verified_text_.clear();
    throw;
  }
  verified_text_ = text;
  last_head_ = state_.head();
}

template <typename Step>
void Ledger::extend(Step lines_of) {
  LedgerFile file(path_, LedgerFile::Use::kExtend);
  try {
    verify_text(file.text(), LedgerState::Signatures::kToVerify);
    const std::string lines = lines_of();
    if (lines.empty()) return;
    file.append(lines);
    // Read, too, so that the next call misses these lines if they are gone.
    verify_text(file.text(), LedgerState::Signatures::kOwn);
  } catch (...) {
    file.remove_if_empty();
    throw;
  }
}

const SigningKey& Ledger::key() {
  key_.emplace(key_of(path_, state_.head(), std::exchange(key_, std::nullopt)));
  return *key_;
}

void Ledger::check(const Reservation& reservation, const std::optional<DataSetBudget>& limit) {
  require_writable("ledger reservation", fault_of(reservation));
  require_reservable(current(), reservation, limit, path_);
  if (!state_.head().public_key.empty()) key();  // it is there, and its owner's alone
}

void Ledger::reserve(Reservation reservation, const std::optional<DataSetBudget>& limit) {
  require_writable("ledger reservation", fault_of(reservation));
  extend([&] {
    require_reservable(state_, reservation, limit, path_);
    if (state_.open_run(reservation.instead_of) == nullptr) reservation.instead_of.clear();
    const std::string version = reservation.terms.version;
    NewLines lines(key(), state_.head());
    lines.add(std::move(reservation), version);
    if (lines.longest() <= kLongestLedgerLine) return lines.text();
    throw UsageError("ledger reservation: more releases than one line of the ledger holds: " +
                     std::to_string(lines.longest()) + " bytes, at most " + std::to_string(kLongestLedgerLine));
  });
}

Charge Ledger::append(const LedgerEntry& entry) {
  require_writable("ledger entry", fault_of(entry));
  Charge charge = Charge::kWritten;
  extend([&]() -> std::string {
    if (const LedgerCharge* same_id = state_.charge(entry.release_id); same_id != nullptr) {
      charge = Charge::kAlreadyOnFile;
      if (same_id->entry == entry) return {};
      throw ResumeMismatch(path_.string() + ": release " + entry.release_id +
                           " is on file with another content; another release needs another id");
    }
    const std::string run = run_of(entry.release_id);
    require_not_released(state_, path_, run);
    const OpenRun* open = state_.open_run(run);
    if (open == nullptr) {
      throw BudgetRefused(path_.string() + ": run " + run + " has reserved nothing, and may not charge release " +
                          entry.release_id);
    }
    require_writable("ledger entry", uncovered(open->remains, entry));
    NewLines lines(key(), state_.head());
    lines.add(entry, entry.terms.version);
    if (lines.longest() <= kLongestLedgerLine) return lines.text();
    throw UsageError("ledger entry: release " + entry.release_id + " has too many blocks for one line: " +
                     std::to_string(lines.longest()) + " bytes, at most " + std::to_string(kLongestLedgerLine));
  });
  return charge;
}

bool Ledger::end(const std::string& run_id, RunOutcome outcome) {
  if (!fs::exists(path_)) return false;
  bool ends = false;
  extend([&]() -> std::string {
    const RunEnd end{run_id, outcome};
    ends = state_.open_run(run_id) != nullptr || state_.may_be_released(end);
    if (!ends) return {};
    NewLines lines(key(), state_.head());
    lines.add(end, {});  // its reservation stands before: this is not the first line
    return lines.text();
  });
  return ends;
}

const LedgerState& Ledger::current() {
  const LedgerFile file(path_, LedgerFile::Use::kRead);
  verify_text(file.text(), LedgerState::Signatures::kToVerify);
  return state_;
}

LedgerState Ledger::read(const fs::path& path) {
  const LedgerFile file(path, LedgerFile::Use::kRead);
  return LedgerState::of(file.text(), path.string());
}

}  // namespace dpreduce
