#include "methods/options/row_options.hpp"

#include "common/base/error.hpp"
#include "common/base/option_checks.hpp"

namespace dpreduce {

void check(const RowOptions& rows) {
  require_option_positive("--clip", rows.clip_norm);
  if (rows.pool == 0) throw UsageError("--pool 0: must be at least 1");
  require_option_share("--center-share", rows.center_share);
  require_option_share("--pca-share", rows.pca_share);
  require_option_share("--select-share", rows.select_share);
  if (rows.pca_share && rows.pca == 0) {
    throw UsageError("--pca-share goes with --pca on private rows (without --public-x)");
  }
  if (rows.select_share && rows.select == 0) throw UsageError("--select-share goes with --select");
  if (rows.select_by && rows.select == 0) throw UsageError("--select-by goes with --select");
}

}  // namespace dpreduce
