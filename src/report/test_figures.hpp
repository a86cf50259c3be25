// Figures about test rows, as reports and results hold them: exact, and outside of every guarantee.
#pragma once

#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "common/model/metrics.hpp"

namespace dpreduce {

/// Of rows of one class each the confusion matrix; where labels are n x K zeros and ones, what may be said of sets.
using TestFigures = std::variant<ConfusionMatrix, LabelSetFigures>;

nlohmann::json to_json(const TestFigures& figures);

/// What test figures say of themselves where test rows are training rows.
nlohmann::json training_rows_note();

/// K lists of K counts: row t holds the rows of true class t by predicted class.
nlohmann::json confusion_json(const ConfusionMatrix& matrix);

}  // namespace dpreduce
