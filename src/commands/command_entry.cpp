#include "commands/command_entry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

#include <fmt/format.h>

#include "common/base/error.hpp"
#include "common/base/text.hpp"
#include "common/ranks/communicator.hpp"
#include "methods/fit_table.hpp"

namespace dpreduce {

RunnableCommand by_coordinator(std::function<void()> work) {
  return [work = std::move(work)](Communicator& ranks) {
    ranks.together([&] {
      if (ranks.is_coordinator()) work();
    });
  };
}

void PrintText::operator()(Communicator& ranks) const {
  if (ranks.is_coordinator()) std::fputs(text.c_str(), stdout);
}

void take_party(SiloOptions& silos, const ParsedCommand& parsed, const std::vector<std::string>& class_names) {
  silos.rows_are_own = parsed.rows_are_own;
  silos.ledger_is_own = parsed.ledger_is_own;
  silos.consent = parsed.consent;
  silos.agreed = agreed_options(parsed.options, class_names);
}

const CommandEntry* CommandEntry::command(const std::string& word) const {
  for (const CommandEntry& own : commands) {
    if (own.name == word) return &own;
  }
  return nullptr;
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
      .of_command_alone(SaidBy::kCommandLine);
}

void declare_sensitivity(OptionTable& table, double& sensitivity) {
  table.number("--sensitivity", sensitivity, "L2 sensitivity of the released vector").positive();
}

std::vector<std::string> parts_of(const std::string& text) {
  std::istringstream ended(text + ":");
  std::vector<std::string> parts;
  for (std::string part; std::getline(ended, part, ':');) parts.push_back(part);
  return parts;
}

double read_finite(const std::string& text) {
  const double number = read_number("", text);
  if (!std::isfinite(number)) throw UsageError(fmt::format("{}: must be finite", text));
  return number;
}

namespace {

using ForeignName = std::pair<std::string_view, std::string_view>;

// Names of scikit-learn, PyTorch, Opacus, diffprivlib and TensorFlow Privacy.
constexpr std::array kForeignNames{
    ForeignName{"C", "--lambda says the ridge of ls, and more of it is less C"},
    ForeignName{"batch-size", "--batch says with which probability a row is in a round"},
    ForeignName{"bounds", "--clip says the largest norm of a row"},
    ForeignName{"class-weight", "--objective balanced weighs all classes alike"},
    ForeignName{"data-norm", "--clip says the largest norm of a row"},
    ForeignName{"early-stopping", "it would show rows; --rounds is fixed ahead"},
    ForeignName{"epochs", "--rounds says how many steps there are"},
    ForeignName{"eta0", "--learning-rate says it, and is chosen where it is left out"},
    ForeignName{"l2-norm-clip", "--clip says the largest norm of a row"},
    ForeignName{"lr", "--learning-rate says it, and is chosen where it is left out"},
    ForeignName{"max-grad-norm", "--clip says the largest norm of a row, which bounds its gradient"},
    ForeignName{"max-iter", "--rounds says how many steps there are"},
    ForeignName{"n-classes", "--classes says how many there are"},
    ForeignName{"n-iter", "--rounds says how many steps there are"},
    ForeignName{"n-jobs", "--threads says how many there are"},
    ForeignName{"noise-multiplier", "noise follows from --epsilon and --delta, --rho or --mu"},
    ForeignName{"num-classes", "--classes says how many there are"},
    ForeignName{"random-state", "--seed makes noise repeatable, and the run not private"},
    ForeignName{
        "sample-weight",
        "--train-weight says what each row weighs, and goes with --weight-bound; --objective balanced weighs classes "
        "alike, and --rows-per-person rows of one person"},
    ForeignName{"solver", "--method says how to train"},
    ForeignName{"target-delta", "--delta says it"},
    ForeignName{"target-epsilon", "--epsilon says it"},
    ForeignName{"tol", "a fit has a number of --rounds that is fixed ahead"},
    ForeignName{"validation-fraction", "validation rows are public rows, --validation-x"},
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
