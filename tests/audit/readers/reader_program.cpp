// What readers of the files and the output of runs can tell of one record: exit code 0 where nothing, 8 where they
// refute the claim.
//
//     dpreduce_readers fit --method mean --epsilon 1 --delta 1e-6
//     dpreduce_readers evaluate --epsilon 1 --delta 1e-6
//
// Rows, public rows, a model to evaluate, and files for what is written are its own. Runs are of the command itself, in
// this process, with the files, the output and the exit code that its user would get.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "audit/audited_method.hpp"
#include "audit/neighbor_rows.hpp"
#include "commands/command_line.hpp"
#include "commands/commands.hpp"
#include "common/accounting/budget.hpp"
#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/output_file.hpp"
#include "common/base/text.hpp"
#include "common/model/classifier.hpp"
#include "common/model/classifier_file.hpp"
#include "report/model_card.hpp"
#include "report/reported_run.hpp"
#include "tests/audit/readers/public_fields.hpp"
#include "tests/audit/readers/reader_audit.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

constexpr double kFalseAlarm = 2.5e-7;
constexpr int kReadClasses = 3;
constexpr std::size_t kDim = 4;
constexpr std::size_t kOtherRows = 8;
constexpr std::size_t kRowsTakenFor = 60;

// Standard output and error go to a file as long as this object lives.
class CapturedOutput {
 public:
  explicit CapturedOutput(const fs::path& path) {
    std::fflush(stdout);
    std::fflush(stderr);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    output_ = dup(STDOUT_FILENO);
    error_ = dup(STDERR_FILENO);
    if (file < 0 || output_ < 0 || error_ < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) {
      throw BadInput(path.string() + ": cannot take what a run prints");
    }
    close(file);
  }
  ~CapturedOutput() {
    std::fflush(stdout);
    std::fflush(stderr);
    dup2(output_, STDOUT_FILENO);
    dup2(error_, STDERR_FILENO);
    close(output_);
    close(error_);
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

 private:
  int output_ = -1;
  int error_ = -1;
};

std::string card_of(const fs::path& model, const fs::path& report) {
  return model_card(load_classifier(model), "model", read_report(report));
}

void add_lines(KnownLines& known, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) known.insert(line);
}

// Whether readers may see the file. Keys, files of runs and seconds are for their owner alone.
bool is_public(const fs::path& path) {
  const bool is_for_others =
      (fs::status(path).permissions() & (fs::perms::group_read | fs::perms::others_read)) != fs::perms::none;
  const std::string extension = path.extension();
  return is_for_others || extension == ".json" || extension == ".jsonl" || extension == ".safetensors" ||
         extension == ".html";
}

std::vector<fs::path> public_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && is_public(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// {name: content} of all that readers may see.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const fs::path& file : public_files(folder)) contents[fs::relative(file, folder)] = content_of(file);
  return contents;
}

// What every run draws anew, whatever its seed: long hexadecimal words (of runs, keys, digests, signatures) as "#", and
// the minute as "@".
std::string without_drawn(const std::string& text) {
  static const std::regex minute(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:00Z)");
  static const std::regex drawn("[0-9a-f]{32,}");  // longer than the digits of a number
  return std::regex_replace(std::regex_replace(text, minute, "@"), drawn, "#");
}

// Where two texts begin to differ: the line of the second, or of the first where the second has none. Empty: nowhere.
std::string first_difference(const std::string& one, const std::string& other) {
  std::istringstream lines(one), others(other);
  for (std::string line, of_other;;) {
    const bool has_line = static_cast<bool>(std::getline(lines, line));
    const bool has_other = static_cast<bool>(std::getline(others, of_other));
    if (!has_line && !has_other) return {};
    if (!has_other || !has_line || line != of_other) return "\"" + (has_other ? of_other : line) + "\"";
  }
}

// The first of the files of which the two have not the same, with where it begins to differ; empty where there is none.
std::string first_difference(const std::map<std::string, std::string>& one,
                             const std::map<std::string, std::string>& other) {
  for (const auto* files : {&one, &other}) {
    for (const auto& [name, unused] : *files) {
      if (!one.contains(name) || !other.contains(name)) return name;
      const std::string difference = first_difference(one.at(name), other.at(name));
      if (!difference.empty()) return in_quotes(name + ": " + difference);
    }
  }
  return {};
}

// The same rows with a last one that a run refuses: its label is no class (an evaluation counts it as wrong), or it is
// no number.
std::vector<WorldRows> write_bad_rows(const LabeledRows& rows, bool trains, const PrivateFolder& folder) {
  std::vector<WorldRows> bad;
  LabeledRows of_label = rows;
  of_label.y.back() = kReadClasses;
  if (trains) bad.push_back(of_label.write(folder.path(), "label"));
  LabeledRows of_number = rows;
  of_number.x.back() = std::numeric_limits<float>::quiet_NaN();
  bad.push_back(of_number.write(folder.path(), "number"));
  return bad;
}

// Runs of a command on the two worlds, in subfolders of a folder. The first is made in world 0; every later one goes on
// with a copy of what that left beside the ledger. Not for several threads at once: it holds standard output and error
// while it runs.
class ReadRuns {
 public:
  // Throws what the command throws in world 0.
  ReadRuns(std::vector<std::string> command, WorldFiles files, const PrivateFolder& folder)
      : command_(std::move(command)),
        files_(std::move(files)),
        known_(folder.path() / "known"),
        next_(folder.path() / "next"),
        printed_(folder.path() / "printed") {
    fs::create_directory(known_);
    run(words_of(files_.without, known_, "0"));
    add_lines(known_lines_, content_of(known_ / "page-0.html"));
    if (trains()) add_lines(known_lines_, card_of(known_ / "model-0.safetensors", known_report()));
  }

  bool trains() const { return command_.front() == "fit"; }  // else it evaluates a model that is there
  fs::path known_report() const { return known_ / "report-0.json"; }

  // Everything that the known run and a second one leave to readers: ledger, model, report, page, metrics, exit
  // code, and the card of the second one's model; and what the second one printed.
  PublicFields read(World world) const {
    PublicFields fields;
    const auto words = next_words(world == World::kWithCanary ? files_.with : files_.without);
    const auto started = std::chrono::steady_clock::now();
    const ExitCode code = exit_code_of(words);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
    fields.add_json("exit code", static_cast<int>(code));
    fields.add_output("output", content_of(printed_), elapsed.count());
    for (const fs::path& file : public_files(next_)) {
      fields.add_file(fs::relative(file, next_).string(), file, known_lines_);
    }
    if (code == ExitCode::kDone && trains()) {
      fields.add_text("card", card_of(next_ / "model-1.safetensors", next_ / "report-1.json"), known_lines_);
    }
    return fields;
  }

  // Where files that readers get differ between two runs with one seed on the same rows; empty where nowhere. Neither
  // rows nor options nor noise decide it: a clock does, or a place in memory, and through them the rows may show. Left
  // out are long hexadecimal words, which each run draws, and times in whole minutes.
  std::string undecided() const {
    std::map<std::string, std::string> of_runs[2];
    for (auto& of_run : of_runs) {
      fs::remove_all(next_);
      fs::create_directory(next_);
      std::vector<std::string> words = words_of(files_.with, next_, "1");
      words.insert(words.end(), {"--seed", "1"});
      run(words);
      of_run = contents_of(next_);
      for (auto& [name, content] : of_run) content = without_drawn(content);
    }
    return first_difference(of_runs[0], of_runs[1]);
  }

  // What a second run on rows that it refuses leaves to readers of files; empty where nothing, as must be: how a run
  // ends may depend on one row.
  std::string trace_of(const WorldRows& refused) const {
    if (exit_code_of(next_words(refused)) == ExitCode::kDone) return "rows that are to be refused are not";
    return first_difference(contents_of(known_), contents_of(next_));
  }

 private:
  void run(const std::vector<std::string>& words) const {
    const CapturedOutput output(printed_);
    Communicator alone = Communicator::alone();
    parse_command_line(dpreduce_command(), words)(alone);
  }

  // Runs as the program does: prints the message of an error, and returns the exit code.
  ExitCode exit_code_of(const std::vector<std::string>& words) const {
    try {
      run(words);
      return ExitCode::kDone;
    } catch (const Error& error) {
      std::ofstream(printed_, std::ios::app) << error.what() << '\n';
      return error.code();
    }
  }

  // The words of a run that goes on with a copy of what the known one left.
  std::vector<std::string> next_words(const WorldRows& rows) const {
    fs::remove_all(next_);
    fs::copy(known_, next_, fs::copy_options::recursive);
    return words_of(rows, next_, "1");
  }

  std::vector<std::string> words_of(const WorldRows& rows, const fs::path& folder, const std::string& run) const {
    std::vector<std::string> words = command_;
    const auto add = [&](const char* option, const std::string& value) { words.insert(words.end(), {option, value}); };
    add(trains() ? "--train-x" : "--test-x", rows.x.front());
    add(trains() ? "--train-y" : "--test-y", rows.y.front());
    add("--ledger", folder / "ledger.jsonl");
    add("--report", folder / ("report-" + run + ".json"));
    add("--html", folder / ("page-" + run + ".html"));
    if (!trains()) return words;
    add("--classes", std::to_string(kReadClasses));
    add("--threads", "1");
    add("--out", folder / ("model-" + run + ".safetensors"));
    add("--metrics", folder / ("metrics-" + run + ".jsonl"));
    add("--timings", folder / ("seconds-" + run));
    if (!files_.public_x.empty()) add("--public-x", files_.public_x);
    return words;
  }

  std::vector<std::string> command_;
  WorldFiles files_;
  fs::path known_;  // folder of the known run
  fs::path next_;   // folder of the one that is read, made anew each time
  fs::path printed_;
  KnownLines known_lines_;  // of the known run's page and card
};

// What the known run's report claims.
Guarantee claim_of(const fs::path& report) {
  const nlohmann::json privacy = parse_json(content_of(report))["privacy"];
  Guarantee claim{.epsilon = privacy["epsilon"], .delta = privacy["delta"], .mu = std::nullopt, .rho = std::nullopt};
  if (privacy["mu"].is_number()) claim.mu = privacy["mu"].get<double>();
  return claim;
}

struct ReadAudit {
  Guarantee claim{};     // of the report
  std::size_t runs = 0;  // of each world that were read
  ReaderLoss loss{};
  std::string fault{};  // what readers get that no run may leave, in words; empty: nothing

  bool refutes_mu() const { return claim.mu && loss.proven.mu > *claim.mu; }
  bool refutes() const { return refutes_mu() || loss.proven.epsilon > claim.epsilon || !fault.empty(); }
};

// What readers of files and output can tell of the worlds `files`, and of rows that a run refuses: those of
// `with_canary` with a bad one among them. `command` is "fit" or "evaluate" with its options, but for rows and files.
// As many runs are read as refute the claim where they tell the worlds apart. A true claim is refuted with probability
// at most `error`. `folder` gets files of its own. Throws what the run throws in world 0.
ReadAudit audit_by_reading_runs(const std::vector<std::string>& command, const WorldFiles& files,
                                const LabeledRows& with_canary, double error, const PrivateFolder& folder) {
  const ReadRuns runs(command, files, folder);
  ReadAudit audit{.claim = claim_of(runs.known_report())};
  if (const std::string undecided = runs.undecided(); !undecided.empty()) {
    audit.fault = "readers get what neither rows nor noise decide, and may tell of rows as a clock does: " + undecided;
  }
  for (const WorldRows& refused : write_bad_rows(with_canary, runs.trains(), folder)) {
    const std::string trace = runs.trace_of(refused);
    if (!trace.empty()) audit.fault = "a run that refuses a row leaves a trace of it: " + trace;
  }
  audit.runs = reader_runs(audit.claim, error).value();
  audit.loss = audit_by_reading([&](World world) { return runs.read(world); }, {audit.runs, audit.claim.delta, error});
  return audit;
}

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
  const bool has_public_rows = std::find(words.begin(), words.end(), "public") != words.end();
  const WorldFiles files = write_worlds(pair, has_public_rows, 1.0, folder.path());
  if (words.at(0) == "evaluate") {
    const std::vector<std::byte> model = model_to_evaluate();
    std::ofstream(folder / "model", std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()), static_cast<std::streamsize>(model.size()));
    words.insert(words.end(), {"--private", "--model", folder / "model", "--public-model", "--metrics",
                               "accuracy,recall,auc", "--positive", "0"});
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
