// The table [consent] of a silo's own file, as text.
//
//     [consent]
//     methods = ["mean", "ls"]
//     least-threshold = 3
//     noise = "distributed"        # central noise is refused
//     most-mu = 0.5                # of one run
//     most-mu-in-all = 1.0         # of all runs on this silo's ledger
#pragma once

#include <span>
#include <string>

#include "common/base/option_table.hpp"
#include "common/base/toml_items.hpp"
#include "methods/silo_options.hpp"

namespace dpreduce {

inline constexpr const char* kConsentTable = "consent";

/// Declares the keys of the table, which are read into `consent`; it outlives the table.
void declare_consent(OptionTable& table, SiloConsent& consent);

/// Returns the consent in these items of a file. Throws UsageError naming file, line and key where a key is unknown or
/// there twice, or a value is of another type or out of range.
SiloConsent consent_of(std::span<const TomlItem> items, const std::string& file);

}  // namespace dpreduce
