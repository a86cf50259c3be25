#include "common/ledger/ledger_state.hpp"

#include "common/base/error.hpp"
#include "common/ledger/ledger_line.hpp"
#include "common/randomness/signing_key.hpp"

namespace dpreduce {
namespace {

// First fault of a text: thrown as LedgerCorrupt, with the line's number.
struct Impossible {
  std::string what;
};

}  // namespace

void LedgerState::extend(std::string_view text, const std::string& source, Signatures signatures) {
  DPREDUCE_ASSERT(text.size() >= text_.size());
  while (text_.size() < text.size()) {
    const std::size_t begin = text_.size();
    const std::string where = source + ":" + std::to_string(line_sha256_.size() + 1);
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) {
      throw LedgerCorrupt(where +
                          ": the last line is torn (no end of line): its writer crashed before the release was made; "
                          "verify this, then remove that line by hand");
    }
    add_line(text.substr(begin, end - begin), where, signatures);
    text_.append(text, begin, end + 1 - begin);
  }
}

void LedgerState::add_line(std::string_view text, const std::string& where, Signatures signatures) {
  const LedgerLine line = parse_line(text, where);
  const LedgerRecord& record = line.record;
  if (record.previous_sha256 != head().last_line_sha256) {
    throw LedgerCorrupt(where + ": the chain is broken: this line does not follow the one before it (an edit, a " +
                        "missing line or another order)");
  }
  try {
    verify_signature(record, line.signature, signatures);
    std::visit([&](const auto& content) { add(content, record.utc_time); }, record.content);
  } catch (const Impossible& fault) {
    throw LedgerCorrupt(where + ": " + fault.what);
  }
  line_sha256_.push_back(to_hex(sha256(text)));
}

void LedgerState::verify_signature(const LedgerRecord& record, const std::string& signature, Signatures signatures) {
  const auto* start = std::get_if<LedgerStart>(&record.content);
  if (public_key_.empty() && start == nullptr) {
    throw Impossible{"a line precedes the line of kind \"ledger\", which holds the public key"};
  }
  if (!public_key_.empty() && start != nullptr)
    throw Impossible{"a second line of kind \"ledger\"; only one is allowed"};
  const std::string& signer = start != nullptr ? start->public_key : public_key_;
  if (signatures == Signatures::kToVerify &&
      !is_signed_by(print_unsigned(record), signature, public_key_of_hex(signer).value())) {
    throw Impossible{
        "the signature does not match this line and the ledger's key: the line was edited, or added by someone else"};
  }
}

void LedgerState::add(const LedgerEntry& entry, const std::string& utc_time) {
  const std::string run = run_of(entry.release_id);
  const auto open = open_.find(run);
  if (open == open_.end()) throw Impossible{"charges release " + entry.release_id + ", but its run has no reservation"};
  if (const std::string fault = uncovered(open->second.remains, entry); !fault.empty()) {
    throw Impossible{"charges release " + entry.release_id + ": " + fault};
  }
  if (!place_.emplace(entry.release_id, charges_.size()).second) {
    throw Impossible{"charges release " + entry.release_id + ", which is charged already"};
  }
  take_off(open->second.remains, entry);
  charges_.push_back({entry, utc_time, line_sha256_.size()});
}

void LedgerState::add(const Reservation& reservation, const std::string& utc_time) {
  if (outcome(reservation.run_id) == RunOutcome::kReleased) {
    throw Impossible{"run " + reservation.run_id + " reserves, but was released"};
  }
  if (!reservation.instead_of.empty()) {
    add(RunEnd{reservation.instead_of, RunOutcome::kStopped}, utc_time);
  }
  ended_.erase(reservation.run_id);
  const auto [run, is_new] = open_.try_emplace(reservation.run_id, OpenRun{utc_time, reservation});
  if (!is_new) run->second.remains = reservation;
}

void LedgerState::add(const RunEnd& end, const std::string&) {
  if (open_.erase(end.run_id) == 0 && !may_be_released(end)) {
    throw Impossible{"ends run " + end.run_id + ", which has no reservation"};
  }
  ended_[end.run_id] = end.outcome;
}

bool LedgerState::may_be_released(const RunEnd& end) const {
  return end.outcome == RunOutcome::kReleased && outcome(end.run_id) == RunOutcome::kStopped;
}

void LedgerState::add(const LedgerStart& start, const std::string&) {
  public_key_ = start.public_key;
}

const LedgerCharge* LedgerState::charge(const std::string& release_id) const {
  const auto found = place_.find(release_id);
  return found == place_.end() ? nullptr : &charges_[found->second];
}

std::vector<const RunTerms*> LedgerState::all_terms() const {
  std::vector<const RunTerms*> all;
  for (const LedgerCharge& charge : charges_) all.push_back(&charge.entry.terms);
  for (const auto& [run_id, run] : open_) all.push_back(&run.remains.terms);
  return all;
}

const OpenRun* LedgerState::open_run(const std::string& run_id) const {
  const auto found = open_.find(run_id);
  return found == open_.end() ? nullptr : &found->second;
}

std::optional<RunOutcome> LedgerState::outcome(const std::string& run_id) const {
  const auto found = ended_.find(run_id);
  return found == ended_.end() ? std::nullopt : std::optional(found->second);
}

LedgerHead LedgerState::head() const {
  return {public_key_, line_sha256_.size(), line_sha256_.empty() ? kNoPrevious : line_sha256_.back()};
}

std::string text_of(const LedgerHead& head) {
  constexpr std::size_t kShownOfDigest = 16;  // hex digits
  if (head.lines == 0) return "no line yet";
  return std::to_string(head.lines) + (head.lines == 1 ? " line" : " lines") + ", the last of SHA-256 " +
         head.last_line_sha256.substr(0, kShownOfDigest) + "...";
}

void require_contains(const LedgerState& state, const LedgerHead& head, const std::string& source) {
  const auto refuse = [&](const std::string& what) { throw LedgerCorrupt(source + ": " + what); };
  const std::string key = state.head().public_key;
  if (!head.public_key.empty() && key != head.public_key) {
    refuse((key.empty() ? "is not signed" : "is signed with the key " + key) + ", and was signed with " +
           head.public_key + ": it is another ledger, or was rewritten");
  }
  const std::vector<std::string>& lines = state.line_sha256();
  if (lines.size() < head.lines) {
    refuse("has " + std::to_string(lines.size()) + " lines, and had " + std::to_string(head.lines) +
           ": its end was cut off");
  }
  if (head.lines == 0 || lines[head.lines - 1] != head.last_line_sha256) {
    refuse("line " + std::to_string(head.lines) +
           " has changed: lines were cut off, and others written in their place");
  }
}

}  // namespace dpreduce
