#include "commands/command_entry.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "common/base/standard_output.hpp"
#include "common/base/text.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_table.hpp"

namespace dpreduce {

RunnableCommand by_coordinator(std::function<void()> work) {
  return [work = std::move(work)](Communicator& ranks) { ranks.at_coordinator([&] { work(); }); };
}

void PrintText::print() const {
  // Examples are to be copied as they stand.
  const std::size_t examples = std::min(text.find("\nExamples:"), text.size());
  std::fputs((broken_lines(text.substr(0, examples), printed_columns()) + text.substr(examples)).c_str(), stdout);
}

void PrintText::operator()(Communicator& ranks) const {
  if (ranks.is_coordinator()) print();
}

void take_party(SiloOptions& silos, const ParsedCommand& parsed, const std::vector<std::string>& class_names) {
  silos.rows_are_own = parsed.rows_are_own;
  silos.ledger_is_own = parsed.ledger_is_own;
  silos.consent = parsed.consent;
  silos.agreed = agreed_options(parsed.options, class_names);
}

const CommandEntry* CommandEntry::command(const std::string& word) const {
  const auto own = std::ranges::find(commands, word, &CommandEntry::name);
  return own == commands.end() ? nullptr : &*own;
}

NamedCommand named_command(const CommandEntry& root, const std::vector<std::string>& words) {
  NamedCommand named{&root, {}};
  for (const std::string& word : words) {
    const CommandEntry* const own = named.command->command(word);
    if (own == nullptr) break;
    named.command = own;
    named.names.push_back(word);
  }
  return named;
}

void declare_config(OptionTable& table) {
  table
      .add({.names = "--config",
            .help = "TOML file with options of this command",
            .type = "FILE",
            .read = [](const std::vector<std::string>&) {}})
      .of_command_alone(SetBy::kCommandLine);
}

void declare_sensitivity(OptionTable& table, double& sensitivity) {
  table.number("--sensitivity", sensitivity, "L2 sensitivity of the released vector").positive();
}

namespace {

// Names of scikit-learn, PyTorch, Opacus, diffprivlib and TensorFlow Privacy.
constexpr std::pair<std::string_view, std::string_view> kForeignNames[] = {
    {"C", "use --lambda, the ridge of ls: a larger lambda is a smaller C"},
    {"batch-size", "use --batch, the probability that a row enters a round"},
    {"bounds|data-norm|l2-norm-clip", "use --clip, the largest norm of a row"},
    {"class-weight", "use --objective balanced, which weights all classes equally"},
    {"early-stopping", "stopping early would reveal rows; set a fixed number of --rounds"},
    {"epochs|max-iter|n-iter", "use --rounds, the number of steps"},
    {"eta0|lr", "use --learning-rate, or leave it out for an automatic choice"},
    {"max-grad-norm", "use --clip, the largest norm of a row, which bounds its gradient"},
    {"n-classes|num-classes", "use --classes, the number of classes"},
    {"n-jobs", "use --threads, the number of threads"},
    {"noise-multiplier", "noise follows from --epsilon and --delta, --rho or --mu"},
    {"random-state", "--seed makes noise repeatable, and the run not private"},
    {"sample-weight",
     "use --train-weight with --weight-bound for weights of rows, --objective balanced for equal weights of classes, "
     "and --rows-per-person to bound the rows of one person"},
    {"solver", "use --method, which names the training method"},
    {"target-delta", "use --delta"},
    {"target-epsilon", "use --epsilon"},
    {"tol", "stopping by a tolerance would reveal rows; set a fixed number of --rounds"},
    {"validation-fraction", "use --validation-x: validation rows are public rows of their own"},
};

std::string_view without_dashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

// Returns whether the words name one of the options.
bool speak_of(std::string_view words, std::span<const std::string> names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return words.find(fmt::format("--{}", without_dashes(name))) != std::string_view::npos;
  });
}

}  // namespace

std::string hint_for(std::string_view typed, std::span<const std::string> names) {
  std::string name(without_dashes(typed));
  std::ranges::replace(name, '_', '-');
  for (const auto& [foreign, advice] : kForeignNames) {
    if (std::ranges::count(parts_of(foreign, '|'), name) > 0 && speak_of(advice, names))
      return fmt::format("; {}", advice);
  }
  return did_you_mean(typed, names);
}

}  // namespace dpreduce
