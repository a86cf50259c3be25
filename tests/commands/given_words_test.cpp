// The words of rank 0 come to the same command on every rank.
#include "common/base/error.hpp"
#include "common/ranks/rank_archive.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::given_words_test {

// Of this process, and gone with it.
const TemporaryFolder& folder() {
  static const TemporaryFolder own;
  return own;
}

std::string written(const std::string& name, const std::string& text) {
  write_bytes(folder() / name, text);
  return folder() / name;
}

// A list of twelve classes, which --class-names reads while the command line is parsed.
std::string list_of_classes() {
  return written("classes.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n");
}

// Command lines that between them give every option of every command (the first test sees to that), none its default.
std::vector<std::string> lines_of_all_options() {
  const std::string rows = "--train-x a.npy b.npy --train-y c.npy --classes 12";
  const std::string fit = "fit " + rows + " --mu 0.3";
  const std::string release = "release --statistics gram " + rows;
  const std::string among_silos = " --secure-aggregation --train-x s{rank}/x --train-y s{rank}/y --classes 3 --mu 1";
  const std::string names = " --class-names " + list_of_classes();
  const std::string groups = written("groups.csv", "0\n1\n0\n1\n0\n1\n0\n1\n0\n1\n0\n1\n");
  const std::string ranges = written("ranges.csv", "0,1\n-2.5,2\n");
  std::vector<std::string> lines{
      fit +
          " --test-x t.npy --test-y u.npy --bad-rows zero --format json --threads 3 --memory 77 --adjacency "
          "replace-one --seed 9 --ledger l --resume --out m --report r --html h --metrics j --timings t --overwrite "
          "--quiet --dry-run",
      fit + " --test-x t.npy --test-y u.npy --evaluate-share 0.1 --train-person p.npy --test-person q.npy",
      "fit " + rows +
          " --rho 0.02 --delta 1e-7 --imbalance-ratio 7 --imbalance-seed 3 --method mean --metric euclidean",
      "fit " + rows +
          " --non-private --method auto --objective balanced --smallest-share 0.01 --expected-rows 1e6 --public-x "
          "p.npy",
      "fit " + rows + " --public-x p.npy --method public --epsilon 2 --top-k 3 --d-min 0.2 --d-max 1.9",
      fit + " --method ls --choose --validation-x v.npy --validation-y w.npy",
      fit + " --method ls --choose --choose-share 0.1",
      "fit " + rows + " --epsilon 1 --delta 1e-6 --method gd --rounds 7 --batch 0.1 --accountant rdp",
      fit + " --method prototypes --auto --public-x p.npy",
      fit + " --accountant zcdp",
      "fit --train-x a.npy --targets c.npy --test-x t.npy --test-targets u.npy --target-range 0,5 --feature-range 1,2 "
      "--mu 1 --method ls",
      "fit --train-x a.npy --targets c.npy --mu 1 --feature-ranges " + ranges,
      "release --statistics gram " + rows + " --mu 1 --feature-range private",
      "release --statistics gram " + rows + " --mu 1 --feature-ranges " + ranges,
      "evaluate --model m --test-x a.npy --test-targets b.npy",
      "evaluate --private --public-model --mu 1 --model m --test-x a.npy --test-y b.npy",
      "audit --method ls --feature-range private --mu 1",
      "audit --method ls --mu 1 --targets --feature-ranges " + ranges,
      "sweep --train-x a.npy --train-y b.npy --test-x c.npy --test-y d.npy --methods mean --epsilons 1 --delta 1e-8 "
      "--out o" +
          names,
      "inspect --train-x a.npy --train-y b.npy" + names,
      "sweep --train-x a.npy --train-y b.npy --test-x c.npy --test-y d.npy --public-x p.npy --classes 9 --bad-rows "
      "zero --methods mean,ls --epsilons 1,2 --delta 1e-8 --imbalance 1,10 --seeds 3 --adjacency replace-one --out o "
      "--overwrite --quiet --threads 2 --non-private",
      release +
          " --bad-rows zero --format json --threads 3 --memory 77 --adjacency replace-one --seed 9 --ledger l --resume "
          "--out m --report r --html h --metrics j --timings t --overwrite --quiet --dry-run --gram-share 0.4 --center "
          "dp --center-share 0.1 --mu 0.3",
      release +
          " --epsilon 1 --delta 1e-6 --pca 5 --pca-share 0.2 --select 6 --select-by distance --select-share 0.2 "
          "--accountant zcdp",
      release + " --rho 0.02 --delta 1e-7 --public-x p.npy --center public",
      "release --statistics gram --train-x x --targets t --target-range 0,20 --mu 1",
      "refit --statistics s --method mean --metric euclidean --classes-kept 0,1 --features 0-3 --out m --overwrite "
      "--format json",
      "refit --statistics s --method fisher --select 3 --select-by t --weights 1,2",
      "refit --statistics s --shared-gram --lambda path --alpha 0.5 --pca 4 --intervals i --intervals-x a.npy --level "
      "0.9",
      "predict --model m --x a.npy --out o.npy --overwrite --scores --bad-rows zero",
      "predict --model m --x a.npy --scores s.csv --probabilities p.npy",
      "predict --model m --x a.npy --probabilities --out o.npy",
      "predict --model m --x a.npy --top-k 3",
      "predict --model m --x a.npy --sets --threshold 0.5 --out o.npy",
      "evaluate --model m --test-x a.npy --test-y b.npy --train-y c.npy --bad-rows zero --report r --overwrite "
      "--format json",
      "evaluate --model m --test-x a.npy --test-y b.npy --top-k 3 --threshold 0.25",
      "evaluate --model m --test-x a.npy --test-y b.npy --private --mu 1 --metrics accuracy --level 0.9 --adjacency "
      "replace-one --seed 3 --ledger l --budget-epsilon 3 --budget-delta 1e-7 --accountant zcdp",
      "evaluate --model m --test-x a.npy --test-y b.npy --private --epsilon 1 --delta 1e-6",
      "evaluate --model m --test-x a.npy --test-y b.npy --private --rho 0.1 --delta 1e-6",
      "privacy calibrate --epsilon 2 --delta 1e-6 --accountant pld --sensitivity 3 --steps 5 --sampling-rate 0.2 "
      "--adjacency replace-one --format json",
      "privacy convert --epsilon 2 --delta 1e-6 --sensitivity 3 --format json",
      "privacy convert --sigma 2.5",
      "privacy compose --gaussian 1:2 --subsampled 5:0.5:6 --exponential 0.1:3 --delta 1e-6 --adjacency replace-one "
      "--format json",
      "privacy compose --gaussian 1:2 --delta 1e-6 --group 2",
      "privacy split --block a:1:768 b:2 --epsilon 2 --delta 1e-6 --accountant zcdp --format json",
      "privacy explain --report r.json --format json",
      "report --file r.json l.jsonl --out p.html --overwrite --public",
      "ledger show --ledger l --delta 1e-7 --format json --adjacency replace-one",
      "ledger verify --ledger l --report r",
      "ledger release run7 --ledger l",
      "export --model m --card c --report r --evaluation e --overwrite",
      "export m --class-weights 1=2,0=0.5 --out o",
      "synth --out d --kind gaussian-mixture --rows 10 --test-rows 11 --dim 12 --classes 13 --shards 2 --offset 0.1 "
      "--stochastic 0.2 --test-stochastic 0.3 --adversarial 0.4 --separation 5 --spread 6 --imbalance-ratio 7 "
      "--max-labels 3 --rows-per-person 6 --seed 8",
      "synth --out d --majority-share 0.5 --overwrite",
      "synth sanitize --x a.npy --y b.npy --out d --normalize none --clip 2 --bad-rows zero --epsilon 1 --delta 1e-6 "
      "--accountant zcdp --seed 4 --format json",
      "synth sanitize --x a.npy --out d --overwrite --rho 0.5",
      "synth sanitize --x a.npy --out d --mu 0.5 --ledger l --budget-epsilon 3 --budget-delta 1e-7",
      "synth partition --x a.npy --y b.npy --out d --classes 10 --silos 4 --first-silo 3 --scheme dirichlet --alpha "
      "0.5 --seed 5 --format json",
      "synth partition --x a.npy --y b.npy --out d --classes 10 --silos 4 --scheme classes --classes-per-silo 3",
      "synth partition --x a.npy --y b.npy --out d --classes 10 --silos 4 --scheme feature-shift --rotation 5 --offset "
      "0.1",
      "inspect --train-x a.npy --train-y b.npy --classes 4 --normalize l2 --clip 2 --format json",
      "inspect --train-x a.npy --targets b.npy",
      "audit --mu 1 --confidence 0.9 --trials 1000 --threads 2 --format json --adjacency replace-one --normalize l2 "
      "--clip 2 --pool 2",
      "audit --mu 1 --method ls --shared-gram --rows-per-person 2 --silos-per-person 3",
      "audit --one-run --canaries 200 --train-x a.npy --train-y b.npy --classes 7 --epsilon 1 --delta 1e-6 "
      "--accountant zcdp --method mean --metric euclidean",
      "audit --rho 0.5 --method auto --objective balanced --expected-rows 1000 --smallest-share 0.001",
      "audit --epsilon 2 --method public --top-k 3 --d-min 0.2 --d-max 1.9",
      "audit --mu 1 --method prototypes --auto",
      "audit --epsilon 1 --delta 1e-6 --method gd --rounds 7 --batch 0.1",
      fit + " --train-weight w --weight-bound 2",
      "evaluate --private --model m --test-x x --test-y y --mu 1 --html h --test-person p --rows-per-person 2 --resume "
      "--metrics auc,confusion --group g --group-names " +
          list_of_classes() + " --groups 12 --expected-rows 9 --positive 1 --class-groups " + groups,
      "evaluate --private --model m --test-x x --test-y y --mu 1 --max-labels 3 --max-predicted 2 --score-threshold "
      "0.5",
      "evaluate --private --model m --test-x x --test-y y --mu 1 --secure-aggregation --threshold 3 --noise "
      "distributed --colluding 1 --silo-timeout 5 --roster r --identity i --log l --round-trip 1 --bandwidth 1 "
      "--packet-loss 1 --silos-per-person 2",
      "keygen --out k --name n --format json",
  };
  const auto add_each = [&](const std::vector<std::string>& commands, const std::vector<std::string>& options) {
    for (const std::string& command : commands) {
      for (const std::string& of_both : options) lines.push_back(command + of_both);
    }
  };
  add_each({fit, "audit --mu 1"},
           {" --method ls --alpha 0.25 --lambda 0.5 --gram-share 0.4 --center dp --center-share 0.1",
            " --method fc --center dp --isotropy-share 0.1", " --method ls --shared-gram",
            " --method gd --loss sigmoid --learning-rate 0.5 --radius 3 --iterate average",
            " --method gd --warm-start --warm-start-share 0.2", " --method fedavg --local-steps 3",
            " --method mean --pca 5 --pca-share 0.2", " --method ls --select 6 --select-share 0.2",
            " --method fisher --select 6 --select-by t"});
  add_each({"fit", "release --statistics gram"},
           {" --train-x a.npy --train-y c.npy --mu 0.3" + names,
            " " + rows +
                " --mu 0.3 --budget-epsilon 3 --budget-delta 1e-7 --normalize none --clip 1.5 --pool 4 "
                "--max-labels 2 --train-person p0.npy p1.npy --rows-per-person 3",
            among_silos + " --threshold 5 --noise distributed --colluding 1 --silo-timeout 4.5 --log l{rank} "
                          "--round-trip 3 --bandwidth 40 --packet-loss 0.5",
            among_silos + " --roster r.toml --identity i{rank}",
            among_silos + " --train-person s{rank}/p --rows-per-person 2 --silos-per-person 3"});
  add_each({"privacy calibrate", "privacy convert", "privacy split --block a:1"}, {" --rho 0.5", " --mu 0.5"});
  return lines;
}

// "fit --mu": of all commands all options but --config, which is read before them, and --silo-config, which is no one's
// among ranks that trust each other; and but those of parties over a network, which are no ranks.
void add_all_options(const CommandEntry& command, const std::string& name, std::set<std::string>& all) {
  for (const Option& option : command.options.options()) {
    const std::string of_option(option.long_name());
    if (of_option != "config" && of_option != "silo-config") all.insert(fmt::format("{} --{}", name, of_option));
  }
  for (const CommandEntry& own : command.commands) {
    if (own.role != PartyRole::kNone) continue;
    add_all_options(own, name.empty() ? own.name : name + " " + own.name, all);
  }
}

void remove_given(const std::vector<std::string>& arguments, std::set<std::string>& all) {
  const CommandEntry root = dpreduce_command();
  const CommandEntry* command = &root;
  std::string name;
  for (const std::string& word : arguments) {
    if (const CommandEntry* named = word.starts_with("--") ? nullptr : command->command(word)) {
      command = named;
      name += (name.empty() ? "" : " ") + word;
    } else if (const Option* option = word.starts_with("--") ? command->options.find(word) : nullptr) {
      all.erase(fmt::format("{} --{}", name, option->long_name()));
    }
  }
}

TEST(GivenWords, TheLinesBelowGiveEveryOption) {
  std::set<std::string> missing;
  add_all_options(dpreduce_command(), "", missing);
  EXPECT_GT(missing.size(), 200U);
  for (const std::string& line : lines_of_all_options()) remove_given(words_in(line), missing);
  missing.erase("ledger release --run");  // a word without a name
  EXPECT_THAT(missing, IsEmpty());
}

TEST(GivenWords, OfEveryCommandAreReadAgain) {
  for (const std::string& line : lines_of_all_options()) {
    SCOPED_TRACE(line);
    GivenWords said;
    const RunnableCommand here = parse_command_line(dpreduce_command(), words_in(line), std::nullopt, &said);
    const RunnableCommand there = command_of(dpreduce_command(), said);
    EXPECT_EQ(here.target_type(), there.target_type());
    if (const FitCommand* fit = here.target<FitCommand>()) {
      EXPECT_EQ(fit->options, there.target<FitCommand>()->options);
      EXPECT_EQ(fit->options, unarchived<FitOptions>(archived(fit->options)));  // as rank 0 sends them with its plan
    }
  }
}

// Rank 0 alone reads it, as it reads --config: the others get what it says.
TEST(GivenWords, NeedNoFileOfNamesOfClasses) {
  const std::string path = list_of_classes();
  GivenWords said;
  parse_command_line(dpreduce_command(), words_in("fit --train-x a.npy --train-y c.npy --mu 0.3 --class-names " + path),
                     std::nullopt, &said);
  std::remove(path.c_str());
  const FitOptions fit = command_of(dpreduce_command(), said).target<FitCommand>()->options;
  EXPECT_EQ(fit.data.classes, 12U);
  for (const RowFiles* rows : {&fit.data.train, &fit.data.test, &fit.data.validation}) {
    ASSERT_EQ(rows->class_names.size(), 12U);
    EXPECT_EQ(rows->class_names[2], "c");
  }
}

// What a configuration file gives may begin with a dash, as no word of a command line does.
TEST(GivenWords, OfAFileMayLookLikeOptions) {
  const std::string path = written("run.toml", "name = '-mine'\n");
  GivenWords said;
  parse_command_line(dpreduce_command(), {"keygen", "--out", "k", "--config", path}, std::nullopt, &said);
  EXPECT_NO_THROW(command_of(dpreduce_command(), said));
}

}  // namespace dpreduce::given_words_test
