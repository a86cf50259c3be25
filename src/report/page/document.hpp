// What a page is about: reported runs, results of sweeps and ledgers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/reported_run.hpp"

namespace dpreduce {

enum class DocumentKind { kFit, kSweep, kLedger };

struct PageDocument {
  DocumentKind kind = DocumentKind::kFit;
  std::string name;                  ///< of its file, without its folder, which is nobody else's business
  std::optional<ReportedRun> run{};  ///< of a fit
  nlohmann::json content{};          ///< of the others: JSON of sweep, or what `ledger show --format json` prints
};

/// The document of a report of fit. `path` names it in messages. Throws BadInput as reported_run does.
PageDocument fit_document(nlohmann::json report, const std::string& path);
/// A ledger as it stands now. Throws as Ledger::read does.
PageDocument ledger_document(const std::string& path);
/// A report of fit or the results of a sweep, told by the members. Throws BadInput naming the path where it is neither.
PageDocument document_of_json(nlohmann::json content, const std::string& path);
/// A file of any of the three kinds, told by its contents. Throws BadInput where it is none of them, cannot be read,
/// passes kLargestReport, or has values deeper in one another than any document; LedgerCorrupt.
PageDocument document_of_file(const std::string& path);

}  // namespace dpreduce
