#include "report/page.hpp"

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
#include "report/html.hpp"
#include "report/ledger_text.hpp"
#include "report/page_sections.hpp"

namespace dpreduce {
namespace {

// A line of schema 1 has no kind. It is a ledger's all the same: Ledger::read then says why it is refused.
bool is_ledger(std::string_view text) {
  const nlohmann::json line = parse_json(text.substr(0, text.find('\n')));
  return line.is_object() && line.contains("schema") && (line.contains("kind") || line.contains("release"));
}

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string title_of(const PageDocument& document) {
  if (!document.run) return "A ledger";
  const ReportedRun& run = *document.run;
  const std::string promise =
      run.guarantee ? fmt::format(", epsilon {}", upper_figure(run.guarantee->epsilon)) : ", not private";
  if (run.is_evaluation) return "How good a model is" + promise;
  return fmt::format("{} by {}{}", run.is_dry_run ? "Plan of a fit" : "A fit", run.method_text(), promise);
}

struct Part {
  std::string contents;  // of the list of contents
  std::string article;
};

// An article and its entry in the list of contents, which names its sections where no other article has the same.
Part part_of(const std::string& title, const std::string& file, const std::vector<Section>& sections,
             std::size_t number, bool lists_sections, Audience audience) {
  const std::string id = fmt::format("document-{}", number);
  const std::string shown = file.empty()
                                ? escaped(title)
                                : fmt::format("{} <span class=\"file\">{}</span>", escaped(title), html_of_name(file));
  Part part{
      fmt::format("<li><a href=\"#{}\">{}</a>", id, shown),
      fmt::format("<article id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n", id, shown)};
  std::size_t section_number = 0;
  std::string entries;
  for (const Section& section : sections) {
    if (audience == Audience::kPublic && !section.owner_only.empty()) continue;
    const std::string section_id = fmt::format("{}-{}", id, section_number + 1);
    const std::string html = html_of(section, section_id);
    if (html.empty()) continue;
    ++section_number;
    entries += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section_id, escaped(section.title));
    part.article += html;
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

PageDocument fit_document(ReportedRun run, const std::string& path) {
  return {.name = name_of_file(path), .run = std::move(run)};
}

PageDocument ledger_document(const std::string& path) {
  return {.name = name_of_file(path), .content = json_of_ledger(Ledger::read(path))};
}

bool is_ledger_file(const std::string& path) {
  const MappedFile file(path);
  return is_ledger({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

PageDocument document_of_file(const std::string& path) {
  return is_ledger_file(path) ? ledger_document(path) : fit_document(read_report(path), path);
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
    const bool is_only = std::ranges::count_if(documents, [&](const PageDocument& other) {
                           return other.run.has_value() == document.run.has_value();
                         }) == 1;
    const std::vector<Section> sections = document.run ? fit_sections(document) : ledger_sections(document);
    add(part_of(title_of(document), document.name, sections, ++number, is_only, audience));
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
