#include "report/page.hpp"

#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/ledger/ledger.hpp"
#include "common/randomness/signing_key.hpp"
#include "report/document_sections.hpp"
#include "report/explanation.hpp"
#include "report/html.hpp"
#include "report/ledger_report.hpp"

namespace dpreduce {
namespace {

constexpr std::size_t kMostListed = 8;  // documents: a longer list of contents is folded

std::string title_of(const PageDocument& document) {
  if (!document.run) return "A ledger";
  const ReportedRun& run = *document.run;
  const std::string promise =
      run.guarantee ? fmt::format(", epsilon {}", upper_figure(run.guarantee->epsilon)) : ", not private";
  if (run.is_evaluation) return "How good a model is" + promise;
  return fmt::format("{} by {}{}", run.is_dry_run ? "Plan of a fit" : "A fit", run.method_text(), promise);
}

// Name of the model that a run made, or of those that it is about, as their files have it; empty where none says.
std::string model_of(const PageDocument& document) {
  if (!document.run) return {};
  const JsonFields report(document.run->content, document.name);
  if (!report.has("model")) return fmt::format("{}", fmt::join(report.texts("model_names"), " and "));
  return std::filesystem::path(report.text("model")).stem().string();
}

// One line that sums a document up, as HTML: what it is, its epsilon, and how well the model does. The public sees no
// exact figure.
std::string summary_of(const PageDocument& document, Audience audience) {
  if (!document.run) {
    const Section& spent = document.ledger.front();
    return html_of_words(fmt::format("{}: {}", spent.title, line_of(std::get<Facts>(spent.blocks.front()))));
  }
  std::string html = html_of_words(title_of(document));
  const ReportedRun& run = *document.run;
  if (run.guarantee) html += html_of_words(fmt::format(" at delta {}", upper_figure(run.guarantee->delta)));
  const bool is_public = run.figures && run.figures->is_private;
  if (audience == Audience::kPublic && !is_public) return html;
  const JsonFields report(run.content, document.name);
  if (run.figures && !run.figures->lists.front().figures.empty()) {
    const ReportedMetric& told = run.figures->lists.front().figures.front();
    const auto shown = [&](double number) { return html_of(Cell(number, told.written)); };
    html += fmt::format("; {} {}, from {} to {}", escaped(told.name), told.value ? shown(*told.value) : "unknown",
                        shown(told.low), shown(told.high));
  } else if (const Facts exact = exact_figures(report.object("test")); !run.figures && !exact.empty()) {
    html += fmt::format("; {} {}", escaped(exact.front().name), html_of(exact.front().value));
  } else {
    return html;
  }
  return is_public ? html : html + " <span class=\"owner\">for the data's owner</span>";
}

// Several reported runs side by side: a table of all, and their accuracies over epsilon.

// Null where the report has none. `is_public`: nor where it has an exact one.
nlohmann::json accuracy_of(const ReportedRun& run, bool is_public) {
  if (is_public && !(run.figures && run.figures->is_private)) return nullptr;
  for (auto& [name, number] : numbers_alone(JsonFields(run.content, ""))) {
    if (name == "accuracy") return number;
  }
  return nullptr;
}

Table side_by_side(std::span<const PageDocument* const> runs, bool is_public) {
  Table table{.caption = "The reports of this page",
              .columns = {"report", "method", "epsilon", "accuracy", "delta", "mu", "neighbors"}};
  for (const PageDocument* document : runs) {
    const ReportedRun& run = *document->run;
    const std::optional<ReportedGuarantee>& promise = run.guarantee;
    table.add({document->name, run.method_text(), promise ? at_most(promise->epsilon) : "not private",
               percent(accuracy_of(run, is_public)), promise ? at_most(promise->delta) : "–",
               promise ? at_most(or_null(promise->mu)) : "–", promise ? Cell(to_string(promise->adjacency)) : "–"});
  }
  return table;
}

// Runs by their epsilons, a column for each method.
Chart accuracy_chart(std::span<const PageDocument* const> runs, bool is_public) {
  Table values{.caption = "Accuracy by epsilon", .columns = {"epsilon"}};
  std::vector<std::string>& columns = values.columns;
  std::vector<std::tuple<double, std::size_t, nlohmann::json>> points;  // epsilon, column, accuracy
  for (const PageDocument* document : runs) {
    const ReportedRun& run = *document->run;
    if (run.is_evaluation || !run.guarantee || !(run.guarantee->epsilon > 0.0)) continue;
    if (accuracy_of(run, is_public).is_null()) continue;
    auto column = std::find(columns.begin() + 1, columns.end(), run.method_text());
    if (column == columns.end()) column = columns.insert(column, run.method_text());
    points.emplace_back(run.guarantee->epsilon, column - columns.begin(), accuracy_of(run, is_public));
  }
  if (points.size() < 2) return {};
  std::ranges::stable_sort(points, {}, [](const auto& point) { return std::get<0>(point); });
  for (const auto& [epsilon, column, accuracy] : points) {
    std::vector<Cell> cells(columns.size(), "–");
    cells[0] = at_most(epsilon);
    cells[column] = percent(accuracy);
    values.add(std::move(cells));
  }
  const std::vector<std::string> methods(columns.begin() + 1, columns.end());
  return line_chart("Accuracy against epsilon", "Each mark is a report. Compare those that have the same test rows.",
                    {{"label", "epsilon, logarithmic"}, {"scale", "log"}},
                    {{"label", "accuracy on test rows"}, {"unit", "share"}}, methods, std::move(values));
}

// Sentences of the promise that all runs share, by section.
std::vector<Words> shared_promise(std::span<const PageDocument* const> runs) {
  std::vector<std::vector<Words>> promises;
  for (const PageDocument* one : runs) promises.push_back(public_words_of(*one->run));
  std::vector<Words> shared = promises.front();
  for (Words& words : shared) {
    std::erase_if(words.sentences, [&](const std::string& sentence) {
      return !std::ranges::all_of(promises, [&](const std::vector<Words>& promise) {
        return std::ranges::count(sentences_of(promise, words.key), sentence) > 0;
      });
    });
  }
  std::erase_if(shared, [](const Words& words) { return words.sentences.empty() || words.key == "attacker"; });
  return shared;
}

// Sections that compare the reported runs: all in one table, accuracy over epsilon in one chart, and `shared`, the
// promise that all of them make. Public readers get private accuracies alone.
std::vector<Section> comparison_sections(std::span<const PageDocument* const> runs, Audience audience,
                                         const std::vector<Words>& shared) {
  const bool is_public = audience == Audience::kPublic;
  const bool tells_exact = std::ranges::any_of(
      runs, [](const PageDocument* one) { return accuracy_of(*one->run, false) != accuracy_of(*one->run, true); });
  return {{"Side by side",
           {side_by_side(runs, is_public), accuracy_chart(runs, is_public)},
           is_public || !tells_exact ? "" : "accuracies are exact figures about test rows, outside the guarantee"},
          {"The guarantee of all of them, and against whom it holds", {shared.begin(), shared.end()}}};
}

struct Parts {
  std::string contents;  // entries of the list of contents
  std::string articles;
};

// The way a document is shown on its page.
struct PartForm {
  Audience audience;
  bool lists_sections;       // in the list of contents: no other article has the same
  std::string heading = {};  // empty: the title
  std::string summary = {};  // as HTML, before the rest, which is folded then; empty: nothing is
};

// Adds an article and its entry in the list of contents.
void add_part(Parts& parts, const std::string& title, const std::string& file, const std::vector<Section>& sections,
              std::size_t number, const PartForm& form) {
  const std::string id = fmt::format("document-{}", number);
  const auto beside_file = [&](const std::string& words) {
    const std::string html = html_of_words(words);
    return file.empty() ? html : fmt::format("{} <span class=\"file\">{}</span>", html, html_of_name(file));
  };
  std::size_t section_number = 0;
  std::string entries;
  std::string body;
  for (const Section& section : sections) {
    if (form.audience == Audience::kPublic && !section.owner_only.empty()) continue;
    const std::string section_id = fmt::format("{}-{}", id, section_number + 1);
    const std::string html = html_of(section, section_id);
    if (html.empty()) continue;
    ++section_number;
    entries += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section_id, escaped(section.title));
    body += html;
  }
  if (!form.summary.empty()) {
    body = fmt::format("<p>{}</p>\n<details>\n<summary>All of {}</summary>\n{}</details>\n", form.summary,
                       html_of_name(file), body);
  }
  parts.contents += fmt::format("<li><a href=\"#{}\">{}</a>{}</li>\n", id, beside_file(title),
                                form.lists_sections ? fmt::format("\n<ul>\n{}</ul>", entries) : "");
  parts.articles +=
      fmt::format("<article id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</article>\n",
                  id, beside_file(form.heading.empty() ? title : form.heading), body);
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

PageDocument fit_document(ReportedRun run) {
  std::string name = std::filesystem::path(run.path).filename().string();
  return {.name = std::move(name), .run = std::move(run)};
}

PageDocument ledger_document(const std::string& path) {
  return {.name = std::filesystem::path(path).filename().string(), .ledger = ledger_sections(Ledger::read(path))};
}

bool is_ledger_file(const std::string& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  const nlohmann::json line = parse_json(text.substr(0, text.find('\n')));
  // A line of schema 1 has no kind. It is a ledger's all the same: Ledger::read then says why it is refused.
  return line.is_object() && line.contains("schema") && (line.contains("kind") || line.contains("release"));
}

PageDocument document_of_file(const std::string& path) {
  return is_ledger_file(path) ? ledger_document(path) : fit_document(read_report(path));
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
  Parts parts;
  std::size_t number = 0;
  std::vector<const PageDocument*> runs;
  for (const PageDocument& document : documents) {
    if (document.run) runs.push_back(&document);
  }
  std::vector<Words> shared;
  if (runs.size() > 1) {
    shared = shared_promise(runs);
    add_part(parts, "All reports", "", comparison_sections(runs, audience, shared), 0, {audience, false});
  }
  const PageDocument* only = documents.size() == 1 ? &documents.front() : nullptr;
  for (const PageDocument& document : documents) {
    const bool is_only = (document.run ? runs.size() : documents.size() - runs.size()) == 1;
    if (document.run && is_only) only = &document;
    const std::vector<Section> sections =
        document.run ? fit_sections(*document.run, document.name, shared) : document.ledger;
    PartForm form{audience, is_only};
    if (document.run && !is_only) form = {audience, false, model_of(document), summary_of(document, audience)};
    add_part(parts, title_of(document), document.name, sections, ++number, form);
  }
  std::string title = only ? model_of(*only) : "Privacy and accuracy";
  if (title.empty()) title = title_of(*only);
  std::string contents = fmt::format("<ul>\n{}</ul>\n", parts.contents);
  if (documents.size() > kMostListed) {
    contents = fmt::format("<details>\n<summary>{} documents</summary>\n{}</details>\n", documents.size(), contents);
  }
  const std::string whose =
      audience == Audience::kPublic
          ? "All of this page is public."
          : "What is marked <span class=\"owner\">for the data's owner</span> is outside the guarantee. All else is "
            "public; <code>dpreduce report --public</code> makes a page of that alone.";
  return head(title + " – dpreduce") +
         fmt::format(
             "<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n<header>\n<h1>{}</h1>\n{}<p>Made by "
             "dpreduce {}. {}</p>\n<nav aria-label=\"Contents\">\n{}</nav>\n</header>\n<main "
             "id=\"content\">\n{}</main>\n<script>{}</script>\n</body>\n</html>\n",
             escaped(title), only ? fmt::format("<p class=\"lede\">{}</p>\n", summary_of(*only, audience)) : "",
             escaped(version()), whose, contents, parts.articles, page_script());
}

}  // namespace dpreduce
