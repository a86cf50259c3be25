#include "methods/options/privacy_options.hpp"

#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"

namespace dpreduce {

void check(const PrivacyOptions& privacy) {
  require_ranges(privacy.budget);
  if (privacy.ledger.empty()) throw UsageError("--ledger: a file name is needed");
}

}  // namespace dpreduce
