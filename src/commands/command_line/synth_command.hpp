// `dpreduce synth`: synthetic features and labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/choices.hpp"

namespace dpreduce {

struct CommandEntry;

struct SynthOptions {
  ClassMeans kind = ClassMeans::kNeuralCollapse;
  std::string out_dir;
  std::size_t rows = 10000;
  std::size_t test_rows = 2000;
  std::size_t dim = 128;
  std::size_t classes = 10;
  std::size_t shards = 1;
  double offset = 0.0;                    ///< sup-norm of a constant vector added to every training row
  double stochastic = 0.0;                ///< standard deviation of noise on training rows
  double test_stochastic = 0.0;           ///< standard deviation of noise on test rows
  double adversarial = 0.0;               ///< sup-norm of a worst-case perturbation of test rows
  double spread = 1.0;                    ///< Gaussian mixture: standard deviation around class means
  double separation = 3.0;                ///< Gaussian mixture: norm of class means
  double imbalance_ratio = 1.0;           ///< largest over smallest class, exponential long tail
  std::optional<std::size_t> max_labels;  ///< n x K zeros and ones, so many ones a row at most; empty: class indices
  std::optional<double> majority_share;   ///< share of class 0, the others equal
  std::optional<std::uint64_t> rows_per_person;  ///< of the training rows, on average; empty: no persons
  std::uint64_t seed = 0;
  bool overwrite = false;  ///< replace what is there already
  bool operator==(const SynthOptions&) const = default;
};

/// Throws UsageError naming option, value and limit.
SynthOptions validated(SynthOptions options);

/// The command as the command line sees it.
CommandEntry synth_command();

}  // namespace dpreduce
