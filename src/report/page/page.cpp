#include "report/page/page.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/base/json_text.hpp"
#include "common/base/number_text.hpp"
#include "common/base/version.hpp"
#include "common/ledger/ledger.hpp"
#include "common/randomness/signing_key.hpp"
#include "report/ledger_text.hpp"
#include "report/page/html.hpp"
#include "report/page/sections.hpp"

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

std::vector<Section> sections_of_document(const PageDocument& document) {
  return document.kind == DocumentKind::kFit ? fit_sections(document) : ledger_sections(document);
}

std::string title_of(const PageDocument& document) {
  if (document.kind == DocumentKind::kLedger) return "A ledger";
  const ReportedRun& run = *document.run;
  const std::string promise =
      run.guarantee ? fmt::format(", epsilon {}", upper_figure(run.guarantee->epsilon)) : ", not private";
  if (run.is_evaluation) return "How good a model is" + promise;
  return fmt::format("{} by {}{}", run.is_dry_run ? "Plan of a fit" : "A fit", run.method_text(), promise);
}

std::string section_html(const Section& section, const std::string& id) {
  const std::string mark = section.owner_only.empty() ? "" : " <span class=\"owner\">for the data's owner</span>";
  const std::string why = section.owner_only.empty()
                              ? ""
                              : fmt::format("<p class=\"why\">For the data's owner, not for release: {}.</p>\n",
                                            escaped(section.owner_only));
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"{1}>\n<h3 id=\"{0}-title\">{2}{3}</h3>\n{4}{5}</section>\n", id,
      section.owner_only.empty() ? "" : " class=\"owners\"", escaped(section.title), mark, why, section.body);
}

struct Part {
  std::string contents;  // of the list of contents
  std::string article;
};

// An article and its entry in the list of contents, which names its sections where no other article has the same.
Part part_of(const std::string& title, const std::string& file, const std::vector<Section>& sections,
             std::size_t number, bool lists_sections, Audience audience) {
  const std::string id = fmt::format("document-{}", number);
  const std::string shown =
      file.empty() ? escaped(title) : fmt::format("{} <span class=\"file\">{}</span>", escaped(title), name(file));
  Part part{
      fmt::format("<li><a href=\"#{}\">{}</a>", id, shown),
      fmt::format("<article id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n", id, shown)};
  std::size_t section_number = 0;
  std::string entries;
  for (const Section& section : sections) {
    if (audience == Audience::kPublic && !section.owner_only.empty()) continue;
    const std::string section_id = fmt::format("{}-{}", id, ++section_number);
    entries += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section_id, escaped(section.title));
    part.article += section_html(section, section_id);
  }
  part.contents += lists_sections ? fmt::format("\n<ul>\n{}</ul></li>\n", entries) : "</li>\n";
  part.article += "</article>\n";
  return part;
}

std::string head(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n",
      source_hash(page_script()), source_hash(page_style()), escaped(title), page_style());
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
  throw BadInput(path + ": give reports of fit or evaluate --private, or ledgers; this is neither");
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

std::string source_hash(std::string_view text) {
  const auto digest = sha256(text);
  std::string base64(4 * ((digest.size() + 2) / 3) + 1, '\0');  // a zero behind it
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                  reinterpret_cast<const unsigned char*>(digest.data()), static_cast<int>(digest.size()));
  base64.pop_back();
  return "'sha256-" + base64 + "'";
}

std::string page_of(std::span<const PageDocument> documents, Audience audience) {
  DPREDUCE_ASSERT(!documents.empty());
  std::string contents;
  std::string articles;
  std::size_t number = 0;
  const auto add = [&](const Part& part) {
    contents += part.contents;
    articles += part.article;
  };
  if (const std::vector<Section> compared = comparison_sections(documents, audience); !compared.empty()) {
    add(part_of("All reports", "", compared, 0, false, audience));
  }
  for (const PageDocument& document : documents) {
    const bool is_only = std::ranges::count(documents, document.kind, &PageDocument::kind) == 1;
    add(part_of(title_of(document), document.name, sections_of_document(document), ++number, is_only, audience));
  }
  const std::string title = documents.size() == 1 ? title_of(documents.front()) : "Privacy and accuracy";
  const std::string whose =
      audience == Audience::kPublic
          ? "All of this page is public."
          : "Sections marked <span class=\"owner\">for the data's owner</span> are outside the guarantee. All else is "
            "public; <code>dpreduce report --public</code> makes a page of that alone.";
  return head(title + " – dpreduce") +
         fmt::format(
             "<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n<header>\n<h1>Privacy and "
             "accuracy</h1>\n<p>Made by dpreduce {}. {}</p>\n<nav aria-label=\"Contents\">\n<ul>\n{}</ul>\n</nav>\n"
             "</header>\n<main id=\"content\">\n{}</main>\n<script>{}</script>\n</body>\n</html>\n",
             escaped(version()), whose, contents, articles, page_script());
}

}  // namespace dpreduce
