#include "fit/one_call.hpp"

#include <string>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/ranks/rank_archive.hpp"
#include "fit/validated_options.hpp"

namespace dpreduce {
namespace {

void check_call(const FitOptions& options, const Communicator& ranks, Accounts accounts) {
  if (options.silos.secure_aggregation || ranks.silos() != nullptr) {
    throw UsageError("--secure-aggregation: a run among silos is started by the command `dpreduce fit`");
  }
  if (options.data.train.x.empty()) throw UsageError("--train-x: name the training features");
  if (options.data.train.y.empty()) throw UsageError("--train-y: name the training labels");
  if (options.output.dry_run) throw UsageError("--dry-run: make a PlannedFit, which says what a fit would release");
  if (accounts == Accounts::kLedger) return;
  if (options.privacy.limit_epsilon || options.privacy.limit_delta) {
    throw UsageError("--budget-epsilon: a limit is kept on a ledger; with accounts kept elsewhere check it there");
  }
  if (options.privacy.resume || !options.output.checkpoint.empty()) {
    throw UsageError("--checkpoint, --resume: a run is resumed by its ledger; accounts are kept elsewhere here");
  }
}

}  // namespace

FitOptions checked_call(FitOptions options, const Communicator& ranks, Accounts accounts) {
  check_call(options, ranks, accounts);
  const bool needs_ledger = accounts == Accounts::kLedger && !options.privacy.budget.non_private;
  if (!needs_ledger && options.privacy.ledger.empty()) options.privacy.ledger = PrivacyOptions{}.ledger;  // not used
  return validated(std::move(options));
}

void require_one_call(const FitOptions& options, Accounts accounts, Communicator& ranks) {
  if (ranks.size() == 1) return;
  std::string own;
  ranks.together([&] {
    FitOptions compared = options;
    compared.machine = {};
    compared.privacy.ledger.clear();
    compared.output = {};
    if (!options.output.checkpoint.empty()) compared.output.checkpoint = "given";
    compared.data.test = {};
    own = archived(compared) + std::to_string(static_cast<int>(accounts));
  });
  const std::string of_rank_0 = ranks.broadcast_message(own);
  ranks.together([&] {
    if (own == of_rank_0) return;
    throw UsageError(
        fmt::format("fit: rank {} was asked for another fit than rank 0; call it with the same options and accounts on "
                    "every rank, and with public and validation rows on all or on none",
                    ranks.rank()));
  });
}

}  // namespace dpreduce
