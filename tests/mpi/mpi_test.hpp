// What tests share that run on the ranks that mpirun has started.
#pragma once

#include "common/ledger/ledger_record.hpp"
#include "common/ranks/communicator.hpp"
#include "tests/testing.hpp"

namespace dpreduce {

/// The ranks that mpirun started this test with.
Communicator& test_ranks();

/// This rank's number, and how many ranks there are, as counts.
inline std::size_t own_rank() {
  return static_cast<std::size_t>(test_ranks().rank());
}
inline std::size_t rank_count() {
  return static_cast<std::size_t>(test_ranks().size());
}

/// Rows first .. end - 1 of so many: this rank's, where all ranks have even shares.
struct OwnRows {
  std::size_t first;
  std::size_t end;
};
inline OwnRows own_rows(std::size_t rows) {
  return {rows * own_rank() / rank_count(), rows * (own_rank() + 1) / rank_count()};
}

/// Terms of a charged run of that method.
inline RunTerms test_terms(const std::string& method, const std::string& config_digest = std::string(64, 'c'),
                           Accountant accountant = Accountant::kGdp) {
  return {.method = method,
          .accountant = accountant,
          .epsilon = {},
          .delta = {},
          .config_digest = config_digest,
          .version = "test"};
}

/// Expects that `action` ends this rank with that exit code. Returns what is said.
inline std::string expect_end(ExitCode code, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "no rank may go on";
  return {};
}

/// Expects that `action` ends rank `failing` with its own error, an Own, and the others with its exit code. Returns
/// what the own error says; empty on the others.
template <typename Own>
std::string expect_failure_of(int failing, const std::function<void()>& action) {
  try {
    action();
  } catch (const PeerFailed& failure) {
    EXPECT_NE(test_ranks().rank(), failing);
    EXPECT_EQ(failure.rank, failing);
    EXPECT_EQ(failure.code(), Own(std::string()).code());
    return {};
  } catch (const Own& error) {
    EXPECT_EQ(test_ranks().rank(), failing);
    return error.what();
  }
  ADD_FAILURE() << "no rank may go on";
  return {};
}

}  // namespace dpreduce
