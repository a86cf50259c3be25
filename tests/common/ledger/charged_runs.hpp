// Runs that are charged on a ledger of a test's own, stop, and go on.
#pragma once

#include "common/ledger/ledger.hpp"
#include "common/ledger/run_file.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

inline std::vector<LedgerCharge> charges_of(const std::filesystem::path& ledger) {
  return Ledger::read(ledger).charges();
}

/// The file that a run goes on with: of the newest run on this ledger that has not finished, or a new one. Only one
/// rank of a job may have it.
inline RunFile resumed_file(const std::filesystem::path& ledger) {
  const std::string config(64, 'b');
  std::optional<RunFile> file = RunFile::take_over(ledger, config, Ledger::read(ledger));
  return file ? std::move(*file) : RunFile::make(ledger, config, SavesReleases::kYes);
}

/// With its signing key and files of runs.
inline void remove_ledger(const std::filesystem::path& ledger) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(ledger.parent_path())) {
    const std::string name = entry.path().filename().string();
    const std::string own = ledger.filename().string();
    if (name == own || name.starts_with(own + ".")) found.push_back(entry.path());
  }
  for (const auto& path : found) std::filesystem::remove_all(path);
}

}  // namespace dpreduce
