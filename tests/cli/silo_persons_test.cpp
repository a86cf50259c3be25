// Persons over silos, which tell each other no names: each silo lets a person count for B over the silos that may have
// rows of theirs.
#include "tests/cli/silo_test.hpp"

namespace dpreduce {
namespace silo_persons_test {

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
class SiloPersonsTest : public AmongSilosTest {
 protected:
  SiloPersonsTest() {
    const TrainingRows all = make_rows({50, 40, 30}, 8);
    for (std::size_t silo = 1; silo <= kSilos; ++silo) {
      std::vector<std::int64_t> own;
      std::vector<std::int64_t> same;
      for (std::size_t row = 0; row < kRowsOfSilo; ++row) {
        same.push_back(static_cast<std::int64_t>(row % 10));
        own.push_back(same.back() + 10 * static_cast<std::int64_t>(silo));
      }
      write_npy(all.part((silo - 1) * kRowsOfSilo, kRowsOfSilo), folder_ / fmt::format("x{}.npy", silo),
                folder_ / fmt::format("y{}.npy", silo));
      write_label_file(folder_ / fmt::format("p{}.npy", silo), own);
      write_label_file(folder_ / fmt::format("same{}.npy", silo), same);
    }
  }

  ProgramRun among_silos(const std::string& options, int code, const std::vector<std::string>& said = {}) const {
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

TEST_F(SiloPersonsTest, OfOneSiloEachMakeTheModelOfRanksThatMayCompareThem) {
  EXPECT_TRUE(model_of(kBudget + kPersons + "--rows-per-person 2 --silos-per-person 1") ==
              model_without_silos(kBudget + "--rows-per-person 2 --train-person p1.npy p2.npy p3.npy"));
}

TEST_F(SiloPersonsTest, ShareTheirBoundAmongTheSilosThatMayHaveRowsOfThem) {
  // Without noise weights alone tell: B / s in a silo, whatever B and s are.
  const std::string persons = "--non-private --train-person same{rank}.npy ";
  const std::string one_each = model_of(persons + "--rows-per-person 1 --silos-per-person 1");
  EXPECT_TRUE(model_of(persons + "--rows-per-person 2 --silos-per-person 2") == one_each);
  EXPECT_TRUE(model_of(persons + "--rows-per-person 3") == one_each);  // all silos unless less is promised
  // Four rows in each of three silos: 12 rows that count for 12 / 3 in each, so for whole rows.
  EXPECT_TRUE(model_of(persons + "--rows-per-person 12") == model_without_silos("--non-private"));
}

TEST_F(SiloPersonsTest, CountedUnderASharedKeyMakeTheModelOfRanksThatMayCompareThem) {
  write_bytes(folder_ / "person.key", std::string(32, 'k'));
  // Identifiers as integers at one silo and as their digits at another are one person.
  std::string digits;
  for (std::size_t row = 0; row < kRowsOfSilo; ++row) digits += static_cast<char>('0' + row % 10);
  write_bytes(folder_ / "same2.npy", npy_header_bytes(npy_text("|S1", fmt::format("({},)", kRowsOfSilo))) + digits);
  for (const char* bound : {"2", "7"}) {
    const std::string options = kBudget + "--rows-per-person " + bound;
    EXPECT_TRUE(model_of(options + " --train-person same{rank}.npy --count-persons 10 --person-key person.key") ==
                model_without_silos(options + " --train-person same1.npy same2.npy same3.npy"));
  }
}

// What silos learn of each other is said by the report's explanation, and not of runs that count nobody.
TEST_F(SiloPersonsTest, CountedAreToldOfByTheReport) {
  write_bytes(folder_ / "person.key", std::string(32, 'k'));
  const std::string run = "--epsilon 1 --delta 1e-5 --rows-per-person 1 --report r.json --overwrite " + kPersons;
  const auto explained = [&](const std::string& options) {
    model_of(run + options);
    return succeed("privacy explain r.json").out;
  };
  EXPECT_THAT(explained("--count-persons 10 --person-key person.key"),
              AllOf(HasSubstr("silos have counted each person's rows over all of them"),
                    HasSubstr("--count-persons 10: a silo has at most 10 persons"),
                    HasSubstr("the other silos, as to who is where: each has learned of whomever it can name how many "
                              "rows every other silo has"),
                    HasSubstr("a coordinator to whom a silo shows the key of persons (--person-key)")));
  const json report = document("r.json");
  EXPECT_EQ(report["privacy"]["count_persons"], 10);
  EXPECT_THAT(explained("--count-persons 10 --person-key person.key --noise distributed"),
              HasSubstr("as long as no silo shows it the key of persons"));
  EXPECT_THAT(explained("--silos-per-person 1"),
              AllOf(Not(HasSubstr("--count-persons")), Not(HasSubstr("the other silos"))));
}

// Clipped by each silo: to B over s, of persons who are promised to be in s silos; to as much as its share of a
// person's rows, where these are counted.
TEST_F(SiloPersonsTest, OfOneSiloEachAreClippedAsByRanksThatMayCompareThem) {
  write_bytes(folder_ / "person.key", std::string(32, 'k'));
  for (const std::string method : {"ls --center dp", "gd --rounds 3 --loss softmax"}) {
    const std::string options = kBudget + "--method " + method + " --rows-per-person 2 --person-bound clip ";
    const std::string expected = model_without_silos(options + "--train-person p1.npy p2.npy p3.npy");
    EXPECT_TRUE(model_of(options + kPersons + "--silos-per-person 1") == expected) << method;
    EXPECT_TRUE(model_of(options + kPersons + "--count-persons 10 --person-key person.key") == expected) << method;
    EXPECT_FALSE(model_of(options + kPersons) == expected) << method;  // a third of it in each silo
    const std::string weighed = kBudget + "--method " + method + " --rows-per-person 2 " + kPersons;
    EXPECT_FALSE(model_of(weighed + "--silos-per-person 1") == expected) << method;
  }
}

TEST_F(SiloPersonsTest, ShareTheirBoundAmongSilosThatClipThemAndSayHow) {
  write_bytes(folder_ / "person.key", std::string(32, 'k'));
  for (const std::string method : {"ls", "fc --rounds 2"}) {
    SCOPED_TRACE(method);
    const std::string clipped =
        "--non-private --method " + method + " --person-bound clip --train-person same{rank}.npy ";
    const std::string one_each = model_of(clipped + "--rows-per-person 1 --silos-per-person 1");
    EXPECT_TRUE(model_of(clipped + "--rows-per-person 2 --silos-per-person 2") == one_each);
    EXPECT_TRUE(model_of(clipped + "--rows-per-person 3") == one_each);
    // Four of twelve rows each, and so a third of the bound.
    EXPECT_TRUE(model_of(clipped + "--rows-per-person 3 --count-persons 10 --person-key person.key") == one_each);
    EXPECT_TRUE(model_of(clipped + "--rows-per-person 12") == model_without_silos("--non-private --method " + method));
    EXPECT_FALSE(model_of(clipped + "--rows-per-person 1") == one_each);
  }

  // Rows in any order make the same bytes.
  const std::string noised = kBudget + "--method mean --metric cosine --person-bound clip --rows-per-person 1 ";
  const std::string in_order = model_of(noised + "--train-person same{rank}.npy");
  const TrainingRows all = make_rows({50, 40, 30}, 8);
  TrainingRows turned = all.part(kRowsOfSilo, 0);
  std::vector<std::int64_t> persons;
  for (std::size_t row = kRowsOfSilo; row-- > 0;) {
    const TrainingRows one = all.part(kRowsOfSilo + row, 1);
    turned.features.insert(turned.features.end(), one.features.begin(), one.features.end());
    turned.labels.insert(turned.labels.end(), one.labels.begin(), one.labels.end());
    persons.push_back(static_cast<std::int64_t>(row % 10));
  }
  write_npy(turned, folder_ / "x2.npy", folder_ / "y2.npy");
  write_label_file(folder_ / "same2.npy", persons);
  EXPECT_TRUE(model_of(noised + "--train-person same{rank}.npy") == in_order);

  among_silos(
      "--epsilon 4 --delta 1e-5 --method mean --metric cosine --person-bound clip --train-person same{rank}.npy "
      "--rows-per-person 2 --silos-per-person 2 --noise distributed --report r.json",
      0);
  const json privacy = document("r.json")["privacy"];
  EXPECT_EQ(privacy["person_bound"], "clip");
  EXPECT_EQ(privacy["silos_per_person"], 2);
  const std::string trained = model();
  for (const char* word : {"person_bound", "clip", "silos_per_person"}) EXPECT_THAT(trained, HasSubstr(word));
  const ProgramRun words = run("privacy explain r.json");
  EXPECT_THAT(words.out, HasSubstr("are clipped to"));
  EXPECT_THAT(words.out, HasSubstr("no person has rows in more than 2 silos"));
}

// What is not defined for clipped persons is refused among silos as it is without them.
TEST_F(SiloPersonsTest, AreNotClippedByMethodsForWhichThatIsNotDefined) {
  among_silos(kBudget + kPersons + "--method newton --rows-per-person 1 --person-bound clip", 2,
              {"clipping a person is not defined for its release newton"});
}

TEST_F(SiloPersonsTest, AreNotCountedWithAnotherKeyNorWhereTheCoordinatorTellsSilosDifferentSums) {
  for (const int silo : {1, 2, 3}) write_bytes(folder_ / fmt::format("key{}", silo), std::string(32, 'k'));
  const std::string counted = kBudget + "--rows-per-person 1 --train-person same{rank}.npy --count-persons 12 ";
  among_silos(counted + "--person-key key{rank}", 0);
  among_silos(counted + "--person-key key{rank} --fault 0:equivocate@broadcast", 5);
  write_bytes(folder_ / "key2", std::string(32, 'l'));
  among_silos(counted + "--person-key key{rank}", 5, {"they have different keys (--person-key)"});
  write_bytes(folder_ / "key2", std::string(31, 'k'));
  among_silos(counted + "--person-key key{rank} --threshold 3", 3, {"key2: has fewer than 32 bytes"});
}

// One of three makes other pseudonyms of the persons of the others, with a fingerprint that fits: each of them would
// take its own rows for all that a person has.
TEST_F(SiloPersonsTest, AreNotCountedWhereASiloWritesIntoTheListsOfOthers) {
  write_bytes(folder_ / "person.key", std::string(32, 'k'));
  const std::string own = kFit + "--secure-aggregation " + kMean + kBudget +
                          "--rows-per-person 1 --train-person same{rank}.npy --count-persons 10 "
                          "--person-key person.key";
  run_among(2, own + " : -n 1 " + DPREDUCE_LISTS_OF_OTHERS + " " + own, 5,
            {"another list than its own in the place of this silo"});
  EXPECT_FALSE(has("model.safetensors"));
}

TEST_F(SiloPersonsTest, AreNotCountedWhereOneSiloHasMoreThanAllHaveSaid) {
  write_bytes(folder_ / "person.key", std::string(32, 'k'));
  const std::string counted = kBudget + "--rows-per-person 1 --train-person same{rank}.npy --person-key person.key ";
  among_silos(counted + "--threshold 3 --count-persons 9", 3, {"--count-persons 9: this silo has more persons"});
  among_silos(counted + "--count-persons 0", 2);
  among_silos(counted + "--count-persons 60000000", 2, {"lists of 3 silos would take 2746 MiB"});
}

TEST_F(SiloPersonsTest, AreTheUnitOfEverySilosLedgerAndOfTheReport) {
  among_silos(
      "--epsilon 4 --delta 1e-5 --train-person same{rank}.npy --rows-per-person 2 "
      "--silos-per-person 2 --noise distributed --report r.json --ledger l{rank}.jsonl",
      0);
  const json report = document("r.json");
  EXPECT_EQ(report["privacy"]["unit"], "person");
  EXPECT_EQ(report["privacy"]["rows_per_person"], 2);
  EXPECT_EQ(report["privacy"]["silos_per_person"], 2);
  for (const char* ledger : {"l0.jsonl", "l1.jsonl", "l3.jsonl"}) {
    EXPECT_THAT(bytes(ledger), HasSubstr("\"unit\":\"person\"")) << ledger;
  }
  const ProgramRun words = run("privacy explain r.json");
  EXPECT_THAT(words.out, HasSubstr("no person has rows in more than 2 silos"));
}

TEST_F(SiloPersonsTest, AreAgreedUponByAllParties) {
  struct Case {
    std::string of_first;   // silo 1 says
    std::string of_others;  // and all others
  };
  // Each party has a file of its own, and the coordinator no rows.
  for (const int silo : {0, 1, 2, 3}) {
    write_bytes(folder_ / fmt::format("c{}.toml", silo),
                silo == 0 ? "silo = 0\n"
                          : fmt::format("silo = {0}\ntrain-x = \"x{0}.npy\"\ntrain-y = \"y{0}.npy\"\n"
                                        "train-person = \"same{0}.npy\"\n",
                                        silo));
  }
  const std::string common = "fit --classes 3 --method mean --secure-aggregation --threshold 3 " + kBudget;
  for (const Case& said : {Case{"--rows-per-person 1 --silos-per-person 2", "--rows-per-person 1 --silos-per-person 2"},
                           Case{"--rows-per-person 2", "--rows-per-person 1"},
                           Case{"--rows-per-person 1 --silos-per-person 1", "--rows-per-person 1"}}) {
    std::vector<std::string> launch;
    for (const int silo : {0, 1, 2, 3}) {
      const std::vector<std::string> own = split_arguments(
          fmt::format("{} --silo-config c{}.toml {}", common, silo, silo == 1 ? said.of_first : said.of_others));
      launch = silo == 0 ? own : joined(std::move(launch), joined({":", "-n", "1", program_path()}, own));
    }
    const ProgramRun run = run_program(launch, {.folder = folder_.path(), .ranks = 1});
    if (said.of_first == said.of_others) {
      EXPECT_EQ(run.exit_code, 0) << run.err;
    } else {
      EXPECT_EQ(run.exit_code, 5) << run.err;
      EXPECT_THAT(run.err, HasSubstr("options"));
    }
  }
}

TEST_F(SiloPersonsTest, AreRefusedWhereTheirBoundIsNotAgreedOrCannotBe) {
  among_silos(kBudget + kPersons, 2);  // --rows-per-person is what all must say
  among_silos(kBudget + kPersons + "--rows-per-person 1 --silos-per-person 4", 2,
              {"--silos-per-person 4: there are 3 silos"});
  write_label_file(folder_ / "p2.npy", std::vector<std::int64_t>(kRowsOfSilo - 1, 1));
  among_silos(kBudget + kPersons + "--rows-per-person 1 --threshold 3", 3, {"39 identifiers for 40 rows of features"});
}

TEST_F(SiloPersonsTest, OfFederatedAveragingShareTheirBoundAsWell) {
  const std::string fit =
      "fit --classes 3 --method fedavg --rounds 2 --local-steps 1 --seed 7 --train-x x{rank}.npy --train-y "
      "y{rank}.npy --train-person same{rank}.npy --non-private --overwrite ";
  for (std::size_t silo = 1; silo <= kSilos; ++silo) {  // ranks count from 0
    for (const char* name : {"x", "y", "same"}) {
      std::filesystem::rename(folder_ / fmt::format("{}{}.npy", name, silo),
                              folder_ / fmt::format("{}{}.npy", name, silo - 1));
    }
  }
  std::vector<std::string> models;
  for (const char* bound :
       {"--rows-per-person 3", "--rows-per-person 1 --silos-per-person 1", "--rows-per-person 12",
        "--person-bound clip --rows-per-person 3", "--person-bound clip --rows-per-person 1 --silos-per-person 1",
        "--person-bound clip --rows-per-person 12"}) {
    succeed(fit + bound, kSilos);
    models.push_back(model());
  }
  EXPECT_TRUE(models[0] == models[1]);
  EXPECT_FALSE(models[0] == models[2]);
  EXPECT_TRUE(models[3] == models[4]);
  EXPECT_TRUE(models[5] == models[2]);  // whole rows
  EXPECT_FALSE(models[3] == models[0]);
}

}  // namespace silo_persons_test
}  // namespace dpreduce
