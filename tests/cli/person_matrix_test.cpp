// Persons as the unit of every method, release, choice, sample and evaluation, alone, on ranks and among silos
// (tests/python/persons_test.py: in partitions). A refusal is a failure.
#include "methods/registry.hpp"
#include "tests/cli/silo_test.hpp"

namespace dpreduce::person_matrix_test {

constexpr std::size_t kSilos = 3;
constexpr std::size_t kRowsOfPart = 90;
constexpr std::size_t kDim = 6;

// One run: its command, what names its rows (train or test), and the rest of its words.
struct Cell {
  std::string command;
  std::string rows;
  std::string options;
  std::string labels = "y";  // the file beside x, and its option
};

// Rows of silo r are x-s{r}, those of rank r x-r{r}; persons have rows in every part.
class PersonMatrixTest : public AmongSilosTest {
 protected:
  PersonMatrixTest() {
    for (const char* part : {"-s1", "-s2", "-s3", "-r0", "-r1"}) {
      const TrainingRows rows = make_rows({kRowsOfPart / 3, kRowsOfPart / 3, kRowsOfPart / 3}, kDim);
      write_rows(rows, fmt::format("x{}.npy", part), fmt::format("y{}.npy", part));
      std::vector<std::int64_t> persons;
      std::string targets;
      std::string sets;
      for (std::size_t row = 0; row < rows.rows(); ++row) {
        persons.push_back(static_cast<std::int64_t>(row % 11));
        const double target = static_cast<double>(row) / static_cast<double>(kRowsOfPart);
        targets.append(reinterpret_cast<const char*>(&target), sizeof target);
        for (std::int64_t c = 0; c < 3; ++c) sets += static_cast<char>(c == rows.labels[row] ? 1 : 0);
      }
      write_label_file(folder_ / fmt::format("p{}.npy", part), persons);
      const auto write = [&](const char* name, const char* type, const std::string& shape, const std::string& entries) {
        write_bytes(folder_ / fmt::format("{}{}.npy", name, part), npy_header_bytes(npy_text(type, shape)) + entries);
      };
      write("t", "<f8", fmt::format("({},)", rows.rows()), targets);
      write("s", "|u1", fmt::format("({}, 3)", rows.rows()), sets);
    }
    write_rows(make_rows({20, 20, 20}, kDim), "u.npy", "v.npy");
  }

  // Its words, with `part` in the place of @.
  static std::string line_of(const Cell& cell, const std::string& part) {
    const std::string rows = "--" + cell.rows;
    const std::string numbers = cell.rows == "train" ? "--targets" : rows + "-targets";
    std::string line = fmt::format("{} {}-x x@.npy {} {}@.npy {}-person p@.npy {} ", cell.command, rows,
                                   cell.labels == "t" ? numbers : rows + "-y", cell.labels, rows, cell.options);
    for (std::size_t at = line.find('@'); at != std::string::npos; at = line.find('@')) line.replace(at, 1, part);
    return line;
  }

  void expect_persons(const std::string& ledger) const {
    EXPECT_THAT(bytes(ledger), AllOf(HasSubstr("\"unit\":\"person\""), Not(HasSubstr("\"unit\":\"record\""))));
    EXPECT_EQ(document("r.json")["private"], true);
    const json privacy = document("r.json")["privacy"];
    EXPECT_EQ(privacy["unit"], "person");
    EXPECT_EQ(privacy["rows_per_person"], 1) << "unless it is given";
  }

  void expect_alone_and_on_ranks(const Cell& cell) const {
    SCOPED_TRACE(cell.command + " " + cell.options);
    for (const int ranks : {0, 2}) {
      const std::string ledger = fmt::format("l{}.jsonl", ++ledgers_);
      const ProgramRun made =
          run(line_of(cell, ranks == 0 ? "-s1" : "-r{rank}") + "--report r.json --ledger " + ledger, ranks);
      ASSERT_EQ(made.exit_code, 0) << ranks << " ranks: " << made.err;
      expect_persons(ledger);
    }
  }

  void expect_among_silos(const Cell& cell) const {
    const std::string ledger = fmt::format("l{}.jsonl", ++ledgers_);
    const std::string line =
        line_of(cell, "-s{rank}") + "--secure-aggregation --rows-per-person 1  --report r.json --ledger " + ledger;
    ASSERT_EQ(run_among(kSilos, line, 0).exit_code, 0);
    expect_persons(ledger);
  }

  void expect_everywhere(const Cell& cell) const {
    expect_alone_and_on_ranks(cell);
    expect_among_silos(cell);
  }

 private:
  mutable int ledgers_ = 0;
};

std::string of_classes(const std::string& words) {
  return "--classes 3 --mu 3 " + words;
}

TEST_F(PersonMatrixTest, EveryMethodTakesThem) {
  for (const MethodEntry* const method : all_methods()) {
    std::string words = "--classes 3 --epsilon 3 --delta 1e-5 --method " + std::string(method->name);
    if (method->takes_option("--rounds")) words += " --rounds 2";
    if (method->chooses_public_rows) words += " --public-x u.npy";
    const Cell cell{"fit", "train", words};
    expect_alone_and_on_ranks(cell);
    if (!method->each_rank_is_a_silo) expect_among_silos(cell);  // fedavg is of silos without masks
  }
}

TEST_F(PersonMatrixTest, EveryPreparationAndChoiceTakesThem) {
  for (const char* words :
       {"--method ls --shared-gram --choose", "--method ls", "--method mean --metric euclidean --center dp",
        "--method fc --pca 4 --rounds 2", "--method gd --select 4 --rounds 2",
        "--method fisher --select 4 --select-by t", "--method gd --warm-start --rounds 2",
        "--objective balanced --rounds 2", "--method ls --feature-range private --normalize none",
        "--method mean --adjacency replace-one"}) {
    expect_everywhere({"fit", "train", of_classes(words)});
  }
  expect_everywhere({"fit", "train", of_classes("--method mean --max-labels 2"), "s"});
  for (const char* method : {"ls", "fc --rounds 2"}) {
    expect_everywhere({"fit", "train", fmt::format("--mu 3 --target-range private --method {}", method), "t"});
  }
}

TEST_F(PersonMatrixTest, EverySampleTakesThem) {
  for (const char* method : {"gd", "adam", "gd --loss sigmoid --center dp"}) {
    expect_alone_and_on_ranks(
        {"fit", "train",
         fmt::format("--classes 3 --epsilon 3 --delta 1e-5 --accountant rdp --batch 0.5 --rounds 2 --method {}",
                     method)});
  }
}

TEST_F(PersonMatrixTest, EveryReleaseTakesThem) {
  for (const char* statistics : {"gram", "class_sums", "class_sizes", "class_grams", "gram,class_sums",
                                 "class_sums,class_sizes", "gram,class_sums,class_sizes", "class_grams,class_sizes"}) {
    expect_everywhere(
        {"release", "train", of_classes(fmt::format("--out kept --overwrite --statistics {}", statistics))});
  }
}

TEST_F(PersonMatrixTest, EveryEvaluationTakesThem) {
  succeed(
      "fit --train-x x-s2.npy --train-y y-s2.npy --train-person p-s2.npy --classes 3 --mu 1 --method gd --rounds 2 "
      "--out m "
      "--ledger model.jsonl");
  succeed(
      "fit --train-x x-s2.npy --targets t-s2.npy --train-person p-s2.npy --mu 1 --method ls --target-range 0,1 --out n "
      "--ledger model.jsonl");
  for (const char* metrics :
       {"", "--metrics accuracy,topk --top-k 2", "--metrics auc --positive 1", "--group y@.npy --groups 3"}) {
    expect_everywhere({"evaluate --private", "test", fmt::format("--mu 3 --model m {}", metrics)});
  }
  expect_everywhere({"evaluate --private", "test", "--mu 3 --model n", "t"});
  expect_alone_and_on_ranks(
      {"fit", "train",
       of_classes("--method ls --evaluate-share 0.3 --test-x x-s2.npy --test-y y-s2.npy --test-person p-s2.npy")});
}

}  // namespace dpreduce::person_matrix_test
