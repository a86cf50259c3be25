// Masked sums are plain sums: the model of a run among silos has the bytes of that of one process with all rows,
// whatever the method, however many silos there are, and however the rows are spread over them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "methods/registry.hpp"
#include "tests/cli/silo_test.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce {
namespace silo_sums_test {

constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 8;

// Ways of methods that make other sums, or sums of other points, than the method by itself. PUBLIC stands for public
// rows.
const std::vector<std::string> kWays{"auto --rounds 2",
                                     "auto --rounds 2 --objective balanced",
                                     "auto --rounds 2 --objective balanced --imbalance-ratio 10 --public-x PUBLIC",
                                     "mean",
                                     "mean --metric euclidean --center dp",
                                     "mean --pool 2 --center public --public-x PUBLIC",
                                     "mean --select 4",
                                     "public --public-x PUBLIC",
                                     "public --top-k 2 --public-x PUBLIC",
                                     "public --d-min 0.5 --d-max 1.5 --public-x PUBLIC",
                                     "prototypes --auto --public-x PUBLIC",
                                     "prototypes --auto --expected-rows 1000000 --public-x PUBLIC",
                                     "coinpress",
                                     "ls --shared-gram",
                                     "ls --shared-gram --center dp --pca 4",
                                     "ls --shared-gram --choose",
                                     "ls",
                                     "fc --rounds 2",
                                     "fc --rounds 2 --warm-start --select 4",
                                     "fisher",
                                     "gd --rounds 2",
                                     "gd --rounds 2 --pca 4 --public-x PUBLIC",
                                     "global-adapt --rounds 2",
                                     "adam --rounds 2",
                                     "newton --rounds 2"};

// These, and every method that has no line there and has a place among silos: silos are no ranks to it.
std::vector<std::string> all_ways() {
  std::vector<std::string> ways = kWays;
  for (const MethodEntry* method : all_methods()) {
    const std::string name(method->name);
    const bool is_there = std::any_of(
        kWays.begin(), kWays.end(), [&](const std::string& way) { return way == name || way.starts_with(name + " "); });
    if (!is_there && !method->each_rank_is_a_silo) ways.push_back(name);
  }
  return ways;
}

class SiloSumsTest : public AmongSilosTest {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    const TrainingRows all = make_rows({90, 60, 50}, kDim);
    write_npy(all, *data_ / "x.npy", *data_ / "y.npy");
    write_npy(make_rows({20, 20, 20}, kDim), *data_ / "public.npy", *data_ / "public_y.npy");
    for (const std::size_t silos : {2, 3, 5, 8, 33}) {
      const std::string folder = *data_ / std::to_string(silos);
      std::filesystem::create_directory(folder);
      // The later a silo comes the more rows it has; the first of 33 has two.
      std::size_t first = 0;
      for (std::size_t silo = 1; silo <= silos; ++silo) {
        const double share = std::pow(static_cast<double>(silo) / static_cast<double>(silos), 1.3);
        const auto end = static_cast<std::size_t>(share * static_cast<double>(all.rows()));
        write_npy(all.part(first, end - first), fmt::format("{}/x{}.npy", folder, silo),
                  fmt::format("{}/y{}.npy", folder, silo));
        first = end;
      }
    }
  }
  static void TearDownTestSuite() {
    data_.reset();
    plain_models_.clear();
  }

  static std::string options_of(std::string method) {
    for (std::size_t at = method.find("PUBLIC"); at != std::string::npos; at = method.find("PUBLIC")) {
      method.replace(at, 6, *data_ / "public.npy");
    }
    return fmt::format("fit --classes {} --epsilon 4 --delta 1e-5 --seed 7 --method {}", kClasses, method);
  }

  const std::string& plain_model(const std::string& method) const {
    std::string& bytes = plain_models_[method];
    if (bytes.empty()) {
      succeed(options_of(method) + " --train-x " + (*data_ / "x.npy") + " --train-y " + (*data_ / "y.npy"));
      bytes = model();
    }
    return bytes;
  }

  void expect_the_same(const std::string& method, std::size_t silos) const {
    SCOPED_TRACE(fmt::format("{}, {} silos", method, silos));
    const std::string& plain = plain_model(method);
    run_among(silos,
              fmt::format("{0} --secure-aggregation --silo-timeout 120 --train-x {1}/x{{rank}}.npy --train-y "
                          "{1}/y{{rank}}.npy",
                          options_of(method), *data_ / std::to_string(silos)),
              0);
    EXPECT_TRUE(model() == plain) << "other bytes";
  }

  static std::unique_ptr<TemporaryFolder> data_;
  static std::map<std::string, std::string> plain_models_;
};

std::unique_ptr<TemporaryFolder> SiloSumsTest::data_;
std::map<std::string, std::string> SiloSumsTest::plain_models_;

class EveryNumberOfSilosTest : public SiloSumsTest, public testing::WithParamInterface<std::string> {};

TEST_P(EveryNumberOfSilosTest, GivesTheBytesOfThePlainRun) {
  if (!runs_slow_tests()) GTEST_SKIP() << "a long test";
  for (const std::size_t silos : {2, 3, 5, 8, 33}) expect_the_same(GetParam(), silos);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryNumberOfSilosTest, testing::ValuesIn(all_ways()));

// Of each method one row here. All rows, for 2, 3, 5, 8 and 33 silos, take minutes: the long tests.
TEST_F(SiloSumsTest, EveryMethodGivesTheBytesOfThePlainRun) {
  std::string last;
  for (const std::string& method : all_ways()) {
    const std::string name = method.substr(0, method.find(' '));
    if (name != last || method == "ls") expect_the_same(method, 3);
    last = name;
  }
}

TEST_F(SiloSumsTest, EveryNumberOfSilosGivesTheBytesOfThePlainRun) {
  for (const std::size_t silos : {2, 5, 8}) expect_the_same("ls --shared-gram", silos);
}

// The figures of an evaluation, of what ranks release, with as much noise.
class SiloEvaluationTest : public AmongSilosTest {
 protected:
  static constexpr std::size_t kSilos = 3;

  // `unit` names ledgers: those of rows and of persons are apart.
  void expect_the_same(const std::string& unit, const std::string& whole, const std::string& parts) const {
    SCOPED_TRACE(parts);
    const std::string common = "evaluate --private --mu 4 --seed 7 --format json --ledger " + unit;
    const json plain = succeed(common + "-plain.jsonl " + whole).json();
    const std::string among = common + "-silos.jsonl --secure-aggregation " + parts;
    EXPECT_EQ(run_among(kSilos, among, 0).json()["metrics"], plain["metrics"]);
    const json shared = run_among(kSilos, among + " --noise distributed", 0).json();  // other noise
    EXPECT_EQ(shared["metrics"].size(), plain["metrics"].size());
  }

  // Features x, labels y, label sets s, groups g in turn, and persons p of two rows each: of those rows, the first of
  // which is row `first` of all.
  void write_files(const TrainingRows& rows, std::size_t first, const std::string& ending) const {
    std::vector<std::int64_t> groups;
    std::vector<std::int64_t> persons;
    std::vector<std::uint8_t> sets(kClasses * rows.rows(), 0);
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      groups.push_back(static_cast<std::int64_t>((first + row) % 3));
      persons.push_back(static_cast<std::int64_t>((first + row) / 2));
      for (std::size_t more = 0; more < 1 + (first + row) % 2; ++more) {
        sets[kClasses * row + (static_cast<std::size_t>(rows.labels[row]) + more) % kClasses] = 1;
      }
    }
    write_rows(rows, "x" + ending, "y" + ending);
    write_label_file(folder_ / ("g" + ending), groups);
    write_label_file(folder_ / ("p" + ending), persons);
    dpreduce::write_npy<std::uint8_t>(folder_ / ("s" + ending), sets, kClasses);
  }
};

TEST_F(SiloEvaluationTest, GivesTheFiguresOfThePlainRun) {
  const TrainingRows rows = make_rows({60, 66, 54}, kDim);
  write_files(rows, 0, ".npy");
  const std::size_t each = rows.rows() / kSilos;
  for (std::size_t silo = 0; silo < kSilos; ++silo) {
    write_files(rows.part(silo * each, each), silo * each, fmt::format("{}.npy", silo + 1));
  }
  for (const char* name : {"a", "b"}) {
    succeed(
        fmt::format("fit --method fc --rounds 2 --loss softmax --train-x x.npy --train-y y.npy --classes 3 --mu 4 "
                    "--seed {} --out {}.safetensors",
                    static_cast<int>(*name), name));
  }
  const std::string every = "--metrics accuracy,recall,precision,confusion,topk,logloss,brier,calibration,auc,roc ";
  const std::string pair = "--model a.safetensors --model b.safetensors --top-k 2 --positive 1 --groups 3 " + every;
  const std::string persons = pair + "--rows-per-person 1 ";
  expect_the_same("row", "--model a.safetensors --metrics auc --positive 1 --test-x x.npy --test-y y.npy",
                  "--model a.safetensors --metrics auc --positive 1 --test-x x{rank}.npy --test-y y{rank}.npy");
  expect_the_same("person", persons + "--test-x x.npy --test-y y.npy --group g.npy --test-person p.npy",
                  persons +
                      "--test-x x{rank}.npy --test-y y{rank}.npy --group g{rank}.npy --test-person p{rank}.npy "
                      "--silos-per-person 1");
  const std::string sets = "--model sets.safetensors --max-labels 2 ";
  succeed(
      "fit --method gd --rounds 2 --train-x x.npy --train-y s.npy --classes 3 --max-labels 2 --mu 4 --seed 1 --out "
      "sets.safetensors");
  expect_the_same("row", sets + "--test-x x.npy --test-y s.npy", sets + "--test-x x{rank}.npy --test-y s{rank}.npy");
}

}  // namespace silo_sums_test
}  // namespace dpreduce
