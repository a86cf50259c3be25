// Self-contained HTML page: no network, no other file.
//
//     JSON documents  ->  sections: words, tables, charts as data  ->  page: style and script inlined, nothing else
//     allowed
//
// Every value is in a table, so that the page can be read without scripts, by screen readers and on paper. The page's
// one script draws the charts. A Content-Security-Policy with the hashes of style and script forbids any other, and
// every request.
#pragma once

#include <span>

#include "report/reported_run.hpp"

namespace dpreduce {

/// Document that a page is about: a reported run (a fit or an evaluation), or a ledger.
struct PageDocument {
  std::string name;                  ///< file name without its folder, which is not for readers
  std::optional<ReportedRun> run{};  ///< fit or evaluation
  std::vector<Section> ledger{};     ///< else sections of a ledger
};

/// Document on the run of a fit or an evaluation.
PageDocument fit_document(ReportedRun run);
/// Reads a ledger as it is now. Throws as Ledger::read does.
PageDocument ledger_document(const std::string& path);
/// Returns whether the file begins as a ledger does. Throws BadInput if the file cannot be read.
bool is_ledger_file(const std::string& path);
/// Reads a report or a ledger, by the file's contents. Throws as read_report and as Ledger::read.
PageDocument document_of_file(const std::string& path);

/// Readers of a page. Public readers get no section that is for the data's owner.
enum class Audience { kOwner, kPublic };

/// Page on these documents, in their order, as HTML in UTF-8. The same documents give the same bytes.
/// @pre there is a document.
/// @throws BadInput naming document and member if a member has another type than the program writes.
std::string page_of(std::span<const PageDocument> documents, Audience audience = Audience::kOwner);

/// Inlined texts.
std::string_view page_script();
std::string_view page_style();

/// 'sha256-...' of an inlined text, in the form of the policy.
std::string source_hash(std::string_view text);

}  // namespace dpreduce
