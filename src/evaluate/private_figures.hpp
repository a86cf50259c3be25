// Figures by the releases of an evaluation, as reports have them: each with an interval that holds the noise and the
// sampling of test rows. The part of rows in these releases: worker/statistics/evaluation.hpp.
#pragma once

#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/ledger/evaluation_terms.hpp"
#include "common/ledger/released_block.hpp"

namespace dpreduce {

/// Number B of bins of scores for AUC and ROC, where about so many rows are expected; 0 where that is not known. Pairs
/// within a bin count half: with 16 bins intervals of AUC held in 84 and 93 % on 10,000 rows of two even classes at
/// epsilon 8 and 1, where 32 hold in 96 and 98 %, at most a quarter wider; on 200 rows at epsilon 1 they are a third
/// wider.
constexpr std::size_t score_bins_for(double expected_rows) {
  constexpr double kManyRows = 10000.0;
  return expected_rows > kManyRows ? 64 : 32;
}

/// Returns {"accuracy": {"value", "low", "high", "noise"}, ..., "recall": [{"class", ...}], ...}, at that level, of the
/// release "evaluation" and, where AUC is requested, "positives" after it (asserted). Where an interval leaves out next
/// to nothing, the value is null, and "note" names the reason. Of `rows_alike` rows that may be those of one person,
/// sampling is taken to be that of one: intervals are rather too wide. `scales`: h of each target of a model that
/// predicts numbers.
nlohmann::json private_figures(const std::vector<Release>& releases, const EvaluationTerms& terms, double level,
                               double rows_alike = 1.0, std::span<const double> scales = {});

}  // namespace dpreduce
