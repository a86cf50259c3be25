#include "fit/one_call.hpp"

#include <string>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "fit/fit_options_archive.hpp"

namespace dpreduce {

void require_one_call(const FitOptions& options, int accounts, Communicator& ranks) {
  if (ranks.size() == 1) return;
  std::string own;
  ranks.together([&] {
    FitOptions compared = options;
    compared.machine = {};
    compared.privacy.ledger.clear();
    compared.output = {};
    if (!options.output.checkpoint.empty()) compared.output.checkpoint = "given";
    compared.data.test = {};
    own = archived(compared) + std::to_string(accounts);
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
