// Files that a command would write: none that it reads is touched, and none that is finished is replaced unasked.
#include <cstdlib>

#include <sys/wait.h>

#include "tests/cli/program_test.hpp"

namespace dpreduce::output_files_test {

class OutputFilesTest : public ProgramTest {
 protected:
  OutputFilesTest() {
    write_rows(make_rows({30, 30}, 4));
    write_rows(make_rows({20, 30}, 4), "test_x.npy", "test_y.npy");
    fs::create_symlink("x.npy", folder_ / "soft");
    fs::create_hard_link(folder_ / "y.npy", folder_ / "hard");
    fs::create_hard_link(folder_ / "y.npy", folder_ / "hard.csv");
  }
  ProgramRun run(const std::string& arguments, int ranks = 0) const override {
    return run_with({.ranks = ranks, .keeps_files = true}, arguments);
  }
  // The last words of `line` name an output that is an input, and --overwrite does not help.
  void expect_input(const std::string& line, const std::string& input) const {
    const Strings words = split_arguments(line);
    const std::string said = fmt::format("{} {}: is the input {}", words[words.size() - 2], words.back(), input);
    for (const char* overwrite : {"", " --overwrite"}) expect_refused(line + overwrite, 2, said);
  }

  const std::string fit_ = "fit --method mean --train-x x.npy --train-y y.npy --classes 2 --mu 1 ";
  const std::string sweep_ =
      "sweep --train-x x.npy --train-y y.npy --test-x test_x.npy --test-y test_y.npy --methods mean --epsilons 1 ";
  const std::string sweep_of_numbers_ = sweep_ + "--classes 2 --seeds 1 ";
  const std::string predict_ = "predict --model model.safetensors --x x.npy";
};

TEST_F(OutputFilesTest, AreNoFilesThatAreRead) {
  expect_input(fit_ + "--out x.npy", "x.npy");
  expect_input(fit_ + "--out soft", "x.npy");
  expect_input(fit_ + "--report hard", "y.npy");
  expect_input(fit_ + "--html soft", "x.npy");
  expect_input(fit_ + "--timings x.npy", "x.npy");
  for (const char* overwrite : {"", " --overwrite"}) {
    expect_refused(fit_ + "--timings r --report r" + overwrite, 2, "--report and --timings are both r");
    expect_refused(sweep_of_numbers_ + "--out hard" + overwrite, 2, "--out hard.csv: is the input y.npy");
    expect_refused(fit_ + "--test-x t.npy --test-y y.npy --out t.npy" + overwrite, 3, "t.npy");
    expect_refused(fit_ + "--out x.npy" + overwrite, 2, "is the input x.npy", 2);
  }
  succeed(fit_ + "--report report.json");
  fs::create_hard_link(folder_ / "model.safetensors", folder_ / "model.npy");
  fs::create_symlink("report.json", folder_ / "page.html");
  expect_input(predict_ + " --scores x.npy", "x.npy");
  expect_input(predict_ + " --out labels.csv --scores model.npy", "");
  expect_input("report ledger.jsonl report.json --out page.html", "report.json");
  for (const char* what : {"", " --scores", " --top-k 1"}) {
    expect_input(predict_ + what + " --out x.npy", "x.npy");
    expect_input(predict_ + what + " --out model.npy", "model.safetensors");
  }
  expect_input("evaluate --model model.safetensors --x x.npy --y y.npy --report hard", "y.npy");
}

TEST_F(OutputFilesTest, AreNoFilesThatSayHow) {
  write_bytes(folder_ / "names.csv", "ant\nbee\n");
  write_bytes(folder_ / "run.toml", "method = \"mean\"\n");
  fs::create_hard_link(folder_ / "run.toml", folder_ / "same.toml");
  const std::string named = "fit --train-x x.npy --train-y y.npy --mu 1 --class-names names.csv ";
  for (const char* output : {"--out names.csv", "--metrics ./names.csv", "--ledger names.csv"}) {
    expect_input(named + output, "names.csv");
  }
  expect_input(fit_ + "--config run.toml --out same.toml", "run.toml");
  expect_refused(sweep_ + "--class-names names.csv --out names --overwrite", 2,
                 "--out names.csv: is the input names.csv");
  expect_input(fit_ + "--train-person y.npy --out y.npy", "y.npy");
  expect_input(fit_ + "--train-person y*.npy --out hard", "y.npy");
  succeed(fit_ + "--report r.json");
  for (const std::string& command : {fit_ + "--out l.jsonl.signing-key", fit_ + "--report ledger.jsonl.signing-key",
                                     std::string("report r.json --out ledger.jsonl.signing-key")}) {
    expect_refused(command + " --overwrite", 2, "this ending is reserved for keys of ledgers");
  }
}

TEST_F(OutputFilesTest, AreNoSecondNamesOfALedger) {
  succeed(fit_);
  const std::string ledger = bytes("ledger.jsonl");
  fs::create_hard_link(folder_ / "ledger.jsonl", folder_ / "metrics.jsonl");
  for (const char* output : {"--metrics", "--report", "--timings"}) {  // metrics are written over the file itself
    expect_refused(fmt::format("{} --out other {} metrics.jsonl --overwrite", fit_, output), 2,
                   "must be different files");
  }
  EXPECT_EQ(bytes("ledger.jsonl"), ledger);
}

TEST_F(OutputFilesTest, KeepWhatIsThereUnlessAsked) {
  succeed(fit_ + "--report report.json --seed 1");
  const std::string model = bytes("model.safetensors");
  for (const int ranks : {0, 2}) {
    expect_refused(fit_, 3, "model.safetensors: already exists", ranks);
    expect_refused(fit_ + "--out other --report report.json", 3, "report.json: already exists", ranks);
    expect_refused(fit_ + "--out other --html report.json", 3, "report.json: already exists", ranks);
  }
  expect_code(fit_ + "--report report.json --seed 2 --overwrite", 0);
  EXPECT_FALSE(bytes("model.safetensors") == model);
  succeed(predict_ + " --scores scores.csv");
  expect_refused(predict_ + " --out new.csv --scores scores.csv", 3, "scores.csv: already exists");
  for (const auto& [line, written] :
       {std::pair{predict_ + " --out labels.npy", "labels.npy"}, std::pair{sweep_of_numbers_, "sweep.csv"},
        std::pair{std::string("report report.json ledger.jsonl --out page.html"), "page.html"}}) {
    succeed(line);
    expect_refused(line, 3, fmt::format("{}: already exists", written));
    expect_code(line + " --overwrite", 0);
  }
  succeed("synth --out made --rows 30");
  expect_code("synth --out made --rows 30", 3);
  expect_code("synth --out made --rows 30 --overwrite", 0);
}

// A batch script that always says --resume does not pay twice, and loses nothing.
TEST_F(OutputFilesTest, OfAFinishedRunStayWhenItIsToBeResumed) {
  succeed(fit_ + "--resume");
  for (int start = 0; start < 2; ++start) expect_refused(fit_ + "--resume", 3, "model.safetensors: already exists");
}

// A run that fails after its model was written has paid for it: the next start replaces the model without being asked.
TEST_F(OutputFilesTest, OfARunThatGoesOnAreReplaced) {
  expect_code(fit_ + "--report /dev/full", 3);
  const std::string saved = model();
  expect_refused(fit_ + "--report report.json", 3, "model.safetensors: already exists");
  succeed(fit_ + "--report report.json --resume");
  EXPECT_TRUE(model() == saved) << "it repeats what it has paid for";
  EXPECT_TRUE(has("report.json"));
}

TEST_F(OutputFilesTest, OfAnotherRunAreKeptByARunThatGoesOn) {
  expect_code(fit_ + "--report /dev/full", 3);
  write_bytes(folder_ / "model.safetensors", "of another run");
  expect_refused(fit_ + "--resume", 3, "model.safetensors: already exists, and is the model of another run");
  for (const char* report : {"no report", "{\"ledger\":{\"run\":\"0123456789abcdef0123456789abcdef\"}}", "[]"}) {
    write_bytes(folder_ / "r.json", report);
    expect_refused(fit_ + "--out m --report r.json --resume", 3,
                   "r.json: already exists, and is not a report of the resumed run");
  }
  expect_code(fit_ + "--report r.json --resume --overwrite", 0);
}

TEST_F(OutputFilesTest, MayBeDevices) {
  for (const char* report : {"", " --report /dev/null"}) expect_code(fit_ + "--out /dev/null" + report, 0);
}

TEST_F(OutputFilesTest, StandardOutputThatCannotBeWrittenIsAnError) {
  succeed(fit_ + "--seed 1");
  const auto end_of = [&](const std::string& arguments, const std::string& redirected) {
    const std::string command =
        fmt::format("cd '{}' && '{}' {} 2> err {}", folder_.path(), program_path(), arguments, redirected);
    return WEXITSTATUS(std::system(fmt::format("bash -o pipefail -c \"{}\"", command).c_str()));
  };
  const std::string evaluate = "evaluate --model model.safetensors --x x.npy --y y.npy";
  for (const std::string& arguments : {predict_, evaluate, std::string("--version"), std::string("ledger show"),
                                       std::string("fit --help"), fit_ + "--seed 2 --out other"}) {
    SCOPED_TRACE(arguments);
    EXPECT_EQ(end_of(arguments, "> /dev/full"), 3);
    EXPECT_EQ(bytes("err"), "dpreduce: standard output: cannot be written: No space left on device\n");
  }
  EXPECT_EQ(end_of(predict_, "| true"), 141);
  EXPECT_EQ(bytes("err"), "");
  EXPECT_EQ(end_of(predict_, "> labels"), 0);
}

}  // namespace dpreduce::output_files_test
