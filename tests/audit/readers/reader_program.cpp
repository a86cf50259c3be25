// What readers of the files and the output of runs can tell of one record: exit code 0 where nothing, 8 where they
// refute the claim.
//
//     dpreduce_readers fit --method mean --epsilon 1 --delta 1e-6
//     dpreduce_readers evaluate --epsilon 1 --delta 1e-6
//
// Rows, public rows, a model to evaluate, and files for what is written are its own.
#include <array>
#include <exception>
#include <fstream>

#include <fmt/format.h>

#include "audit/neighbor_rows.hpp"
#include "common/base/error.hpp"
#include "common/model/classifier.hpp"
#include "common/model/classifier_file.hpp"
#include "tests/audit/readers/read_run.hpp"

namespace dpreduce {
namespace {

constexpr double kFalseAlarm = 2.5e-7;
constexpr std::size_t kDim = 4;
constexpr std::size_t kOtherRows = 8;
constexpr std::size_t kRowsTakenFor = 60;

// A model that is sure of the canary.
std::vector<std::byte> model_to_evaluate() {
  ClassifierParts parts;
  parts.method = "mean";
  parts.preprocessing.input_dim = kDim;
  parts.classes = kReadClasses;
  for (const double weight : std::array{4.0, -4.0, 0.0}) parts.weights.insert(parts.weights.end(), kDim, weight);
  parts.bias.assign(kReadClasses, 0.0);
  parts.link = Link::kSoftmax;
  return to_bytes(Classifier(std::move(parts)));
}

int run(std::vector<std::string> words) {
  const PrivateFolder folder;
  const NeighborPair pair =
      worst_case_pairs(
          {.classes = kReadClasses, .dim = kDim, .other_rows = kOtherRows, .rows_taken_for = kRowsTakenFor})
          .front();
  WorldFiles files{
      .without = pair.without.write(folder.path(), "0"), .with = pair.with.write(folder.path(), "1"), .public_x = {}};
  if (words.at(0) == "evaluate") {
    const std::vector<std::byte> model = model_to_evaluate();
    std::ofstream(folder / "model", std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()), static_cast<std::streamsize>(model.size()));
    words.insert(words.end(), {"--private", "--model", folder / "model", "--public-model", "--metrics",
                               "accuracy,recall,auc", "--positive", "0"});
  } else if (std::find(words.begin(), words.end(), "public") != words.end()) {
    files.public_x = opposed_public_rows(kDim, 1.0).write(folder.path(), "public").x.front();
  }
  const ReadAudit audit = audit_by_reading_runs(words, files, pair.with, kFalseAlarm, folder);
  fmt::print("claimed    epsilon {} at delta {}, mu {}\n", audit.claim.epsilon, audit.claim.delta,
             audit.claim.mu.value_or(0.0));
  fmt::print("readers    mu {} and epsilon {} proven from {} fields, {} runs of each world; strongest: {}\n",
             audit.loss.proven.mu, audit.loss.proven.epsilon, audit.loss.fields, audit.runs, audit.loss.strongest);
  if (!audit.fault.empty()) fmt::print("fault      {}\n", audit.fault);
  return audit.refutes() ? static_cast<int>(ExitCode::kClaimRefuted) : 0;
}

}  // namespace
}  // namespace dpreduce

int main(int argc, char** argv) {
  try {
    return dpreduce::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
