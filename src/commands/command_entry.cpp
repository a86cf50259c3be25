#include "commands/command_entry.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "common/base/error.hpp"
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

using ForeignName = std::pair<std::string_view, std::string_view>;

// Names of scikit-learn, PyTorch, Opacus, diffprivlib and TensorFlow Privacy.
constexpr std::array kForeignNames{
    ForeignName{"C", "use --lambda, the ridge of ls: a larger lambda is a smaller C"},
    ForeignName{"batch-size", "use --batch, the probability that a row enters a round"},
    ForeignName{"bounds", "use --clip, the largest norm of a row"},
    ForeignName{"class-weight", "use --objective balanced, which weights all classes equally"},
    ForeignName{"data-norm", "use --clip, the largest norm of a row"},
    ForeignName{"early-stopping", "stopping early would reveal rows; set a fixed number of --rounds"},
    ForeignName{"epochs", "use --rounds, the number of steps"},
    ForeignName{"eta0", "use --learning-rate, or leave it out for an automatic choice"},
    ForeignName{"l2-norm-clip", "use --clip, the largest norm of a row"},
    ForeignName{"lr", "use --learning-rate, or leave it out for an automatic choice"},
    ForeignName{"max-grad-norm", "use --clip, the largest norm of a row, which bounds its gradient"},
    ForeignName{"max-iter", "use --rounds, the number of steps"},
    ForeignName{"n-classes", "use --classes, the number of classes"},
    ForeignName{"n-iter", "use --rounds, the number of steps"},
    ForeignName{"n-jobs", "use --threads, the number of threads"},
    ForeignName{"noise-multiplier", "noise follows from --epsilon and --delta, --rho or --mu"},
    ForeignName{"num-classes", "use --classes, the number of classes"},
    ForeignName{"random-state", "--seed makes noise repeatable, and the run not private"},
    ForeignName{"sample-weight",
                "use --train-weight with --weight-bound for weights of rows, --objective balanced for equal weights of "
                "classes, and --rows-per-person to bound the rows of one person"},
    ForeignName{"solver", "use --method, which names the training method"},
    ForeignName{"target-delta", "use --delta"},
    ForeignName{"target-epsilon", "use --epsilon"},
    ForeignName{"tol", "stopping by a tolerance would reveal rows; set a fixed number of --rounds"},
    ForeignName{"validation-fraction", "use --validation-x: validation rows are public rows of their own"},
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
  const auto foreign = std::ranges::find(kForeignNames, name, &ForeignName::first);
  if (foreign != kForeignNames.end() && speak_of(foreign->second, names)) return fmt::format("; {}", foreign->second);
  return did_you_mean(typed, names);
}

}  // namespace dpreduce
