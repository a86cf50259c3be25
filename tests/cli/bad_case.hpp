// One way in which a user or the world goes wrong, and what the program must answer.
#pragma once

#include "tests/cli/program_test.hpp"

namespace dpreduce {

/// Makes the bad file.
using Prepare = std::function<void(const TemporaryFolder&)>;

/// The runs in which a case is tried.
enum class Launch { kAloneAndOnRanks, kOnRanksOnly };

/// Every case starts in a folder of its own with x.npy (12 x 4), y.npy (classes 0 to 2), and model.safetensors,
/// report.json and ledger.jsonl (two lines) of earlier runs.
struct BadCase {
  std::string name;
  std::string arguments;
  int exit_code = 0;
  std::string message;  ///< a part of the one line on standard error
  Prepare prepare = {};
  Launch launch = Launch::kAloneAndOnRanks;
  Privileges privileges = Privileges::kOwn;
};

/// A fit that lacks a budget, and one that succeeds; what stands behind it may make it fail.
inline const std::string kFitWithoutBudget =
    "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --seed 1 --report report.json ";
inline const std::string kGoodFit = kFitWithoutBudget + "--mu 1 ";
/// Without a file of features, without a file of labels.
inline const std::string kFitOfFeatures = "fit --train-y y.npy --classes 3 --mu 1 --seed 1 --train-x ";
inline const std::string kFitOfLabels = "fit --train-x x.npy --classes 3 --mu 1 --seed 1 --train-y ";

inline Prepare file_of(const std::string& name, const std::string& content) {
  return [=](const TemporaryFolder& folder) { write_bytes(folder / name, content); };
}
/// `name` is a copy of `original` without its last bytes.
inline Prepare copy_without_end(const std::string& name, const std::string& original, std::size_t bytes) {
  return [=](const TemporaryFolder& folder) {
    const std::string all = read_bytes(folder / original);
    write_bytes(folder / name, all.substr(0, all.size() - bytes));
  };
}

std::vector<BadCase> bad_training_files();
std::vector<BadCase> bad_options();
std::vector<BadCase> bad_models_and_outputs();
std::vector<BadCase> bad_reports();

}  // namespace dpreduce
