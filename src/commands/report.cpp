// dpreduce report: one page on reports of fits and private evaluations, and ledgers.
#include "commands/commands.hpp"
#include "report/page.hpp"

namespace dpreduce {
namespace {

struct ReportOptions {
  std::vector<std::string> files;  // reports, ledgers
  std::string out = "report.html";
  bool overwrite = false;   // replace what is there already
  bool for_public = false;  // without what is for the data's owner
};

ReportOptions validated(ReportOptions options) {
  if (options.out.empty()) throw UsageError("--out: a file name is needed");
  for (auto file = options.files.begin(); file != options.files.end(); ++file) {
    const auto twice =
        std::find_if(options.files.begin(), file, [&](const auto& one) { return is_same_file(one, *file); });
    if (twice != file) throw UsageError("{}: is named twice", *file);
  }
  return options;
}

void run(const ReportOptions& options) {
  AtomicFile file(options.out, options.overwrite ? Existing::kReplace : Existing::kKeep);
  std::vector<PageDocument> documents;
  for (const std::string& path : options.files) documents.push_back(document_of_file(path));
  file.commit(page_of(documents, options.for_public ? Audience::kPublic : Audience::kOwner));
  fmt::print("wrote {}\n", options.out);
}

void declare(OptionTable& table, ReportOptions& options) {
  table
      .files("--file,file", options.files,
             "reports of fit or evaluate --private, and ledgers; recognized by their contents")
      .required();
  table.file("--out", options.out, "the page: one self-contained HTML file").written();
  table.flag("--overwrite", options.overwrite, "replace an existing page");
  table.flag("--public", options.for_public,
             "leave out exact test metrics and everything else for the data's owner only");
}

}  // namespace

CommandEntry report_command() {
  return command_reading<ReportOptions, kWithoutConfig>(
      "report", "one HTML page of reports and ledgers", declare,
      [](const auto& options, auto&) { return by_coordinator(run, validated(options)); },
      "  dpreduce report report.json ledger.jsonl --out report.html");
}

}  // namespace dpreduce
