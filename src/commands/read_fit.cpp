#include "commands/read_fit.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "common/model/classifier_file.hpp"
#include "common/model/safetensors_header.hpp"
#include "common/onnx/onnx_classifier.hpp"
#include "methods/registry.hpp"
#include "report/model_card.hpp"

namespace dpreduce {
namespace {

namespace fs = std::filesystem;

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

// Runs a fit as the program does: prints the message of an error, and returns the exit code.
ExitCode exit_code_of(const FitOptions& options) {
  Communicator alone = Communicator::alone();
  try {
    FitCommand{options}(alone);
    return ExitCode::kDone;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code();
  }
}

// A report whose claim is contradicted by its own figures has no card: what it releases is judged all the same.
std::string card_of(const fs::path& model, const fs::path& report) {
  try {
    return model_card(load_classifier(model), "model", read_report(report), report);
  } catch (const BadInput& refusal) {
    return refusal.what();
  }
}

void add_lines(KnownLines& known, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) known.insert(line);
}

// Whether readers may see the file. Keys, journals and seconds are for their owner alone.
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

// Whether the text begins with a time in whole minutes, as ledger lines have it.
bool begins_with_minute(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:";
  constexpr std::string_view kEnd = "00Z";
  if (text.substr(kForm.size(), kEnd.size()) != kEnd) return false;
  return std::equal(kForm.begin(), kForm.end(), text.begin(), [](char form, char c) {
    return form == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : form == c;
  });
}

// What every run draws anew, whatever its seed: long hexadecimal words (of runs, keys, digests, signatures) as "#", and
// the minute as "@".
std::string without_drawn(std::string_view text) {
  constexpr std::size_t kShortestDrawn = 32;  // longer than the digits of a number
  constexpr std::size_t kMinute = 20;
  std::string rest;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
    const bool is_minute = text.size() >= kMinute && begins_with_minute(text);
    if (is_minute || digits >= kShortestDrawn) {
      rest += is_minute ? '@' : '#';
      text.remove_prefix(is_minute ? kMinute : digits);
    } else {
      const std::size_t kept = std::max<std::size_t>(digits, 1);
      rest += text.substr(0, kept);
      text.remove_prefix(kept);
    }
  }
  return rest;
}

// Where two texts begin to differ: the line of the second, or of the first where the second has none. Empty: nowhere.
std::string first_difference(const std::string& one, const std::string& other) {
  std::istringstream lines(one);
  std::istringstream others(other);
  std::string line;
  std::string of_other;
  while (true) {
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
      if (!difference.empty()) return printable_name(name + ": " + difference);
    }
  }
  return {};
}

}  // namespace

ReadFit::ReadFit(FitOptions options, WorldFiles files, const PrivateFolder& folder)
    : options_(std::move(options)),
      files_(std::move(files)),
      known_(folder.path() / "known"),
      next_(folder.path() / "next"),
      printed_(folder.path() / "printed") {
  options_.machine.threads = 1;
  options_.output.format = OutputFormat::kText;  // the report holds what JSON would repeat
  const auto run_first = [&] {
    fs::create_directory(known_);
    const CapturedOutput output(printed_);
    Communicator alone = Communicator::alone();
    FitCommand{options_of(World::kWithoutCanary, known_, "0")}(alone);
  };
  try {
    run_first();
  } catch (const BadInput&) {  // of a report whose claim is contradicted by its own figures there is no page
    has_page_ = false;
    fs::remove_all(known_);
    run_first();
  }
  const FitOptions first = options_of(World::kWithoutCanary, known_, "0");
  if (has_page_) add_lines(known_lines_, content_of(first.output.html));
  add_lines(known_lines_, card_of(first.output.out, first.output.report));
}

FitOptions ReadFit::options_of(World world, const fs::path& folder, const std::string& run) const {
  const WorldRows& rows = world == World::kWithCanary ? files_.with : files_.without;
  FitOptions options = options_;
  options.data.train.x = rows.x;
  options.data.train.y = rows.y;
  options.data.train.person = rows.person;
  if (!files_.public_x.empty()) options.data.public_x = {files_.public_x};
  options.privacy.ledger = folder / "ledger.jsonl";
  options.output.out = folder / ("model-" + run + ".safetensors");
  options.output.report = folder / ("report-" + run + ".json");
  if (has_page_) options.output.html = folder / ("page-" + run + ".html");
  options.output.metrics = folder / ("metrics-" + run + ".jsonl");
  options.output.timings = folder / ("seconds-" + run);
  if (!method_entry(options.method).refuses_option("--checkpoint"))
    options.output.checkpoint = folder / ("checkpoint-" + run);
  return options;
}

PublicFields ReadFit::read(World world) const {
  fs::remove_all(next_);
  fs::copy(known_, next_, fs::copy_options::recursive);
  PublicFields fields;
  const FitOptions options = options_of(world, next_, "1");
  const auto started = std::chrono::steady_clock::now();
  ExitCode code = ExitCode::kDone;
  {
    const CapturedOutput output(printed_);
    code = exit_code_of(options);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  fields.add_json("exit code", static_cast<int>(code));
  fields.add_output("output", content_of(printed_), elapsed.count());
  for (const fs::path& file : public_files(next_)) {
    fields.add_file(fs::relative(file, next_).string(), file, known_lines_);
  }
  if (code == ExitCode::kDone) {
    fields.add_bytes("onnx", onnx_bytes(load_classifier(options.output.out), FloatWidth::kFloat32));
    fields.add_text("card", card_of(options.output.out, options.output.report), known_lines_);
  }
  return fields;
}

std::string ReadFit::undecided() const {
  std::map<std::string, std::string> of_runs[2];
  for (auto& of_run : of_runs) {
    fs::remove_all(next_);
    fs::create_directory(next_);
    FitOptions options = options_of(World::kWithCanary, next_, "1");
    options.privacy.seed = 1;
    {
      const CapturedOutput output(printed_);
      Communicator alone = Communicator::alone();
      FitCommand{options}(alone);
    }
    of_run = contents_of(next_);
    for (auto& [name, content] : of_run) content = without_drawn(content);
  }
  return first_difference(of_runs[0], of_runs[1]);
}

std::string ReadFit::trace_of(const WorldRows& refused) const {
  fs::remove_all(next_);
  fs::copy(known_, next_, fs::copy_options::recursive);
  FitOptions options = options_of(World::kWithCanary, next_, "1");
  options.data.train.x = refused.x;
  options.data.train.y = refused.y;
  options.data.train.person = refused.person;
  {
    const CapturedOutput output(printed_);
    if (exit_code_of(options) == ExitCode::kDone) return "rows that are to be refused are not";
  }
  return first_difference(contents_of(known_), contents_of(next_));
}

}  // namespace dpreduce
