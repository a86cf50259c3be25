#include "commands/read_fit.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "commands/commands.hpp"
#include "common/base/error.hpp"
#include "methods/registry.hpp"

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
int exit_code_of(const FitOptions& options) {
  Communicator alone = Communicator::alone();
  try {
    run_command(options, alone);
    return static_cast<int>(ExitCode::kDone);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}

// Whether readers may see the file. Keys and journals are for their owner alone.
bool is_public(const fs::path& path) {
  const bool is_for_others =
      (fs::status(path).permissions() & (fs::perms::group_read | fs::perms::others_read)) != fs::perms::none;
  const std::string extension = path.extension();
  return is_for_others || extension == ".json" || extension == ".jsonl" || extension == ".safetensors" ||
         extension == ".txt";
}

void add_folder(PublicFields& fields, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && is_public(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) fields.add_file(fs::relative(file, folder).string(), file);
}

}  // namespace

ReadFit::ReadFit(FitOptions options, WorldFiles files, const PrivateFolder& folder)
    : options_(std::move(options)),
      files_(std::move(files)),
      known_(folder.path() / "known"),
      next_(folder.path() / "next") {
  options_.machine.threads = 1;
  options_.output.format = OutputFormat::kText;  // the report holds what JSON would repeat, durations among it
  fs::create_directory(known_);
  Communicator alone = Communicator::alone();
  const CapturedOutput output(known_ / "output-0.txt");
  run_command(options_of(World::kWithoutCanary, known_, "0"), alone);
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
  if (!method_entry(options.method).refuses_option("--checkpoint"))
    options.output.checkpoint = folder / ("checkpoint-" + run);
  return options;
}

PublicFields ReadFit::read(World world) const {
  fs::remove_all(next_);
  fs::copy(known_, next_, fs::copy_options::recursive);
  PublicFields fields;
  int code = 0;
  {
    const CapturedOutput output(next_ / "output-1.txt");
    code = exit_code_of(options_of(world, next_, "1"));
  }
  fields.add_json("exit code", code);
  add_folder(fields, next_);
  return fields;
}

}  // namespace dpreduce
