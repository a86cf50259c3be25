// Journals that earlier versions left beside a ledger to repeat noise: "<ledger>.<run id>.journal", with a secret.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dpreduce {

/// Overwrites and removes the journals beside that ledger, and gives their runs up: noise is never repeated now.
/// Returns the runs. Journals of living runs stay. Throws as Ledger::end, and BadInput where a journal is not private
/// or cannot be removed.
std::vector<std::string> give_up_journals(const std::filesystem::path& ledger);

}  // namespace dpreduce
