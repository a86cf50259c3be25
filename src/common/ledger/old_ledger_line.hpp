// Lines as earlier versions wrote them: read, so that what they charged counts, and never written.
//
//   {"schema":1,"release":...,"time":...,"previous":...,"method":...,"adjacency":...,"accountant":...,"private":...,
//    ["silos":{...},]"rounds":...,"blocks":[...],["selection":{...},|"sampling_rate":...,]"mu":...,"rho":...,
//    "epsilon":...,"delta":...,"config_digest":...,"data_digest":...,"version":...}
//
// Charges alone, not signed. "data_digest" was a keyed digest of the exact statistic: whether two of them are equal
// tells whether two statistics were (docs/explanation/ledger.md). It is checked for its form, and kept nowhere.
#pragma once

#include <string>

#include "common/ledger/line_fields.hpp"

namespace dpreduce {

/// A charge; the line as it must have been printed goes to `canonical`.
LedgerRecord read_old_line(const LineJson& json, std::string& canonical);

}  // namespace dpreduce
