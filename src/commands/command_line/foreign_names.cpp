#include "commands/command_line/foreign_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "common/base/nearest_name.hpp"

namespace dpreduce {
namespace {

using ForeignName = std::pair<std::string_view, std::string_view>;

// Of scikit-learn, PyTorch, Opacus, diffprivlib and TensorFlow Privacy.
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

// Whether the words name one of the options.
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
