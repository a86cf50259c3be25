// An attacker who reads everything that is public, and looks at nothing but which of its fields are equal: what it sees
// must be the same on a data set and on the same with one row more.
//
// D is rows at +-e1 in two classes: whatever the weights, many exact statistics of it are equal. D' is D and one row
// e2. Whoever can tell from equal fields which of the two was trained on has beaten any epsilon.
#include <regex>

#include "common/base/input_file.hpp"
#include "common/data/safetensors.hpp"
#include "tests/cli/program_test.hpp"

namespace dpreduce::public_patterns_test {

constexpr std::size_t kRows = 600;
constexpr std::size_t kDim = 4;
constexpr std::size_t kSecretDigits = 16;  // a longer hexadecimal number is drawn anew in every run

enum class World { kWithout, kWith };
enum class RowsOfWorld { kOnAxis, kNotNumbers };

TrainingRows rows_of(World world, RowsOfWorld kind) {
  TrainingRows rows{.dim = kDim, .features = {}, .labels = {}};
  const auto add = [&](std::size_t place, float value, std::int64_t label) {
    rows.features.resize(rows.features.size() + kDim, 0.0F);
    rows.features[rows.features.size() - kDim + place] = value;
    rows.labels.push_back(label);
  };
  for (std::size_t row = 0; row < kRows; ++row) {
    const float on_axis = row % 2 == 0 ? 1.0F : -1.0F;
    add(0, kind == RowsOfWorld::kOnAxis ? on_axis : std::numeric_limits<float>::quiet_NaN(), row % 2 == 0 ? 0 : 1);
  }
  if (world == World::kWith) add(1, 1.0F, 0);
  return rows;
}

// What is public, as a list of named words: "ledger.jsonl:3/release" and the words of its value.
class PublicRecord {
 public:
  void add(const std::string& where, const json& value) {
    if (value.is_object()) {
      for (const auto& [name, inner] : value.items()) {
        if (is_whole_minute(name, inner) || name == "messages") continue;  // those of silos are for their owner
        add(where + "/" + name, is_released(name) ? json(Strings(inner.size(), "noised")) : inner);
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
    static const std::regex word("[A-Za-z0-9._-]+");
    for (std::sregex_iterator found(text.begin(), text.end(), word), end; found != end; ++found) {
      const std::string whole = found->str();
      words_.emplace_back(where, whole.substr(0, whole.find_last_not_of('.') + 1));  // of a digest that is cut
    }
  }

  // Each word's place and the number of the word that it first was. Words that are not random stand for themselves.
  Strings pattern() const {
    std::map<std::string, std::size_t> first;
    Strings pattern;
    for (const auto& [where, word] : words_) {
      const std::size_t number = first.try_emplace(word, pattern.size()).first->second;
      pattern.push_back(where + " = " + (is_random(word) ? "random word" : word) + " as " + std::to_string(number));
    }
    return pattern;
  }

  std::ptrdiff_t random_words() const {
    return std::ranges::count_if(words_, [](const auto& named) { return is_random(named.second); });
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
  std::string options;  // from the method's name on
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
  for (std::size_t silo = 1; silo * of_silo <= kRows; ++silo) {
    TrainingRows own = rows.part((silo - 1) * of_silo, of_silo);
    if (silo == 2) {
      const TrainingRows more = rows.part(kRows, rows.rows() - kRows);
      own.features.insert(own.features.end(), more.features.begin(), more.features.end());
      own.labels.insert(own.labels.end(), more.labels.begin(), more.labels.end());
    }
    write_npy(own, folder / numbered_npy("x", silo), folder / numbered_npy("y", silo));
  }
}

PublicRecord published(const Scenario& scenario, World world) {
  const TemporaryFolder folder;
  const TrainingRows rows = rows_of(world, scenario.rows);
  if (scenario.silos > 0) write_silos(rows, scenario.silos, folder);
  write_npy(rows, folder / "x.npy", folder / "y.npy");
  std::vector<std::uint8_t> sets;  // the same labels, n x 2 of zeros and ones
  for (const std::int64_t label : rows.labels) {
    for (const std::int64_t of_class : {0, 1}) sets.push_back(label == of_class ? 1 : 0);
  }
  write_npy(folder / "sets.npy", sets, 2);
  PublicRecord record;
  std::size_t number = 0;
  for (const Step& step : scenario.steps) {
    const std::string run = "run " + std::to_string(++number);
    const ProgramRun done =
        run_program(split_arguments((scenario.silos > 0 ? "fit --train-x x{rank}.npy --train-y y{rank}.npy"
                                                        : "fit --train-x x.npy --train-y " + scenario.labels) +
                                    " --classes 2 --threads 1 --epsilon 1 --delta 1e-6 --metrics metrics.jsonl "
                                    "--method " +
                                    step.options),
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
  std::map<World, std::string> plans;
  for (const World world : {World::kWithout, World::kWith}) {
    const TemporaryFolder folder;
    write_npy(rows_of(world, RowsOfWorld::kOnAxis), folder / "x.npy", folder / "y.npy");
    for (const std::string format : {"text", "json"}) {
      const ProgramRun done = run_program(split_arguments("fit --train-x x.npy --train-y y.npy --classes 2 --dry-run "
                                                          "--epsilon 1 --delta 1e-6 --format " +
                                                          format),
                                          {.folder = folder.path()});
      ASSERT_EQ(done.exit_code, 0) << done.err;
      if (format == "json") {
        json told = done.json();
        EXPECT_EQ(told["cost"]["for_release"], false);
        told.erase("cost");
        plans[world] += told.dump();
        continue;
      }
      for (const std::string& line : lines_of(done.out)) {
        if (!line.starts_with("cost ")) plans[world] += line + "\n";
      }
    }
  }
  EXPECT_EQ(plans[World::kWithout], plans[World::kWith]);
}

TEST_P(PublicPatternsTest, AreTheSameWithOneRowMore) {
  const PublicRecord without = published(GetParam(), World::kWithout);
  const PublicRecord with = published(GetParam(), World::kWith);
  EXPECT_GT(without.random_words(), 2) << "nothing was compared";
  const Strings one = without.pattern();
  const Strings other = with.pattern();
  for (std::size_t k = 0; k < std::min(one.size(), other.size()); ++k) {
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

const std::string kRounds = "gd --rounds 6";
const std::string kSampled = kRounds + " --batch 0.1 --accountant rdp";
const std::string kSets = "gd --rounds 3 --loss sigmoid --max-labels ";

INSTANTIATE_TEST_SUITE_P(
    Runs, PublicPatternsTest,
    testing::Values(
        Scenario{"gd", twice(kRounds)}, Scenario{"gd_sampled", twice(kSampled)},
        Scenario{"gd_sampled_bad_rows", twice(kSampled + " --bad-rows zero"), RowsOfWorld::kNotNumbers},
        Scenario{"adam", twice("adam --rounds 4")}, Scenario{"fc", twice("fc --rounds 3")},
        Scenario{"newton", twice("newton --rounds 2")}, Scenario{"mean", twice("mean --center dp")},
        Scenario{"mean_euclidean", twice("mean --metric euclidean")}, Scenario{"ls", twice("ls")},
        Scenario{"ls_shared", twice("ls --shared-gram")}, Scenario{"fisher", twice("fisher")},
        Scenario{"fedavg", twice("fedavg --rounds 3")},
        Scenario{"max_labels", {{kSets + "1"}, {kSets + "2"}, {kSets + "1"}}, RowsOfWorld::kOnAxis, "sets.npy"},
        Scenario{"methods_on_one_ledger", {{"gd --rounds 3"}, {"adam --rounds 3"}, {"fc --rounds 3"}, {"mean"}}},
        Scenario{"silos_with_a_lost_one",
                 {{"mean --fault 5:kill@masked --secure-aggregation --threshold 3 --report report.json"}},
                 RowsOfWorld::kOnAxis,
                 "",
                 5},
        Scenario{"resumed_gd", resumed(kRounds)}, Scenario{"resumed_sample", resumed(kSampled)},
        Scenario{"resumed_ls", resumed("ls")}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace dpreduce::public_patterns_test
