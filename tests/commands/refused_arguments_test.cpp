// What is wrong with words alone, whatever the data: told in one line before anything is opened.
#include "common/base/error.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/testing.hpp"

namespace dpreduce::refused_arguments_test {

const std::string kFit = "fit --train-x x.npy --train-y y.npy --classes 10 ";
const std::string kGoodFit = "fit --method mean --train-x x.npy --train-y y.npy --classes 3 --mu 1 --seed 1 ";
const std::string kPartition = "synth partition --x x.npy --y y.npy --classes 3 --out made ";

// Words, and what is said of them.
std::vector<std::pair<std::string, std::string>> refused_arguments() {
  return {
      {kGoodFit + "--classes -3", "-3: must not be negative"},
      {"audit --one-run --method public --epsilon 1 --delta 1e-5",
       "--one-run with --method public: it releases no class sums"},
      {kGoodFit + "--select 2 --select-by luck", "distance|t"},
      {"audit --method mean --center public --mu 1", "--public-x"},
      {kGoodFit + "--accountant tax", "must be one of gdp|zcdp|rdp|pld"},
      {kGoodFit + "--method ls --alpha much", "must be a number or auto"},
      {kGoodFit + "--method gd --iterate best", "last|average"},
      {kGoodFit + "--method fc --loss hinge", "softmax|sigmoid|square"},
      {kGoodFit + "--adjacency swap", "must be one of add-remove|replace-one"},
      {kFit + "--method magic", "magic"},
      {"train", "'train' is not a command (see dpreduce --help)"},
      {kFit + "--epsilonn 1", "--epsilonn is not an option of fit; did you mean --epsilon?"},
      {kFit + "-x 3", "-x is not an option of fit"},
      {kFit + "--mu 1 more", "'more' belongs to no option"},
      {kFit + "--mu", "--mu needs a value"},
      {"--config no.toml", "--config no.toml: cannot be read"},
      {"fitt", "did you mean fit?"},
      {"privacy cal", "not a command of privacy; did you mean calibrate?"},
      {"--versoin", "did you mean --version?"},
      {"predict --modle m", "did you mean --model?"},
      {"fit --helpall", "did you mean --help-all?"},
      {kFit + "--format jsn", "did you mean json?"},
      {"fit --max_iter 9", "use --rounds, the number of steps"},
      {"fit --classes 3", "fit needs --train-x and --train-y ("},
      {"fit --train-x x --train-y y", "--classes"},
      {kFit + "--clip nan", "--clip nan"},
      {kFit + "--clip much", "much"},
      {kFit + "--seed soon", "soon"},
      {kFit + "--center-share 1", "--center-share 1"},
      {kFit + "--out f --report f", "different files"},
      {kFit + "--mu 1 --out a/x.pkl", "name it a/x.safetensors"},
      {kFit + "--mu 1 --out x.onnx", "python3 -m dpreduce onnx"},
      {"inspect --x x.npy --y y.npy", "--train-y goes with --classes or --class-names"},
      {"report", "report needs FILE ...: reports of fit or evaluate --private, and ledgers"},
      {"predict --model m --x x --scores", "--scores needs --out"},
      {"predict --model m --x x.npy --sets", "--sets needs --out"},
      {"predict --model m --x x.npy --out o --sets --scores", "cannot share one file"},
      {"predict --model m --x x.npy --top-k 0", "--top-k 0: must be"},
      {"predict --model m --x x.npy --threshold 0.5", "--threshold goes with --sets"},
      {"evaluate --model m --x x.npy --y y.npy --threshold nan", "--threshold nan: must be a finite number"},
      {"evaluate --model m --x x.npy --y y.npy --top-k 0", "--top-k 0"},
      {"privacy", "privacy needs a command: calibrate"},
      {"privacy calibrate --sensitivity -1", "--sensitivity -1"},
      {"privacy calibrate --mu 1 --steps 0", "--steps 0"},
      {"privacy calibrate --sampling-rate 1.5", "--sampling-rate 1.5"},
      {"privacy calibrate --sampling-rate 0.5 --mu 1", "samples have no mu"},
      {"privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.5 --accountant gdp",
       "--accountant gdp: it does not cover sampling"},
      {"privacy calibrate --epsilon 1 --delta 1e-5 --sampling-rate 0.1 --accountant zcdp",
       "--accountant zcdp: it does not cover sampling"},
      {"privacy convert", "nothing to convert"},
      {"privacy convert --sigma 1 --mu 1", "--sigma with --mu"},
      {"privacy convert --sigma 0", "--sigma 0"},
      {"privacy compose --delta 1e-5", "nothing to compose"},
      {"privacy compose --gaussian 1", "compose needs --delta"},
      {"privacy compose --gaussian 1:2:3 --delta 1e-5", "--gaussian 1:2:3: must be Z[:K]"},
      {"privacy compose --exponential 1:x --delta 1e-5", "--exponential 1:x"},
      {"privacy compose --gaussian 1 --delta 1e-5 --group 0", "--group 0"},
      {"privacy split --mu 1", "split needs --block"},
      {"privacy split --mu 1 --block a:1 --block a:2", "occurs twice"},
      {"privacy explain", "explain needs FILE: report of fit or evaluate --private"},
      {"synth --rows 10", "--out is required, a folder"},
      {"synth sanitize --out made --mu 1", "synth sanitize needs --x"},
      {"synth sanitize --x x.npy --mu 1", "synth sanitize needs --out"},
      {"synth sanitize --x x.npy --out made --mu 1 --clip 0", "--clip 0"},
      {kPartition, "synth partition needs --silos"},
      {kPartition + "--silos 0", "--silos 0: must be from 1"},
      {kPartition + "--silos 2 --scheme quantity --alpha -1", "--alpha -1: must be a positive"},
      {kPartition + "--silos 2 --scheme dirichlet", "--scheme dirichlet goes with --alpha"},
      {kPartition + "--silos 2 --alpha 1", "--alpha goes with --scheme dirichlet or quantity"},
      {kPartition + "--silos 3 --scheme classes", "--scheme classes goes with --classes-per-silo"},
      {kPartition + "--silos 2 --scheme classes --classes-per-silo 1", "2 silos hold at most 2 of 3 classes"},
      {kPartition + "--silos 2 --scheme feature-shift", "give the size of the shift with --rotation"},
      {kPartition + "--silos 2 --scheme feature-shift --rotation 200", "--rotation 200: must be from 0 to 180"},
      {kPartition + "--silos 2 --rotation 5", "--rotation goes with"},
      {kPartition + "--silos 2 --scheme fair", "--scheme fair"},
      {"refit s --method mean --lambda 1", "--lambda goes with --method ls"},
      {"refit s --method mean --shared-gram", "--shared-gram goes with --method ls"},
      {"refit s --shared-gram --lambda path --weights 1,1,5", "--lambda path with --weights"},
      {"refit s --method mean --select 3 --select-by t", "--select-by t goes with --method fisher"},
  };
}

TEST(ArgumentsAlone, AreRefusedInOneLine) {
  for (const auto& [arguments, says] : refused_arguments()) {
    SCOPED_TRACE(arguments);
    const std::string said = refusal<UsageError>([&words = arguments] { parsed_command(words_in(words)); });
    EXPECT_THAT(said, AllOf(HasSubstr(says), Not(HasSubstr("\n"))));
  }
}

}  // namespace dpreduce::refused_arguments_test
