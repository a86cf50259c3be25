// From files, and from what a command has just made, to the documents of a page.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "common/page/document.hpp"

namespace dpreduce {

/// A report of fit with the words of its promise. Throws BadInput as parse_report does.
PageDocument fit_document(std::string name, const nlohmann::json& report);
/// A ledger as it stands now. Throws as Ledger::read does.
PageDocument ledger_document(const std::string& path);
/// A file of any of the three kinds, told by its contents. Throws BadInput where it is none of them, cannot be read or
/// passes kLargestReport; LedgerCorrupt.
PageDocument document_of_file(const std::string& path);

}  // namespace dpreduce
