// Valid parts of a ledger for tests to vary.
#pragma once

#include "common/ledger/ledger_line.hpp"
#include "common/ledger/ledger_record.hpp"
#include "common/ledger/ledger_state.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

inline RunTerms sample_terms() {
  return {.method = "mean",
          .adjacency = Adjacency::kAddRemove,
          .accountant = Accountant::kGdp,
          .is_private = true,
          .epsilon = 1,
          .delta = 1e-5,
          .config_digest = std::string(64, 'a'),
          .version = "0.1.0"};
}

/// A charge of "<run>/means/1", or of another id.
inline LedgerEntry sample_entry(std::string release_id) {
  return {.release_id = std::move(release_id),
          .terms = sample_terms(),
          .blocks = {{"sum", 7680, 32767, 122241.5}, {"count", 10, 1, 20.25}},
          .selection = std::nullopt,
          .mu = 0.25};
}

/// The same of a selection of two of 1000 candidates, or with permute-and-flip of one, in 10 groups.
inline LedgerEntry sample_selection(std::string release_id, SelectionMechanism mechanism, double epsilon) {
  LedgerEntry entry = sample_entry(std::move(release_id));
  entry.blocks.clear();
  entry.mu = 0;
  entry.selection = SelectionTerms{.mechanism = mechanism,
                                   .epsilon = epsilon,
                                   .sensitivity = 3,
                                   .candidates = 1000,
                                   .groups = 10,
                                   .chosen = mechanism == SelectionMechanism::kExponential ? 2U : 1U};
  return entry;
}

/// Of so many rounds of "means", each as sample_entry.
inline Reservation sample_reservation(std::string run_id, std::uint64_t rounds = 1) {
  return {.run_id = std::move(run_id),
          .terms = sample_terms(),
          .releases = {{.name = "means", .rounds = rounds, .mu = 0.25}},
          .selections = {}};
}

/// Of that one charge, and nothing else.
inline Reservation reservation_for(const LedgerEntry& entry) {
  const std::string run = run_of(entry.release_id);
  const std::string label = entry.release_id.substr(run.size() + 1);
  Reservation reservation{.run_id = run, .terms = entry.terms, .releases = {}, .selections = {}};
  if (entry.selection) {
    reservation.selections = {{label, *entry.selection}};
  } else {
    reservation.releases = {{.name = label, .rounds = 1, .mu = entry.mu, .sampling_rate = entry.sampling_rate}};
  }
  return reservation;
}

using LineContent = decltype(LedgerRecord::content);

/// Lines of a ledger as its owner writes them, each with its newline.
class SampleText {
 public:
  explicit SampleText(std::string before = {}) : text_(std::move(before)) {
    add(LedgerStart{to_hex(key_.public_key()), "0.1.0"});
  }

  SampleText& add(LineContent content) {
    text_ += sign_line(print_unsigned(record_of(std::move(content), text_)), key_) + "\n";
    return *this;
  }
  const std::string& text() const { return text_; }
  const SigningKey& key() const { return key_; }

  /// Of the line that follows `text`.
  static LedgerRecord record_of(LineContent content, const std::string& text) {
    return {std::move(content), "2026-01-31T23:59:59Z", last_sha256(text)};
  }
  static std::string last_sha256(const std::string& text) {
    if (text.empty()) return kNoPrevious;
    const std::size_t newline = text.size() == 1 ? std::string::npos : text.rfind('\n', text.size() - 2);
    const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
    return to_hex(sha256(std::string_view(text).substr(start, text.size() - start - 1)));
  }

 private:
  SigningKey key_ = SigningKey::generate();
  std::string text_;
};

/// The state of a ledger of that text.
inline LedgerState state_of(std::string_view text, const std::string& source) {
  LedgerState state;
  state.extend(text, source);
  return state;
}

/// Two runs: one has charged both of its rounds and finished, one has charged one round of three.
inline SampleText sample_text() {
  SampleText ledger;
  ledger.add(sample_reservation("run-1", 2));
  ledger.add(sample_entry("run-1/means/1"));
  ledger.add(sample_reservation("run-2", 3));
  ledger.add(sample_entry("run-1/means/2"));
  ledger.add(RunEnd{"run-1", RunOutcome::kFinished});
  ledger.add(sample_entry("run-2/means/1"));
  return ledger;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start) + 1;
    lines.push_back(text.substr(start, end - start));
    start = end;
  }
  return lines;
}

inline std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("nothing to replace: " + from);
  return text.substr(0, at) + to + text.substr(at + from.size());
}

}  // namespace dpreduce
