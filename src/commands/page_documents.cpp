#include "commands/page_documents.hpp"

#include <filesystem>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands/explain.hpp"
#include "commands/ledger_json.hpp"
#include "commands/reported_run.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/data/mapped_file.hpp"
#include "common/ledger/ledger.hpp"

namespace dpreduce {
namespace {

// A page names the file alone: where it lies is nobody else's business.
std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

PageDocument fit_document(std::string name, const nlohmann::json& report) {
  const std::string text = ascii_json_text(report);
  nlohmann::json content = parsed_document(text, name);  // as whoever reads the file gets it
  ReportedRun run = parse_report(text, name);
  run.is_tested_on_training_rows = false;  // the figures' own section says so, which the public does not see
  const nlohmann::json promise = explanation_of(run);
  return {.kind = DocumentKind::kFit, .name = std::move(name), .content = std::move(content), .promise = promise};
}

PageDocument ledger_document(const std::string& path) {
  return {.kind = DocumentKind::kLedger, .name = name_of_file(path), .content = json_of_ledger(Ledger::read(path))};
}

PageDocument document_of_file(const std::string& path) {
  DocumentKind kind = DocumentKind::kFit;
  nlohmann::json content;
  {
    const MappedFile file(path);
    const std::span<const std::byte> bytes = file.bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    kind = kind_of(text, path);
    if (kind != DocumentKind::kLedger) {
      if (bytes.size() > kLargestReport) {
        throw BadInput(fmt::format("{}: larger than {} MiB; is it a report?", path, kLargestReport >> 20));
      }
      content = parsed_document(text, path);
    }
  }
  if (kind == DocumentKind::kLedger) return ledger_document(path);
  if (kind == DocumentKind::kFit) {
    PageDocument document = fit_document(path, content);
    document.name = name_of_file(path);
    return document;
  }
  return {.kind = kind, .name = name_of_file(path), .content = std::move(content)};
}

}  // namespace dpreduce
