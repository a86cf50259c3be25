// Persons over silos, which tell each other no names: each silo lets a person count for B over the silos that may have
// rows of theirs.
#include "tests/cli/program_test.hpp"

namespace dpreduce::silo_persons_test {

constexpr std::size_t kSilos = 3;
constexpr std::size_t kRowsOfSilo = 40;
const std::string kFit = "fit --classes 3 --train-x x{rank}.npy --train-y y{rank}.npy ";
const std::string kMean = "--method mean --metric euclidean ";
const std::string kPersons = "--train-person p{rank}.npy ";
const std::string kBudget = "--epsilon 4 --delta 1e-5 --seed 7 ";

std::string with_method(const std::string& options) {
  return (options.find("--method") == std::string::npos ? kMean : "") + options;
}

// Silo s has 40 rows, four of each of ten persons: persons of its own in p{s}.npy, the same ten everywhere in
// same{s}.npy. All rows, in the order of silos, are those of rank 0 of a fit without silos as well.
class SiloPersonsTest : public ProgramTest {
 protected:
  SiloPersonsTest() {
    write_silos(make_rows({50, 40, 30}, 8), std::vector<std::size_t>(kSilos, kRowsOfSilo));
    for (std::size_t silo = 1; silo <= kSilos; ++silo) {
      write_numbers(numbered_npy("p", silo), kRowsOfSilo, [&](std::size_t row) { return row % 10 + 10 * silo; });
      write_numbers(numbered_npy("same", silo), kRowsOfSilo, [](std::size_t row) { return row % 10; });
    }
  }
  ProgramRun among_silos(const std::string& options, int code, const Strings& said = {}) const {
    return run_among(kSilos, kFit + "--secure-aggregation " + with_method(options), code, said);
  }
  std::string model_of(const std::string& options) const {
    among_silos(options, 0);
    return model();
  }
  std::string model_without_silos(const std::string& options) const {
    succeed("fit --classes 3 --train-x x1.npy x2.npy x3.npy --train-y y1.npy y2.npy y3.npy " + with_method(options));
    return model();
  }
};

TEST_F(SiloPersonsTest, ShareTheirBoundAmongTheSilosThatMayHaveRowsOfThem) {
  // Without noise weights alone tell: B / s in a silo, whatever B and s are.
  for (const std::string& method : {kMean, std::string("--method ls "), std::string("--method fc --rounds 2 ")}) {
    SCOPED_TRACE(method);
    const std::string persons = "--non-private --train-person same{rank}.npy " + method;
    const std::string one_each = model_of(persons + "--rows-per-person 1 --silos-per-person 1");
    EXPECT_TRUE(model_of(persons + "--rows-per-person 2 --silos-per-person 2") == one_each);
    EXPECT_TRUE(model_of(persons + "--rows-per-person 3") == one_each);  // all silos unless less is promised
    // Four rows in each of three silos: 12 rows that count for 12 / 3 in each, so for whole rows.
    EXPECT_TRUE(model_of(persons + "--rows-per-person 12") == model_without_silos("--non-private " + method));
    if (method == kMean) continue;  // which parts of rows alone do not change
    EXPECT_FALSE(model_of(persons + "--rows-per-person 1") == one_each);
  }
}

TEST_F(SiloPersonsTest, ShareTheirBoundWhateverTheOrderOfTheirRows) {
  const std::string noised = kBudget + "--method mean --metric cosine --rows-per-person 1 ";
  const std::string in_order = model_of(noised + "--train-person same{rank}.npy");
  TrainingRows turned = make_rows({50, 40, 30}, 8).part(kRowsOfSilo, kRowsOfSilo);
  std::ranges::reverse(turned.labels);
  std::ranges::reverse(turned.features);  // entries of a row are in order again:
  for (auto row = turned.features.begin(); row != turned.features.end(); row += 8) std::reverse(row, row + 8);
  write_rows(turned, "x2.npy", "y2.npy");
  write_numbers("same2.npy", kRowsOfSilo, [](std::size_t row) { return (kRowsOfSilo - 1 - row) % 10; });
  EXPECT_TRUE(model_of(noised + "--train-person same{rank}.npy") == in_order);
}

TEST_F(SiloPersonsTest, AreTheUnitOfEverySilosLedgerOfTheReportAndOfTheModel) {
  among_silos(
      "--epsilon 4 --delta 1e-5 --train-person same{rank}.npy --rows-per-person 2 "
      "--silos-per-person 2 --noise distributed --report r.json --ledger l{rank}.jsonl",
      0);
  expect_members(document("r.json")["privacy"], {{"unit", "person"}, {"rows_per_person", 2}, {"silos_per_person", 2}});
  for (const char* ledger : {"l0.jsonl", "l1.jsonl", "l3.jsonl"}) {
    EXPECT_THAT(bytes(ledger), HasSubstr("\"unit\":\"person\"")) << ledger;
  }
  EXPECT_THAT(model(), HasSubstr("silos_per_person"));
  expect_parts(run("privacy explain r.json").out,
               {"count for at most 2 rows together", "no person has rows in more than 2 silos"});
}

TEST_F(SiloPersonsTest, AreAgreedUponByAllParties) {
  // Each party has a file of its own, and the coordinator no rows.
  write_bytes(folder_ / "c0.toml", "silo = 0\n");
  for (const int silo : {1, 2, 3}) {
    std::ofstream(folder_ / fmt::format("c{}.toml", silo)) << fmt::format(
        "silo = {0}\ntrain-x = \"x{0}.npy\"\ntrain-y = \"y{0}.npy\"\ntrain-person = \"same{0}.npy\"\n", silo);
  }
  const auto expect_run = [&](const std::string& of_silo_1, const std::string& of_others, int code) {
    SCOPED_TRACE(of_silo_1);
    std::string line;
    for (const int silo : {0, 1, 2, 3}) {
      if (silo > 0) line += fmt::format(" : -n 1 {} ", program_path());
      line +=
          fmt::format("fit --classes 3 --method mean --secure-aggregation --threshold 3 {} --silo-config c{}.toml {}",
                      kBudget, silo, silo == 1 ? of_silo_1 : of_others);
    }
    EXPECT_THAT(run_among(0, line, code).err, HasSubstr(code == 0 ? "" : "options"));
  };
  const std::string of_two_silos = "--rows-per-person 1 --silos-per-person 2";
  expect_run(of_two_silos, of_two_silos, 0);
  expect_run("--rows-per-person 2", "--rows-per-person 1", 5);
  expect_run("--rows-per-person 1 --silos-per-person 1", "--rows-per-person 1", 5);
}

TEST_F(SiloPersonsTest, AreRefusedWhereTheirBoundIsNotAgreedOrCannotBe) {
  among_silos(kBudget + kPersons, 2);  // --rows-per-person is what all must say
  among_silos(kBudget + kPersons + "--rows-per-person 1 --silos-per-person 4", 2,
              {"--silos-per-person 4: there are 3 silos"});
  write_labels(folder_ / "p2.npy", std::vector<std::int64_t>(kRowsOfSilo - 1, 1));
  among_silos(kBudget + kPersons + "--rows-per-person 1 --threshold 3", 3, {"39 identifiers for 40 rows of features"});
}

TEST_F(SiloPersonsTest, OfFederatedAveragingShareTheirBoundAsWell) {
  const std::string fit =
      "fit --classes 3 --method fedavg --rounds 2 --local-steps 1 --seed 7 --train-x x{rank}.npy --train-y "
      "y{rank}.npy --train-person same{rank}.npy --non-private --overwrite ";
  for (std::size_t silo = 1; silo <= kSilos; ++silo) {  // ranks count from 0
    for (const char* name : {"x", "y", "same"}) {
      fs::rename(folder_ / numbered_npy(name, silo), folder_ / numbered_npy(name, silo - 1));
    }
  }
  Strings models;
  for (const char* bound :
       {"--rows-per-person 3", "--rows-per-person 1 --silos-per-person 1", "--rows-per-person 12"}) {
    succeed(fit + bound, kSilos);
    models.push_back(model());
  }
  EXPECT_TRUE(models[0] == models[1]);
  EXPECT_FALSE(models[0] == models[2]);
}

}  // namespace dpreduce::silo_persons_test
