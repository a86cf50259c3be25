// One page that needs nothing else: no network, no other file.
//
//     JSON documents  ->  sections: words, tables, charts as data  ->  page: style and script inlined, nothing else
//     allowed
//
// Every value stands in a table, so that the page can be read without scripts, by screen readers and on paper. Its one
// script draws the charts. A Content-Security-Policy with the hashes of style and script forbids any other, and every
// request.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "report/reported_run.hpp"

namespace dpreduce {

/// What a page is about: a reported run (a fit, or an evaluation), or a ledger.
enum class DocumentKind { kFit, kLedger };

struct PageDocument {
  DocumentKind kind = DocumentKind::kFit;
  std::string name;                  ///< of its file, without its folder, which is nobody else's business
  std::optional<ReportedRun> run{};  ///< of a fit, or an evaluation
  nlohmann::json content{};          ///< of a ledger: what `ledger show --format json` prints
};

/// The document of a report of fit or of evaluate --private. `path` names it in messages. Throws BadInput as
/// reported_run does.
PageDocument fit_document(nlohmann::json report, const std::string& path);
/// A ledger as it stands now. Throws as Ledger::read does.
PageDocument ledger_document(const std::string& path);
/// A report or the results of a sweep, told by the members. Throws BadInput naming the path where it is neither.
PageDocument document_of_json(nlohmann::json content, const std::string& path);
/// A file of any of the three kinds, told by its contents. Throws BadInput where it is none of them, cannot be read,
/// passes kLargestReport, or has values deeper in one another than any document; LedgerCorrupt.
PageDocument document_of_file(const std::string& path);

/// Whom a page is for: its public readers get no section that is for the data's owner.
enum class Audience { kOwner, kPublic };

/// The page on these documents, in their order, as HTML in UTF-8. The same documents give the same bytes.
/// @pre there is a document; each is of its kind.
/// @throws BadInput naming document and member where one has another type than the program writes.
std::string page_of(std::span<const PageDocument> documents, Audience audience = Audience::kOwner);

/// The texts that are inlined.
std::string_view page_script();
std::string_view page_style();

/// 'sha256-...' of an inlined text, as the policy names it.
std::string source_hash(std::string_view text);

}  // namespace dpreduce
