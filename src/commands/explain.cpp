// dpreduce privacy explain: a report's guarantee in words.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "commands/commands.hpp"
#include "common/base/json_text.hpp"
#include "report/explanation.hpp"

namespace dpreduce {
namespace {

void print_sentences(const std::vector<ExplainedSection>& sections) {
  for (const auto& [heading, sentences] : sections) {
    std::string label = heading;
    for (char& c : label) c = c == '_' ? ' ' : c;
    for (const std::string& sentence : sentences) {
      fmt::print("{:<12} {}\n", label, sentence);
      label.clear();
    }
  }
}

}  // namespace

void run_command(const ExplainOptions& options, Communicator& ranks) {
  ranks.together([&] {
    if (!ranks.is_coordinator()) return;
    const ReportedRun run = read_report(options.report);
    if (options.format == OutputFormat::kText) return print_sentences(words_of(run));
    fmt::print("{}\n", json_text(explanation_of(run), 2));
  });
}

}  // namespace dpreduce
