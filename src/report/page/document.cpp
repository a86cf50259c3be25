#include "report/page/document.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/data/mapped_file.hpp"
#include "common/ledger/ledger.hpp"
#include "report/ledger_text.hpp"

namespace dpreduce {
namespace {

constexpr int kDeepest = 32;

bool has_all(const nlohmann::json& object, std::initializer_list<const char*> names) {
  return object.is_object() &&
         std::all_of(names.begin(), names.end(), [&](const char* name) { return object.contains(name); });
}

// A line of schema 1 has no kind. It is a ledger's all the same: Ledger::read then says why it is refused.
bool is_ledger(std::string_view text) {
  const nlohmann::json line = parse_json(text.substr(0, text.find('\n')));
  return has_all(line, {"schema", "kind"}) || has_all(line, {"schema", "release"});
}

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

PageDocument fit_document(nlohmann::json report, const std::string& path) {
  return {.kind = DocumentKind::kFit, .name = name_of_file(path), .run = reported_run(std::move(report), path)};
}

PageDocument ledger_document(const std::string& path) {
  return {.kind = DocumentKind::kLedger, .name = name_of_file(path), .content = json_of_ledger(Ledger::read(path))};
}

PageDocument document_of_json(nlohmann::json content, const std::string& path) {
  if (has_all(content, {"privacy", "method"})) return fit_document(std::move(content), path);
  if (has_all(content, {"runs", "methods", "epsilons"})) {
    return {.kind = DocumentKind::kSweep, .name = name_of_file(path), .content = std::move(content)};
  }
  throw BadInput(path + ": give reports of fit, JSON files of sweep, or ledgers; this is none of them");
}

PageDocument document_of_file(const std::string& path) {
  {
    const MappedFile file(path);
    const std::span<const std::byte> bytes = file.bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!is_ledger(text)) {
      if (bytes.size() > kLargestReport) {
        throw BadInput(fmt::format("{}: larger than {} MiB; is it a report?", path, kLargestReport >> 20));
      }
      std::optional<nlohmann::json> json = parse_json_up_to(kDeepest, text);
      if (!json) throw BadInput(fmt::format("{}: values stand more than {} deep in one another", path, kDeepest));
      if (json->is_discarded()) throw BadInput(path + ": not a JSON file");
      return document_of_json(std::move(*json), path);
    }
  }
  return ledger_document(path);
}

}  // namespace dpreduce
