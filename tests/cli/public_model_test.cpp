// What an evaluation takes in carries its own promise into what comes out: a model that has none makes none.
#include "tests/cli/program_test.hpp"

namespace dpreduce::public_model_test {

constexpr std::size_t kDim = 8;

class PublicModelTest : public ProgramTest {
 protected:
  // Rows of three classes; in world 1 one row more, of a class of its own place.
  void SetUp() override {
    TrainingRows rows = make_rows({60, 50, 70}, kDim);
    write_rows(rows, "x0.npy", "y0.npy");
    for (std::size_t a = 0; a < kDim; ++a) rows.features.push_back(a == 0 ? 9.0F : 0.0F);
    rows.labels.push_back(2);
    write_rows(rows, "x1.npy", "y1.npy");
    write_bytes(folder_ / "names.txt", "ash\nbeech\nthe name of one record\n");
  }
  static std::string fit(int world, const std::string& options) {
    return fmt::format("fit --method ls --class-names names.txt --quiet --train-x x{0}.npy --train-y y{0}.npy {1}",
                       world, options);
  }
  static std::string evaluation(int world, const std::string& options) {
    return fmt::format("evaluate --private --metrics accuracy,recall --test-x x{0}.npy --test-y y{0}.npy {1}", world,
                       options);
  }
  json evaluated(const std::string& options) const {
    succeed(evaluation(0, options + " --report e.json"));
    return document("e.json");
  }
};

TEST_F(PublicModelTest, OfAModelThatPromisesNothingAnEvaluationPromisesNothingAndTellsNoNames) {
  const std::string budget = "--model model.safetensors --epsilon 1 --delta 1e-6 ";
  for (const char* how : {"--non-private", "--mu 1 --seed 3"}) {
    SCOPED_TRACE(how);
    std::array<json, 2> lines;
    for (const int world : {0, 1}) {
      succeed(fit(world, fmt::format("{} --ledger f{}.jsonl", how, world)));
      const std::string ledger = fmt::format("{}{}.jsonl", how[2], world);
      const std::string line = evaluation(world, budget + "--report e.json --html e.html --ledger " + ledger);
      EXPECT_THAT(succeed(line).out, HasSubstr("a model that is not private, so NOT private"));
      const json report = document("e.json");
      expect_members(report, {{"private", false},
                              {"figures", "forfeited"},
                              {"privacy", {{"forfeited_by", {"model"}}}},
                              {"models", json::array()}});
      EXPECT_THAT(report["note"].get<std::string>(), HasSubstr("give --public-model if the model is public"));
      EXPECT_FALSE(report.contains("class_names"));
      expect_parts(bytes("e.html"), {"but are not private"}, {"one record"});
      expect_parts(succeed("privacy explain e.json").out,
                   {"none: the evaluated model has no guarantee", "--public-model"});
      expect_parts(succeed("ledger show " + ledger).out, {"a model that is not private: NOT private, not counted"});
      lines.at(static_cast<std::size_t>(world)) = documents(ledger).at(2);
    }
    expect_members(lines[0], {{"private", false}, {"forfeited_by", {"model"}}});
    for (json& line : lines) {
      for (const char* drawn : {"time", "previous", "release", "signature"}) line.erase(drawn);
    }
    EXPECT_EQ(lines[0], lines[1]) << "its digest tells the worlds apart";
    expect_refused(evaluation(0, budget + "--budget-epsilon 2 --budget-delta 1e-6 --ledger within.jsonl"), 2,
                   "the evaluated model has no guarantee");
    expect_refused("export model.safetensors --card card.md --evaluation e.json", 3,
                   "an unnamed one that is not private");
  }
}

TEST_F(PublicModelTest, BothModelsOfAPairCount) {
  succeed(fit(0, "--mu 1 --out private.safetensors --ledger l.jsonl"));
  succeed(fit(0, "--non-private --out exact.safetensors"));
  for (const char* pair : {"--model private.safetensors --model exact.safetensors",
                           "--model exact.safetensors --model private.safetensors"}) {
    expect_members(evaluated(fmt::format("{} --mu 1 --ledger l.jsonl", pair)),
                   {{"private", false}, {"models", json::array()}});
  }
  const json report = evaluated("--model private.safetensors --mu 1 --ledger l.jsonl");
  EXPECT_EQ(report["private"], true);
  EXPECT_FALSE(report.contains("public_by_word"));
  EXPECT_EQ(report["class_names"][2], "the name of one record");
}

// A promise for records is none for a person with any number of them, and one for persons in a single silo none for
// those in more. Whatever a person counts for in rows, and whichever relation, both are of persons.
TEST_F(PublicModelTest, WhatAModelPromisesToRecordsAloneIsNoPromiseToPersons) {
  write_numbers("p0.npy", 180, [](std::size_t row) { return row / 4; });
  const std::string of_persons = " --train-person p0.npy --rows-per-person 1 --out persons";
  succeed(fit(0, "--mu 1 --ledger records.jsonl --adjacency replace-one --out records"));
  succeed(fit(0, "--epsilon 2 --delta 1e-6 --ledger persons.jsonl" + of_persons));
  const auto evaluated = [&](const std::string& model, const std::string& more) {
    return PublicModelTest::evaluated(fmt::format("--model {} --mu 1 --html e.html {}", model, more));
  };
  const std::string by_person = "--test-person p0.npy --rows-per-person 4 ";
  json report = evaluated("records", by_person + "--ledger a.jsonl");
  expect_members(report, {{"private", false}, {"privacy", {{"forfeited_by", {"model"}}}}, {"models", json::array()}});
  EXPECT_FALSE(report.contains("class_names"));
  EXPECT_THAT(report["note"].get<std::string>(), HasSubstr("or none for persons where they are the unit"));
  EXPECT_EQ(documents("a.jsonl").at(2)["private"], false);
  EXPECT_EQ(report["models_privacy"][0]["unit"], "record");
  expect_refused(
      evaluation(0, "--model records --mu 1 --budget-epsilon 9 --budget-delta 1e-6 --ledger b.jsonl " + by_person), 2,
      "or none for persons");
  EXPECT_EQ(evaluated("records", by_person + "--public-model --ledger c.jsonl")["private"], true);
  for (const std::string& unit : {by_person, std::string()}) {
    for (const char* adjacency : {"add-remove", "replace-one"}) {
      report = evaluated("persons",
                         fmt::format("{}--adjacency {} --ledger {}{}.jsonl", unit, adjacency, adjacency, unit.size()));
      EXPECT_EQ(report["private"], true) << unit << adjacency;
    }
  }
  EXPECT_EQ(evaluated("records", "--ledger d.jsonl")["private"], true) << "an exchange hides a record, too";
  const json promised = evaluated("persons --model records", "--ledger d.jsonl")["models_privacy"];
  ASSERT_EQ(promised.size(), 2U);
  EXPECT_NEAR(promised[0]["epsilon"], 2.0, 1e-6);
  expect_members(promised[0], {{"unit", "person"}, {"rows_per_person", 1}});
  EXPECT_EQ(promised[1]["adjacency"], "replace-one");
  EXPECT_NEAR(promised[1]["mu"], 1.0, 1e-6);
  for (const std::string& told : {succeed("privacy explain e.json").out, bytes("e.html")}) {
    expect_parts(told, {"guarantee of one of the two models for its own training rows: epsilon 2, delta 1",
                        "neighbors replace-one, unit record"});
  }
}

TEST_F(PublicModelTest, AModelIsPublicByTheWordOfWhoeverSaysSo) {
  succeed(fit(0, "--non-private"));
  const json report = evaluated("--model model.safetensors --public-model --mu 1 --html e.html");
  expect_members(report, {{"private", true}, {"public_by_word", {"model"}}});
  EXPECT_EQ(report["models"].size(), 1U);
  for (const std::size_t line : {1, 2}) {
    EXPECT_EQ(documents("ledger.jsonl").at(line)["public_by_word"], json({"model"}));
  }
  EXPECT_THAT(succeed("ledger show").out, HasSubstr(", model declared public"));
  EXPECT_EQ(succeed("ledger show --format json").json()["runs"][0]["public_by_word"], json({"model"}));
  for (const std::string& told : {succeed("privacy explain e.json").out, bytes("e.html")}) {
    EXPECT_THAT(told, HasSubstr("which was declared public (--public-model)"));
  }
  expect_refused("evaluate --model model.safetensors --test-x x0.npy --test-y y0.npy --public-model", 2,
                 "--public-model goes with --private");
}

TEST_F(PublicModelTest, ARowOfAClassThatTheModelDoesNotKnowIsAnErrorOfTheModel) {
  succeed(fit(0, "--mu 2 --ledger l.jsonl"));
  TrainingRows rows = make_rows({60, 50, 70}, kDim);
  const std::string evaluate =
      "evaluate --private --model model.safetensors --mu 1e4 --seed 1 --report e.json --test-x x0.npy --test-y ";
  succeed(evaluate + "y0.npy");
  const double all = document("e.json")["metrics"]["accuracy"]["value"];
  std::string words;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    constexpr std::array kWords{"ash", "oak", "the name of one record"};
    words += kWords[static_cast<std::size_t>(rows.labels[row])] + std::string("\n");
    if (rows.labels[row] == 1) rows.labels[row] = row % 2 == 0 ? 3 : -1;
  }
  write_rows(rows, "x2.npy", "y2.npy");
  write_bytes(folder_ / "words.csv", words);
  for (const char* labels : {"y2.npy", "words.csv"}) {
    succeed(evaluate + labels);
    const json metrics = document("e.json")["metrics"];
    EXPECT_LT(metrics["accuracy"]["value"], all - 0.2) << labels;
    EXPECT_TRUE(metrics["recall"][1]["value"].is_null()) << "no row is of it";
  }
  expect_refused("evaluate --model model.safetensors --test-x x0.npy --test-y y2.npy", 3, "has label");
}

// The list of classes, the number of labels and that of groups come with the options that all parties say.
class SilosWithOtherRowsTest : public PublicModelTest {
 protected:
  static constexpr std::size_t kSilos = 3;
  const std::string evaluation_ =
      "evaluate --private --test-x sx{rank}.npy --test-y sy{rank}.npy --model model.safetensors --report e.json ";
  // Silo 2 has one row of a class, of a group, and of more labels than are listed.
  void write_silos(bool has_other) const {
    const TrainingRows all = make_rows({60, 50, 70}, kDim);
    for (std::size_t silo = 1; silo <= kSilos; ++silo) {
      TrainingRows rows = all.part((silo - 1) * 60, 60);
      const bool is_other = has_other && silo == 2;
      std::vector<std::uint8_t> sets(3 * 60, 0);
      for (std::size_t row = 0; row < 60; ++row) sets[3 * row + static_cast<std::size_t>(rows.labels[row])] = 1;
      if (is_other) {
        rows.labels[7] = 3;
        sets[3 * 7] = sets[3 * 7 + 1] = sets[3 * 7 + 2] = 1;
      }
      write_rows(rows, numbered_npy("sx", silo), numbered_npy("sy", silo));
      write_numbers(numbered_npy("sg", silo), 60,
                    [&](std::size_t row) { return is_other && row == 7 ? 2U : 1U - row % 2; });
      write_npy(folder_ / numbered_npy("ss", silo), sets, 3);
    }
  }
};

TEST_F(SilosWithOtherRowsTest, NoRowOfASiloIsToldByHowTheRunEnds) {
  succeed(fit(0, "--mu 2 --ledger l.jsonl"));
  const std::string among = " --secure-aggregation --threshold 3 --mu 2 --ledger s.jsonl ";
  for (const bool has_other : {false, true}) {
    write_silos(has_other);
    run_among(kSilos, evaluation_ + "--metrics accuracy,recall --group sg{rank}.npy --groups 2" + among, 0);
    EXPECT_EQ(document("e.json")["metrics"]["by_group"].size(), 2U);
    for (const char* method : {"y{rank}.npy --method mean", "y{rank}.npy --method ls",
                               "y{rank}.npy --method gd --rounds 2 --imbalance-ratio 2",
                               "y{rank}.npy --method newton --rounds 1", "s{rank}.npy --max-labels 2 --method mean"}) {
      run_among(kSilos, "fit --classes 3 --train-x sx{rank}.npy --train-y s" + (method + among), 0);
    }
  }
}

TEST_F(SilosWithOtherRowsTest, OfAModelThatPromisesNothingSilosPromiseNothing) {
  succeed(fit(0, "--non-private"));
  write_silos(false);
  const std::string line = evaluation_ + "--secure-aggregation --threshold 3 --mu 2 --noise distributed ";
  for (const bool is_said : {false, true}) {
    run_among(kSilos, line + (is_said ? "--public-model" : ""), 0);
    EXPECT_EQ(document("e.json")["private"], is_said);
  }
}

TEST_F(SilosWithOtherRowsTest, AModelForPersonsOfFewSilosPromisesNothingToThoseOfMore) {
  write_silos(false);
  for (std::size_t silo = 1; silo <= kSilos; ++silo) {
    write_numbers(numbered_npy("sp", silo), 60, [](std::size_t row) { return row; });
  }
  const auto among_of = [](const std::string& rows) {
    return "--secure-aggregation --threshold 3 --mu 2 --rows-per-person 1 --" + rows +
           "-person sp{rank}.npy --ledger " + rows + "{rank}.jsonl ";
  };
  const std::string fit = "fit --classes 3 --train-x sx{rank}.npy --train-y sy{rank}.npy --method mean ";
  for (const std::string of_fit : {"--silos-per-person 2", ""}) {
    run_among(kSilos, fit + among_of("train") + of_fit, 0);
    for (const std::string silos : {"1", "2", "3", ""}) {
      run_among(kSilos, evaluation_ + among_of("test") + (silos.empty() ? "" : "--silos-per-person " + silos), 0);
      EXPECT_EQ(document("e.json")["private"], of_fit.empty() || silos == "1" || silos == "2")
          << of_fit << " " << silos;
    }
  }
}

}  // namespace dpreduce::public_model_test
