#include "commands/config_file.hpp"

#include "commands/job.hpp"
#include "common/base/error.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace dpreduce::config_file_test {

class ConfigFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    write_bytes(path_, text);
    return path_;
  }
  std::string refusal(const std::string& text) {
    const std::string path = write(text);
    const std::string said = dpreduce::refusal<UsageError>([&] { parsed_command({"fit", "--config", path}); });
    EXPECT_THAT(said, HasSubstr(path));
    return said;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.toml";
};

constexpr const char* kRun = R"(train-x = ["a.npy", "b.npy"]
train_y = "y.npy"
classes = 10
epsilon = 0.5
delta = 1e-6
dry-run = true
)";

TEST_F(ConfigFile, GivesTheOptionsThatTheCommandLineDoesNot) {
  const std::string path = write(kRun);
  const auto of_file = parsed_fit({"fit", "--config", path});
  EXPECT_THAT(of_file.data.train.x, ElementsAre("a.npy", "b.npy"));
  EXPECT_THAT(of_file.data.train.y, ElementsAre("y.npy"));
  EXPECT_EQ(of_file.data.classes, 10U);
  EXPECT_EQ(of_file.privacy.budget.epsilon, 0.5);
  EXPECT_TRUE(of_file.output.dry_run);
  const auto fit = parsed_fit(words_in("fit --classes=3 --config=" + path + " --train-x c.npy --epsilon 2"));
  EXPECT_THAT(fit.data.train.x, ElementsAre("c.npy"));
  EXPECT_EQ(fit.data.classes, 3U);
  EXPECT_EQ(fit.privacy.budget.epsilon, 2.0);
  EXPECT_EQ(fit.privacy.budget.delta, 1e-6);
}

TEST_F(ConfigFile, ReadsTheCommandsSectionPassesOverOthersAndFalseLeavesAFlagAlone) {
  const auto fit = parsed_fit({"fit", "--train-x", "x", "--train-y", "y", "--config",
                               write("dry-run = false\n[fit]\nclasses = 4\n[synth]\nout = \"o\"\n")});
  EXPECT_EQ(fit.data.classes, 4U);
  EXPECT_FALSE(fit.output.dry_run);
}

TEST_F(ConfigFile, AnOptionWhoseValueMayBeLeftOutIsAFlagToo) {
  const auto words_of = [&](const std::string& text) {
    return with_config_files(dpreduce_command(), {"predict", "--config", write(text)}).arguments;
  };
  EXPECT_THAT(words_of("scores = 's.csv'\n"), ElementsAre("predict", "--scores", "s.csv"));
  EXPECT_THAT(words_of("scores = true\n"), ElementsAre("predict", "--scores"));
  EXPECT_THAT(words_of("scores = false\n"), ElementsAre("predict"));
  EXPECT_THROW(words_of("scores = ['a.csv', 'b.csv']\n"), UsageError);
}

TEST_F(ConfigFile, NamesOfClassesCountThem) {
  const std::string names = folder_ / "names.txt";
  write_bytes(names, "setosa\nversicolor\nvirginica\n");
  const auto fit =
      parsed_fit({"fit", "--config", write("train-x = 'x'\ntrain-y = 'y'\nclass-names = '" + names + "'\n")});
  EXPECT_EQ(fit.data.classes, 3U);
  EXPECT_THAT(fit.data.train.class_names, ElementsAre("setosa", "versicolor", "virginica"));
}

TEST_F(ConfigFile, WhatIsWrongIsNamedByFileAndLine) {
  const std::pair<std::string, const char*> wrong[] = {
      {"classes = 3\nepsilonn = 1\n", ".toml, line 2: 'epsilonn' is not an option of fit; did you mean epsilon?"},
      {"classes = 3\nepsilon = \n", ".toml, line 2: "},
      {"mu = 1\nrounds = \"x\"\n", ".toml, line 2: --rounds x: must be"},
      {"train-x = \"x\"\ntrain-y = \"y\"\nclasses = 3\nmu = -1\n", ".toml, line 4: --mu = -1"},
      {"[fit]\nmethod = \"Mean\"\n", ".toml, line 2: --method Mean: must be one of"},
      {"epsilon = 0.5\nepsilon = 5\n", "line 2"},
      {"epsilon = 0.5\n[fit]\nepsilon = 5\n", "line 3: 'epsilon' is set in line 1 already"},
      {"train_x = 'a'\ntrain-x = 'b'\n", "line 2: 'train-x' is set in line 1 already"},
      {"epsilon = [1, 2]\n", "line 1: 'epsilon' takes one value, not a list"},
      {"config = \"other.toml\"\n", "line 1: 'config' cannot be set in a file"},
      {"dry-run = 3\n", "true or false"},
      {"[fti]\nclasses = 3\n", "[fti]"},
      {std::string((1 << 20) + 1, '#'), "1 MiB"}};
  for (const auto& [text, message] : wrong) EXPECT_THAT(refusal(text), HasSubstr(message));
}

TEST_F(ConfigFile, IsThereAndTheSameForAllRanksAndNamedOnce) {
  const std::string path = write(kRun);
  for (const std::string& named : {std::string("--config /nonexistent/run.toml"), std::string("--config"),
                                   std::string("--config run{rank}.toml"), "--config " + path + " --config=" + path}) {
    EXPECT_THROW(parsed_command(words_in("fit " + named)), UsageError) << named;
  }
}

// What a silo says for itself, of rank 3; {rank} in its name.
class OwnConfigFile : public ConfigFile {
 protected:
  std::vector<std::string> arguments(const std::string& further = "") const {
    return words_in("fit --secure-aggregation --classes 3 --mu 1 --silo-config " + path_ + ".{rank} " + further);
  }
  FitOptions parsed(const std::string& own, const std::string& further = "") {
    write_bytes(own_, own);
    return parsed_fit(arguments(further), 3);
  }
  std::string refusal(const std::string& own, std::size_t rank = 3) {
    const std::string& path = rank == 0 ? coordinators_ : own_;
    write_bytes(path, own);
    const std::string said = dpreduce::refusal<BadInput>([&] { parsed_command(arguments(), rank); });
    EXPECT_THAT(said, HasSubstr("--silo-config " + path));
    return said;
  }

  const std::string own_ = path_ + ".3";
  const std::string coordinators_ = path_ + ".0";
};

const std::string kOwnRows = "train-x = \"a.npy\"\ntrain_y = \"b.npy\"\nlog = \"a.log\"\nthreads = 2\n";

TEST_F(OwnConfigFile, HoldsWhatStaysWithASilo) {
  const FitOptions fit = parsed(kOwnRows);
  EXPECT_THAT(fit.data.train.x, ElementsAre("a.npy"));
  EXPECT_THAT(fit.data.train.y, ElementsAre("b.npy"));
  EXPECT_EQ(fit.silos.log, "a.log");
  EXPECT_EQ(fit.machine.threads, 2U);
  EXPECT_TRUE(fit.silos.rows_are_own);
}

// With the parties' names, without which there is no consent.
class ConsentFile : public OwnConfigFile {
 protected:
  SiloConsent consent(const std::string& table) {
    return parsed(kOwnRows + "[consent]\n" + table, "--roster r.toml --identity i.key").silos.consent.value();
  }
};

TEST_F(ConsentFile, SaysWhatASiloTakesPartIn) {
  const SiloConsent said = consent(
      "methods = [\"mean\", \"ls\"]\nleast-silos = 5\nleast-threshold = 4\nleast-colluding = 1\nmost-colluding = 2\n"
      "adjacency = \"add-remove\"\nunit = \"person\"\nrows-per-person = 2\nleast-silos-per-person = 3\n"
      "most-clip-norm = 1.5\nlosses = [\"softmax\"]\nmost-rounds = 10\nnoise = \"distributed\"\nmost-mu = 0.5\n"
      "most-mu-in-all = 1\nleast-version = \"0.1\"\n");
  EXPECT_EQ(said, (SiloConsent{.methods = {"mean", "ls"},
                               .least_silos = 5,
                               .least_threshold = 4,
                               .least_colluding = 1,
                               .most_colluding = 2,
                               .adjacency = Adjacency::kAddRemove,
                               .unit = PrivacyUnit::kPerson,
                               .rows_per_person = 2,
                               .least_silos_per_person = 3,
                               .most_clip_norm = 1.5,
                               .losses = {Loss::kSoftmax},
                               .most_rounds = 10,
                               .noise = NoiseSource::kDistributed,
                               .most_mu = 0.5,
                               .most_mu_in_all = 1.0,
                               .least_version = "0.1"}));
  EXPECT_FALSE(parsed(kOwnRows).silos.consent.has_value());
  EXPECT_EQ(consent("methods = [\"evaluate\", \"release\"]\n").methods,
            (std::vector<std::string>{"evaluate", "release"}));
}

TEST_F(ConsentFile, NamesWhatIsWrongByFileLineAndKey) {
  const std::pair<const char*, const char*> wrong[] = {
      {"most-mue = 1\n", "line 2: 'most-mue' is not an option of [consent]; did you mean"},
      {"most-mu = \"much\"\n", "line 2: most-mu much: must be a number"},
      {"most-mu = 0\n", "line 2: most-mu 0: must be a positive finite number"},
      {"most-mu-in-all = inf\n", "line 2: most-mu-in-all inf: must be a positive finite number"},
      {"most-mu = [1, 2]\n", "line 2: 'most-mu' takes one value, not a list"},
      {"least-threshold = -1\n", "line 2: least-threshold -1: must not be negative"},
      {"least-threshold = true\n", "line 2: least-threshold true: must be"},
      {"noise = \"mine\"\n", "line 2: noise mine: must be one of"},
      {"methods = []\n", "line 2: 'methods' is an empty list"},
      {"methods = [\"means\"]\n", "line 2: methods: 'means' is not a method; did you mean"},
      {"methods = [\"auto\"]\n", "line 2: methods: 'auto' is not a method"},
      {"losses = [\"log\"]\n", "line 2: losses log: must be one of"},
      {"least-version = \"new\"\n", "line 2: least-version 'new': must be a version"},
      {"most_mu = 1\nmost-mu = 2\n", "line 3: 'most-mu' appears twice"},
      {"mu.most = 1\n", "line 2: [consent] has no table 'mu'"}};
  for (const auto& [table, message] : wrong) {
    EXPECT_THAT(refusal(std::string("[consent]\n") + table), HasSubstr(message));
  }
  EXPECT_THAT(refusal("[consent]\nmost-mu = 1\n", 0), HasSubstr("[consent] is for silos"));
}

// The page of the table has each key, and none that is not read.
TEST_F(ConsentFile, EachKeyIsDocumented) {
  SiloConsent consent;
  OptionTable table;
  declare_consent(table, consent);
  std::ifstream page(DPREDUCE_SOURCE "/docs/how-to/consent.md");
  std::vector<std::string> documented;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) documented.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  EXPECT_EQ(documented, table.long_names());
}

TEST_F(OwnConfigFile, StandsBetweenTheCommandLineAndTheCommonFileWhichMayNameIt) {
  const std::string common = write("train-x = \"x{rank}\"\ntrain-y = \"y{rank}\"\nthreads = 3\nseed = 5\n");
  const FitOptions fit = parsed(kOwnRows, "--config " + common + " --threads 1");
  EXPECT_THAT(fit.data.train.x, ElementsAre("a.npy"));
  EXPECT_EQ(fit.machine.threads, 1U);
  EXPECT_EQ(fit.privacy.seed, 5U);
  write_bytes(own_, kOwnRows);
  const std::string naming = write("silo-config = \"" + path_ + ".{rank}\"\nclasses = 3\nmu = 1\n");
  const FitOptions named = parsed_fit({"fit", "--secure-aggregation", "--config", naming}, 3);
  EXPECT_THAT(named.data.train.x, ElementsAre("a.npy"));
}

TEST_F(OwnConfigFile, EachSiloMayHaveALineOfItsOwnAndTheSameTermsAsTheOthers) {
  const std::string common = write("round-trip = 40\nbandwidth = 100\n");
  const FitOptions near = parsed(kOwnRows, "--config " + common);
  const std::string slow = kOwnRows + "round-trip = 600\npacket-loss = 0.5\n";
  const FitOptions far = parsed(slow, "--config " + common);
  EXPECT_EQ(near.silos.round_trip_ms, 40.0);
  EXPECT_FALSE(near.silos.packet_loss_percent.has_value());
  EXPECT_EQ(far.silos.round_trip_ms, 600.0);
  EXPECT_EQ(far.silos.bandwidth_mbit, 100.0);
  EXPECT_EQ(far.silos.packet_loss_percent, 0.5);
  EXPECT_EQ(near.silos.agreed, far.silos.agreed);
}

TEST_F(OwnConfigFile, ACoordinatorNeedsNoRowsAndHasOutputs) {
  write_bytes(coordinators_, "test-x = 't.npy'\ntest-y = 'u.npy'\nreport = 'r.json'\n");
  const auto fit = parsed_fit(arguments(), 0);
  EXPECT_TRUE(fit.data.train.x.empty());
  EXPECT_EQ(fit.output.report, "r.json");
  EXPECT_THAT(fit.data.test.x, ElementsAre("t.npy"));
}

TEST_F(OwnConfigFile, MustNotHoldWhatAllHaveInCommon) {
  const auto expect_common = [&](const std::string& line, const std::string& section = "") {
    const std::string key = line.substr(0, line.find(' '));
    EXPECT_THAT(refusal(section + line + "\n"), HasSubstr("'" + key + "' must be the same for all parties"));
  };
  for (const char* line :
       {"epsilon = 8", "mu = 1", "method = 'mean'", "classes = 3", "seed = 1", "noise = 'central'", "threshold = 2",
        "clip = 2", "public-x = 'p.npy'", "bad-rows = 'skip'", "secure-aggregation = true", "silo-config = 'x'"}) {
    expect_common(line);
  }
  expect_common("adjacency = 'add-remove'", "[fit]\n");
  EXPECT_THAT(refusal("report = \"r.json\"\n"), HasSubstr("'report' is an option of the coordinator alone"));
  EXPECT_THAT(refusal("delta = 0.1\n", 0), HasSubstr("'delta' must be the same for all parties"));
}

TEST_F(OwnConfigFile, NamesItsLedgerAndItsBudget) {
  const FitOptions fit = parsed(kOwnRows + "ledger = \"north.jsonl\"\nbudget-epsilon = 2\nbudget-delta = 1e-6\n");
  EXPECT_EQ(ledger_of_party(fit, 3), "north.jsonl");
  EXPECT_EQ(fit.privacy.limit_epsilon, 2.0);
  EXPECT_EQ(fit.privacy.limit_delta, 1e-6);
  // The command line wins over it.
  EXPECT_EQ(ledger_of_party(parsed(kOwnRows + "ledger = \"a\"\n", "--ledger b/c.jsonl"), 3), "b/c-silo3.jsonl");
  const FitOptions with_rank = parsed(kOwnRows, "--ledger {rank}/ledger.jsonl");
  EXPECT_EQ(ledger_of_party(with_rank, 3), "3/ledger.jsonl");
  EXPECT_EQ(ledger_of_party(with_rank, 0), "0/ledger.jsonl");
  const FitOptions unnamed = parsed(kOwnRows);
  EXPECT_EQ(ledger_of_party(unnamed, 3), "ledger-silo3.jsonl");
  EXPECT_EQ(ledger_of_party(unnamed, 0), "ledger.jsonl");
  EXPECT_EQ(fit.silos.agreed, unnamed.silos.agreed) << "each party's own";
  EXPECT_THROW(parsed(kOwnRows + "budget-epsilon = 2\n"), UsageError);
  EXPECT_THROW(parsed(kOwnRows + "budget-delta = 1e-6\n"), UsageError);
}

TEST_F(OwnConfigFile, ThatIsWrongIsNamed) {
  EXPECT_THAT(refusal("train-z = \"a\"\n"), HasSubstr("'train-z' is not an option of fit"));
  EXPECT_THAT(refusal("%%%\n"), HasSubstr("line 1: "));
  EXPECT_THAT(refusal(std::string((1 << 20) + 1, '#')), HasSubstr("1 MiB"));
  EXPECT_THAT(refusal("[fti]\nlog = \"a\"\n"), HasSubstr("[fti] is not a command"));
  std::filesystem::remove(own_);
  EXPECT_THROW(parsed_command(arguments(), 3), BadInput);
  for (const char* line : {"memory = \"many\"\n", "identity = \"a.privacy.key\"\n"}) {
    SCOPED_TRACE(line);
    expect_refusal<UsageError>([&] { parsed(kOwnRows + line); }, {"--silo-config " + own_});
  }
}

// One file for several silos would count its rows several times.
TEST_F(OwnConfigFile, SaysWhoseItIs) {
  std::vector<std::string> without_rank = arguments();
  without_rank.back() = own_;
  const auto taken = [&](const std::string& text, std::size_t rank) {
    write_bytes(own_, text);
    return parsed_fit(without_rank, rank).data.train.x.front();
  };
  EXPECT_EQ(taken(std::string("silo = 3\n") + kOwnRows, 3), "a.npy");
  EXPECT_THROW(taken(kOwnRows, 3), BadInput);
  EXPECT_THROW(taken(std::string("silo = 3\n") + kOwnRows, 2), BadInput);
  EXPECT_THAT(refusal("silo = 4\n"), HasSubstr("belongs to silo 4, but this is rank 3"));
  EXPECT_THAT(parsed(std::string("silo = 3\n") + kOwnRows).data.train.x, ElementsAre("a.npy"));
}

TEST_F(OwnConfigFile, NeedsSilosAndRowsOfTheCommandLineARank) {
  write_bytes(own_, kOwnRows);
  EXPECT_THROW(parsed_command(arguments()), UsageError);
  const auto plain = words_in("fit --classes 3 --mu 1 --silo-config " + path_ + ".{rank}");
  EXPECT_THROW(parsed_command(plain, 3), UsageError);
  EXPECT_THROW(parsed_command(plain), UsageError);
  // Rows that all silos share would count once for each of them.
  EXPECT_THROW(parsed("log = \"a.log\"\n", "--train-x a.npy --train-y b.npy"), UsageError);
  EXPECT_THROW(parsed(kOwnRows, "--train-x a.npy"), UsageError);
  EXPECT_FALSE(parsed("log = \"a.log\"\n", "--train-x {rank}.npy --train-y y{rank}").silos.rows_are_own);
}

// Where the role is not seen, a file of its own would not be read.
TEST_F(OwnConfigFile, OfAPartyOverANetworkIsNotLostBehindAnotherFile) {
  write_bytes(own_, kOwnRows);
  const std::string common = write(
      "classes = 3\nmu = 1\nconnect = \"hub:1\"\nroster = \"r\"\nidentity = \"i\"\nsilo-config = \"" + own_ + "\"\n");
  EXPECT_NO_THROW(parsed_command({"silo", "--config", common}));
  expect_refusal<UsageError>([&] { parsed_command(words_in("--config " + common + " silo")); },
                             {"is before silo; write dpreduce silo --config " + common});
}

TEST_F(OwnConfigFile, WhatIsAgreedOnIsTheRest) {
  const std::string agreed = parsed(kOwnRows).silos.agreed;
  EXPECT_EQ(agreed, parsed("train-x = \"c\"\ntrain-y = \"d\"\n", "--mu 1.0").silos.agreed);
  EXPECT_NE(agreed, parsed(kOwnRows, "--mu 2").silos.agreed);
  EXPECT_NE(agreed, parsed(kOwnRows, "--method mean").silos.agreed);
  EXPECT_THAT(agreed, Not(HasSubstr("a.npy")));
}

TEST(RequestedJob, IsOfSilosByAnOptionThatOnlyPartiesHave) {
  for (const std::string option : {"--secure-aggregation", "--silo-config=a", "--roster", "--identity=me.pem"}) {
    SCOPED_TRACE(option);
    const auto asked =
        requested_job(dpreduce_command(), words_in("fit --nonsense " + option + " --config /nonexistent"));
    EXPECT_TRUE(asked.is_of_silos);
    EXPECT_EQ(asked.doubt, "");
    EXPECT_TRUE(requested_job(dpreduce_command(), {"fit", option}).is_of_silos);
  }
  EXPECT_FALSE(requested_job(dpreduce_command(), {"sweep", "--secure-aggregation"}).is_of_silos);
}

// Whoever mistypes a word may have meant anything, and must not do what rank 0 asks for in its place.
TEST(RequestedJob, IsInDoubtWhereItsWordsAreWrong) {
  for (const auto& [words, message] : std::vector<std::pair<std::string, std::string>>{
           {"fti --secure-aggregation --roster r", "'fti' is not a command"},
           {"fit --secure-agregation --noise distributed", "--secure-agregation"},
           {"fit --noise distributed --train-x x --train-y y --classes 3 --mu 1",
            "--noise goes with --secure-aggregation"},
           {"sweep --secure-aggregation", "--secure-aggregation"},
           {"predict --config /nonexistent", "--config /nonexistent: cannot be read"},
           {"fit --config /nonexistent", "--config /nonexistent: cannot be read"},
           {"--config=/nonexistent fit", "--config /nonexistent: cannot be read"},
           {"fit --config", "--config needs a file"},
           {"fit --mu 1", "--train-x"},
           {"", "command"}}) {
    const RequestedJob asked = requested_job(dpreduce_command(), words_in(words));
    EXPECT_FALSE(asked.is_of_silos) << words;
    EXPECT_THAT(asked.doubt, HasSubstr(message));
  }
  for (const char* words : {"fit", "privacy explain", "privacy convert --mu 1", "--help"}) {
    EXPECT_EQ(requested_job(dpreduce_command(), words_in(words)).doubt, "") << words;
  }
}

TEST_F(ConfigFile, WhatOneRankAloneIsToldIsRefused) {
  const std::string with_file = "fit --config " + write("mu = 1.0\n") + " --classes 3";
  const std::vector<std::string> of_rank_0 = with_config_files(dpreduce_command(), words_in(with_file)).arguments;
  const auto unheard = [&](const std::string& words) {
    return unheard_words(dpreduce_command(), words_in(words), of_rank_0);
  };
  EXPECT_EQ(unheard(with_file), "");
  EXPECT_EQ(unheard("fit --mu 1 --classes 3"), "") << "as the file has it";
  EXPECT_EQ(unheard("fit"), "");
  EXPECT_THAT(unheard("fit --mu 8 --classes 3"), HasSubstr("was started with '--mu 8', but rank 0 with '--mu 1'"));
  EXPECT_THAT(unheard("fit --mu 1"), HasSubstr("nothing more, but rank 0"));
  EXPECT_THAT(unheard("fit --mu 1 --classes 3 --seed 1"), HasSubstr("'--seed', but rank 0 with nothing more"));
  EXPECT_THAT(unheard(""), HasSubstr("no command, but rank 0 with 'fit'"));
  EXPECT_THAT(unheard("predict"), HasSubstr("'predict', but rank 0 with 'fit'"));
  write("mu = 2.0\n");  // on another machine
  EXPECT_THAT(unheard(with_file), HasSubstr("'--mu 2', but rank 0 with '--mu 1'"));
  EXPECT_EQ(unheard_words(dpreduce_command(), {"privacy", "explain"}, {"privacy", "explain", "r.json"}), "");
  EXPECT_NE(unheard_words(dpreduce_command(), {"privacy"}, {"privacy", "explain", "r.json"}), "");
}

TEST_F(ConfigFile, AsksForSilosWhereverItIsNamed) {
  const std::string path = write("secure-aggregation = true\n");
  for (const std::string& words :
       {"fit --config " + path, "--config " + path + " fit", "--config=" + path + " fit --mu 1"}) {
    EXPECT_TRUE(requested_job(dpreduce_command(), words_in(words)).is_of_silos) << words;
  }
  write("mu = 1.0\n");
  EXPECT_FALSE(requested_job(dpreduce_command(), {"fit", "--config", path}).is_of_silos);
  write("secure-aggregaton = true\n");
  EXPECT_THAT(requested_job(dpreduce_command(), {"fit", "--config", path}).doubt,
              HasSubstr("'secure-aggregaton' is not an option"));
}

}  // namespace dpreduce::config_file_test
