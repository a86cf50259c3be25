// An attacker who reads everything that is public, and looks at nothing but which of its fields are equal: what it sees
// must be the same on a data set and on the same with one row more.
//
// D is rows at +-e1 in two classes: whatever the weights, many exact statistics of it are equal. D' is D and one row
// e2. Whoever can tell from equal fields which of the two was trained on has beaten any epsilon.
#include <cctype>

#include "common/base/input_file.hpp"
#include "common/data/safetensors.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::public_patterns_test {

namespace fs = std::filesystem;

constexpr std::size_t kRows = 600;
constexpr std::size_t kDim = 4;
constexpr std::size_t kSecretDigits = 16;  // a longer hexadecimal number is drawn anew in every run

enum class World { kWithout, kWith };
enum class RowsOfWorld { kOnAxis, kNotNumbers };

TrainingRows rows_of(World world, RowsOfWorld kind) {
  TrainingRows rows{.dim = kDim, .features = {}, .labels = {}};
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<float> features(kDim, 0.0F);
    features[0] = row % 2 == 0 ? 1.0F : -1.0F;
    if (kind == RowsOfWorld::kNotNumbers) features[0] = std::numeric_limits<float>::quiet_NaN();
    rows.features.insert(rows.features.end(), features.begin(), features.end());
    rows.labels.push_back(static_cast<std::int64_t>(row % 2));
  }
  if (world == World::kWith) {
    std::vector<float> features(kDim, 0.0F);
    features[1] = 1.0F;
    rows.features.insert(rows.features.end(), features.begin(), features.end());
    rows.labels.push_back(0);
  }
  return rows;
}

// What is public, as a list of named words: "ledger.jsonl:3/release" and the words of its value.
class PublicRecord {
 public:
  void add(const std::string& where, const json& value) {
    if (value.is_object()) {
      for (const auto& [name, inner] : value.items()) {
        if (is_whole_minute(name, inner) || name == "messages") continue;  // those of silos are for their owner
        add(where + "/" + name, is_released(name) ? json(std::vector<std::string>(inner.size(), "noised")) : inner);
      }
    } else if (value.is_array()) {
      for (std::size_t k = 0; k < value.size(); ++k) add(where + "/" + std::to_string(k), value[k]);
    } else if (value.is_string()) {
      const json inner = json::parse(value.get<std::string>(), nullptr, false);
      if (inner.is_structured()) return add(where, inner);
      add_words(where, value.get<std::string>());
    } else {
      words_.emplace_back(where, value.dump());
    }
  }

  void add_words(const std::string& where, const std::string& text) {
    std::string word;
    for (const char c : text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_') {
        word += c;
      } else if (!word.empty()) {
        word.erase(word.find_last_not_of('.') + 1);  // of a digest that is cut
        words_.emplace_back(where, word);
        word.clear();
      }
    }
  }

  // Each word's place and the number of the word that it first was. Words that are not random stand for themselves.
  std::vector<std::string> pattern() const {
    std::map<std::string, std::size_t> first;
    std::vector<std::string> pattern;
    for (const auto& [where, word] : words_) {
      const std::size_t number = first.try_emplace(word, pattern.size()).first->second;
      pattern.push_back(where + " = " + (is_random(word) ? "random word" : word) + " as " + std::to_string(number));
    }
    return pattern;
  }

  std::size_t random_words() const {
    return static_cast<std::size_t>(
        std::count_if(words_.begin(), words_.end(), [](const auto& named) { return is_random(named.second); }));
  }

 private:
  // When it was, and no more than that.
  static bool is_whole_minute(const std::string& name, const json& value) {
    return name == "time" && value.is_string() && value.get<std::string>().size() == 20 &&
           value.get<std::string>().ends_with(":00Z");
  }

  // Functions of noised sums alone, as the entries of a model are: the guarantee covers them, and which of them are
  // equal. How many there are must not differ.
  static bool is_released(const std::string& name) {
    return name == "norm" || name == "eigenvalues" || name == "class_shares";
  }

  static bool is_random(const std::string& word) {
    return word.size() >= kSecretDigits && word.find_first_not_of("0123456789abcdef") == std::string::npos;
  }

  std::vector<std::pair<std::string, std::string>> words_;
};

struct Step {
  std::string options;
  int exit_code = 0;
};

struct Scenario {
  std::string name;
  std::vector<Step> steps;  // runs on one ledger, one after the other
  RowsOfWorld rows = RowsOfWorld::kOnAxis;
  std::string labels = "y.npy";
  int silos = 0;  // 0: in one place
};

void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

class PublicPatternsTest : public testing::TestWithParam<Scenario> {};

void add_files(PublicRecord& record, const std::string& name, const std::string& path) {
  if (!fs::exists(path)) return;
  if (name.ends_with(".safetensors")) {
    const SafetensorsFile model = parse_safetensors(MappedFile(path).bytes(), path);
    for (const auto& [key, value] : model.metadata) record.add(name + "/" + key, value);
    return;
  }
  std::size_t number = 0;
  if (name.ends_with(".jsonl")) {
    for (const std::string& line : lines_of(read_bytes(path))) {
      record.add(name + ":" + std::to_string(++number), json::parse(line));
    }
    return;
  }
  record.add(name, json::parse(read_bytes(path)));
}

// Rows are dealt out in order; the last one, where there is one more than in the other world, is silo 2's.
void write_silos(const TrainingRows& rows, int silos, const TemporaryFolder& folder) {
  const std::size_t of_silo = kRows / static_cast<std::size_t>(silos);
  for (int silo = 1; silo <= silos; ++silo) {
    TrainingRows own{.dim = kDim, .features = {}, .labels = {}};
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const std::size_t owner = row < kRows ? row / of_silo + 1 : 2;
      if (owner != static_cast<std::size_t>(silo)) continue;
      const auto first = rows.features.begin() + static_cast<std::ptrdiff_t>(row * kDim);
      own.features.insert(own.features.end(), first, first + kDim);
      own.labels.push_back(rows.labels[row]);
    }
    const std::string name = std::to_string(silo) + ".npy";
    write_npy(own, folder / ("x" + name), folder / ("y" + name));
  }
}

PublicRecord published(const Scenario& scenario, World world) {
  const TemporaryFolder folder;
  const TrainingRows rows = rows_of(world, scenario.rows);
  if (scenario.silos > 0) write_silos(rows, scenario.silos, folder);
  write_npy(rows, folder / "x.npy", folder / "y.npy");
  std::vector<std::uint8_t> sets;  // the same labels, n x 2 of zeros and ones
  for (const std::int64_t label : rows.labels) {
    sets.push_back(label == 0 ? 1 : 0);
    sets.push_back(label == 0 ? 0 : 1);
  }
  write_npy(folder / "sets.npy", sets, 2);
  PublicRecord record;
  std::size_t number = 0;
  for (const Step& step : scenario.steps) {
    const std::string run = "run " + std::to_string(++number);
    const ProgramRun done =
        run_program(split_arguments((scenario.silos > 0 ? "fit --train-x x{rank}.npy --train-y y{rank}.npy"
                                                        : "fit --train-x x.npy --train-y " + scenario.labels) +
                                    " --classes 2 --threads 1 --metrics metrics.jsonl " + step.options),
                    {.folder = folder.path(), .ranks = scenario.silos > 0 ? scenario.silos + 1 : 0});
    EXPECT_EQ(done.exit_code, step.exit_code) << step.options << "\n" << done.err;
    record.add(run + " exit code", done.exit_code);
    for (const std::string& line : lines_of(done.out)) {
      if (!line.starts_with("seconds")) record.add_words(run + " output", line);
    }
    if (scenario.silos == 0) record.add_words(run + " errors", done.err);  // else the launcher's, too
    for (const char* file : {"report.json", "metrics.jsonl", "model.safetensors"}) {
      add_files(record, file, folder / file);
    }
    record.add(run + " files", folder.names().size());
  }
  add_files(record, "ledger.jsonl", folder / "ledger.jsonl");
  return record;
}

// What a dry run says of the plan is for everyone; what it costs is for the owner, and is told apart.
TEST(PublicPatterns, PlansAreTheSameWithOneRowMore) {
  std::string plans[2];
  for (const World world : {World::kWithout, World::kWith}) {
    const TemporaryFolder folder;
    write_npy(rows_of(world, RowsOfWorld::kOnAxis), folder / "x.npy", folder / "y.npy");
    std::string& plan = plans[static_cast<int>(world)];
    for (const char* format : {"text", "json"}) {
      const ProgramRun done = run_program(split_arguments("fit --train-x x.npy --train-y y.npy --classes 2 --dry-run "
                                                          "--epsilon 1 --delta 1e-6 --format " +
                                                          std::string(format)),
                                          {.folder = folder.path()});
      ASSERT_EQ(done.exit_code, 0) << done.err;
      if (std::string_view(format) == "json") {
        json told = done.json();
        EXPECT_EQ(told["cost"]["for_release"], false);
        told.erase("cost");
        plan += told.dump();
        continue;
      }
      for (const std::string& line : lines_of(done.out)) {
        if (!line.starts_with("cost ")) plan += line + "\n";
      }
    }
  }
  EXPECT_EQ(plans[0], plans[1]);
}

TEST_P(PublicPatternsTest, AreTheSameWithOneRowMore) {
  const PublicRecord without = published(GetParam(), World::kWithout);
  const PublicRecord with = published(GetParam(), World::kWith);
  EXPECT_GT(without.random_words(), 2U) << "nothing was compared";
  const std::vector<std::string> one = without.pattern();
  const std::vector<std::string> other = with.pattern();
  const std::size_t common = std::min(one.size(), other.size());
  for (std::size_t k = 0; k < common; ++k) {
    ASSERT_EQ(one[k], other[k]) << "an attacker tells the data sets apart at the " << k << "th word";
  }
  EXPECT_EQ(one.size(), other.size());
}

std::vector<Step> twice(const std::string& options) {
  return {{options + " --report report.json"}, {options + " --report report.json"}};
}

// Killed when all was charged and the model was there, but not the report; then resumed.
std::vector<Step> resumed(const std::string& options) {
  return {{options + " --report /dev/full", 3}, {options + " --resume --report report.json"}};
}

const std::string kBudget = " --epsilon 1 --delta 1e-6";
const std::string kSilos = " --secure-aggregation --threshold 3 --report report.json";

INSTANTIATE_TEST_SUITE_P(
    Runs, PublicPatternsTest,
    testing::Values(Scenario{"gd", twice("--method gd --rounds 6" + kBudget)},
                    Scenario{"gd_sampled", twice("--method gd --rounds 6 --batch 0.1 --accountant rdp" + kBudget)},
                    Scenario{"gd_sampled_bad_rows",
                             twice("--method gd --rounds 6 --batch 0.1 --accountant rdp --bad-rows zero" + kBudget),
                             RowsOfWorld::kNotNumbers},
                    Scenario{"adam", twice("--method adam --rounds 4" + kBudget)},
                    Scenario{"fc", twice("--method fc --rounds 3" + kBudget)},
                    Scenario{"newton", twice("--method newton --rounds 2" + kBudget)},
                    Scenario{"mean", twice("--method mean --center dp" + kBudget)},
                    Scenario{"mean_euclidean", twice("--method mean --metric euclidean" + kBudget)},
                    Scenario{"ls", twice("--method ls" + kBudget)},
                    Scenario{"ls_shared", twice("--method ls --shared-gram" + kBudget)},
                    Scenario{"fisher", twice("--method fisher" + kBudget)},
                    Scenario{"fedavg", twice("--method fedavg --rounds 3" + kBudget)},
                    Scenario{"max_labels",
                             {{"--method gd --rounds 3 --loss sigmoid --max-labels 1" + kBudget},
                              {"--method gd --rounds 3 --loss sigmoid --max-labels 2" + kBudget},
                              {"--method gd --rounds 3 --loss sigmoid --max-labels 1" + kBudget}},
                             RowsOfWorld::kOnAxis,
                             "sets.npy"},
                    Scenario{"methods_on_one_ledger",
                             {{"--method gd --rounds 3" + kBudget},
                              {"--method adam --rounds 3" + kBudget},
                              {"--method fc --rounds 3" + kBudget},
                              {"--method mean" + kBudget}}},
                    Scenario{"silos_with_a_lost_one",
                             {{"--method mean --fault 5:kill@masked" + kSilos + kBudget}},
                             RowsOfWorld::kOnAxis,
                             "",
                             5},
                    Scenario{"resumed_gd", resumed("--method gd --rounds 6" + kBudget)},
                    Scenario{"resumed_sample",
                             resumed("--method gd --rounds 6 --batch 0.1 --accountant rdp" + kBudget)},
                    Scenario{"resumed_ls", resumed("--method ls" + kBudget)}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace dpreduce::public_patterns_test
