// What no option may be, whatever the data: each function returns its argument, or throws UsageError naming option,
// value and limit. Budgets are checked where they become noise (PrivacyBudget),
// synthetic data where they are made (SyntheticRows).
#pragma once

#include "dpreduce/config/options.hpp"

namespace dpreduce {

FitOptions validated(FitOptions options);
SweepOptions validated(SweepOptions options);
PredictOptions validated(PredictOptions options);
EvaluateOptions validated(EvaluateOptions options);
CalibrateOptions validated(CalibrateOptions options);
ConvertOptions validated(ConvertOptions options);
ComposeOptions validated(ComposeOptions options);
SplitOptions validated(SplitOptions options);
SynthOptions validated(SynthOptions options);
SanitizeOptions validated(SanitizeOptions options);
PartitionOptions validated(PartitionOptions options);
InspectOptions validated(InspectOptions options);
AuditOptions validated(AuditOptions options);
BenchOptions validated(BenchOptions options);

}  // namespace dpreduce
