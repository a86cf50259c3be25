// `dpreduce ledger`: what has been released so far.
#pragma once

#include <string>

#include "common/accounting/guarantee.hpp"
#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct LedgerShowOptions {
  std::string ledger = "ledger.jsonl";
  double delta = kDeltaToTell;  ///< that epsilons are told at
  OutputFormat format = OutputFormat::kText;
  bool operator==(const LedgerShowOptions&) const = default;
};

struct LedgerVerifyOptions {
  std::string ledger = "ledger.jsonl";
  std::string report;  ///< of a run on this ledger; empty: none
  bool operator==(const LedgerVerifyOptions&) const = default;
};

struct LedgerReleaseOptions {
  std::string run;
  std::string ledger = "ledger.jsonl";
  bool operator==(const LedgerReleaseOptions&) const = default;
};

struct LedgerExportOptions {
  std::string ledger = "ledger.jsonl";
  bool dp_events = false;                       ///< the form, the one that there is
  Adjacency adjacency = Adjacency::kAddRemove;  ///< the neighbors that the composition is for
  std::string out;                              ///< empty: standard output
  bool overwrite = false;
  bool operator==(const LedgerExportOptions&) const = default;
};

/// The command as the command line sees it.
CommandEntry ledger_command();

}  // namespace dpreduce
