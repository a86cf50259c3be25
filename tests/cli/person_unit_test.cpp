// Whatever speaks of privacy says whom it protects: a row, or a person.
#include "tests/cli/program_test.hpp"

namespace dpreduce::person_unit_test {

class PersonUnitTest : public ProgramTest {
 protected:
  PersonUnitTest() {
    write_rows(make_rows({40, 40, 40}, 8));
    write_numbers("p.npy", 120, [](std::size_t row) { return row % 12; });
  }
  std::string output_of(const std::string& command) const {
    const ProgramRun done = expect_code(command, 0);
    return done.out + done.err;
  }
  static std::string line(const std::string& options) {
    const std::string method = options.find("--method") == std::string::npos ? "--method mean " : "";
    return "fit --train-x x.npy --train-y y.npy --classes 3 --epsilon 1 --delta 1e-5 " + method + options;
  }
  std::string fit(const std::string& options) const { return output_of(line(options)); }
};

TEST_F(PersonUnitTest, IsNamedByAllThatSpeaksOfPrivacy) {
  const std::string persons = "--train-person p.npy --rows-per-person 2 ";
  const std::string unit = "one person with any number of rows";
  const std::string printed = "unit person, rows per person 2";
  EXPECT_THAT(fit(persons + "--dry-run"), HasSubstr(printed));
  EXPECT_THAT(fit(persons + "--report r.json --html r.html --out m.safetensors"), HasSubstr(printed));
  expect_members(document("r.json")["privacy"], {{"unit", "person"}, {"rows_per_person", 2}});
  EXPECT_THAT(bytes("ledger.jsonl"), HasSubstr("\"unit\":\"person\""));
  expect_parts(
      output_of("privacy explain r.json"),
      {"the unit is " + unit + ", which count for at most 2 rows together", "10 persons: epsilon",
       "with one person, with all their rows, more or less",
       "other releases about the same persons, whichever of their rows, whose costs add up (dpreduce ledger show)",
       "a person with several identifiers counts as such a group"},
      {"same records", "record more or less"});
  EXPECT_THAT(output_of("privacy explain r.json --format json"), HasSubstr("\"unit\": \"person\""));
  expect_parts(output_of("ledger show ledger.jsonl"),
               {"add-remove of one person with any number of rows", "as if about the same persons\n"});
  const std::string of_page = "<dt>unit</dt><dd><bdi>person</bdi>";
  expect_parts(bytes("r.html"), {of_page, "<dt>Several persons together</dt>"}, {"Several records"});
  EXPECT_THAT(output_of("report r.json ledger.jsonl --out both.html --public"), Not(HasSubstr("record")));
  EXPECT_THAT(bytes("both.html"), HasSubstr(of_page));
  output_of("export m.safetensors --report r.json --card card.md");
  const std::string row = "| unit | person |\n| rows per person | 2 |";
  expect_parts(bytes("card.md"), {row, "### Several persons together"}, {"Several records"});
  output_of("export m.safetensors --card card.md --overwrite");
  EXPECT_THAT(bytes("card.md"), HasSubstr(row));
  EXPECT_THAT(bytes("m.safetensors"), HasSubstr("rows_per_person"));
  // What rows cost does not add up with what persons cost.
  EXPECT_THAT(expect_code(line("--out n.safetensors"), 4).err, HasSubstr("costs of the two do not add up"));
  // A report is of a model only where both are of one unit.
  fit("--report rows.json --out n.safetensors --ledger rows.jsonl");
  EXPECT_THAT(bytes("n.safetensors"), Not(HasSubstr("person")));
  expect_refused("export m.safetensors --report rows.json --card other.md", 3,
                 "is of another model: unit \"record\" in the report, \"person\" in the model");
}

TEST_F(PersonUnitTest, IsARowWithoutIdentifiersAndAPersonWithTenIsAGroup) {
  fit("--report r.json --out m.safetensors");
  expect_parts(output_of("privacy explain r.json"),
               {"10 records: epsilon", "--train-person",
                "the unit is one record: a person with ten records, in one file or several, counts as a group of 10"});
  output_of("export m.safetensors --report r.json --card card.md");
  expect_parts(bytes("card.md"), {"| unit | record |", "### Several records of one person"});
}

// In units of a row's change, not of a person's: noise is B times as large, and so are errors.
TEST_F(PersonUnitTest, ExpectedErrorsGrowWithTheBound) {
  const auto errors = [&](const std::string& method, int rows_per_person) {
    return json::parse(fit(fmt::format("--dry-run --format json --train-person p.npy --rows-per-person {} --method {}",
                                       rows_per_person, method)))["expected_error"];
  };
  for (const std::string method : {"gd --rounds 2", "ls", "mean", "mean --center dp", "fedavg --rounds 2",
                                   "gd --adjacency replace-one", "newton --rounds 2"}) {
    SCOPED_TRACE(method);
    const json of_one = errors(method, 1);
    const json of_ten = errors(method, 10);
    ASSERT_EQ(of_one.size(), of_ten.size());
    ASSERT_FALSE(of_one.empty());
    for (std::size_t k = 0; k < of_one.size(); ++k) {
      EXPECT_NEAR(of_ten[k]["error"].get<double>() / of_one[k]["error"].get<double>(), 10.0, 1e-9) << of_one[k];
    }
  }
  EXPECT_THAT(fit("--dry-run --method gd --train-person p.npy"),
              HasSubstr("of the largest change by one row, counted in full,"));
  EXPECT_THAT(fit("--dry-run --method gd --adjacency replace-one"),
              HasSubstr("of the largest change by one row replaced by another"));
}

TEST_F(PersonUnitTest, OfSamplesIsAPersonsCoin) {
  fit("--method gd --rounds 2 --batch 0.5 --accountant pld --epsilon 30 --train-person p.npy --report r.json");
  expect_parts(output_of("privacy explain r.json"), {"a person, with all their rows, counts with probability 0.5",
                                                     "epsilon 30 is a weak guarantee: with one person,"});
}

TEST_F(PersonUnitTest, OfWhatIsSpentIsToldByMetrics) {
  fit("--train-person p.npy --metrics persons.jsonl --out a --ledger a.jsonl");
  expect_parts(bytes("persons.jsonl"), {"\"unit\":\"person\""}, {"record"});
  fit("--metrics rows.jsonl --out b --ledger b.jsonl");
  EXPECT_THAT(bytes("rows.jsonl"), HasSubstr("\"unit\":\"record\""));
}

TEST_F(PersonUnitTest, NamesTheSilosThatWerePromised) {
  EXPECT_THAT(fit("--method fedavg --rounds 2 --train-person p.npy --rows-per-person 2 --silos-per-person 1 --dry-run"),
              HasSubstr("unit person, rows per person 2, silos per person 1"));
}

TEST_F(PersonUnitTest, OfSamplesDependsOnTheOrderOfFiles) {
  for (const std::string part : {"a", "b"}) {
    TrainingRows rows = make_rows({20, 20, 20}, 8);
    for (float& entry : rows.features) entry *= part == "a" ? 1.0f : 0.5f;
    write_rows(rows, ("x" + part + ".npy"), ("y" + part + ".npy"));
    write_numbers("p" + part + ".npy", 60, [&](std::size_t row) { return row % 12 + (part == "a" ? 0U : 5U); });
  }
  const auto model = [&](const std::string& options, const std::string& first, const std::string& second) {
    output_of(
        fmt::format("fit --train-x x{0}.npy x{1}.npy --train-y y{0}.npy y{1}.npy --train-person p{0}.npy p{1}.npy "
                    "--classes 3 --epsilon 1 --delta 1e-5 --seed 3 --method gd --rounds 3 --out m.safetensors "
                    "--overwrite {2}",
                    first, second, options));
    return bytes("m.safetensors");
  };
  EXPECT_TRUE(model("", "a", "b") == model("", "b", "a"));
  EXPECT_FALSE(model("--batch 0.5 --accountant rdp", "a", "b") == model("--batch 0.5 --accountant rdp", "b", "a"));
}

}  // namespace dpreduce::person_unit_test
