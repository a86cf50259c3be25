// Places x methods x units = the same bytes: wherever rows lie (one process, ranks, masked silos, partitions of an
// engine), a fit, a release or an evaluation of records or of persons comes to what one process makes of all rows.
// tests/mpi/every_fit_test.cpp: the same fits over ranks of MPI, and with any memory and threads; network_test.cpp:
// over lines of a network; tests/python: of arrays.
#include "common/model/classifier_file.hpp"
#include "fit/traveling_plan.hpp"
#include "tests/cli/every_fit.hpp"
#include "tests/cli/program_test.hpp"
#include "tests/commands/parsed_command.hpp"
#include "tests/slow_tests.hpp"

namespace dpreduce::place_matrix_test {

constexpr std::size_t kClasses = 3;
constexpr std::size_t kDim = 8;
constexpr std::size_t kSilos = 3;

// One run: its command, what names its rows (train or test), and the rest of its words.
struct Cell {
  std::string name;
  std::string command;
  std::string rows;
  std::string options;
  Reach reach = Reach::kSilos;
  std::string labels = "y";  ///< y, s of label sets, or t of numbers
  bool has_groups = false;
};

// Prints the name alone.
void PrintTo(const Cell& cell, std::ostream* out) {
  *out << cell.name;
}

// Rows of all, in the folder "all"; of `parts` ranks in "r{parts}", from 0; of silos in "s{parts}", from 1. A person's
// rows lie together and in one of three silos, and over ranks.
class PlaceMatrixTest : public ProgramTest, public testing::WithParamInterface<Cell> {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<TemporaryFolder>();
    rows_ = make_rows({72, 60, 48}, kDim);
    write_part("all", "", 0, rows_.rows());
    for (const std::size_t ranks : {2, 3, 5}) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto edge = [&](std::size_t e) { return rows_.rows() * e * e / (ranks * ranks); };
        write_part(fmt::format("r{}", ranks), fmt::format("{}", rank), edge(rank), edge(rank + 1));
      }
    }
    // But for those of persons, the later a silo comes the more rows it has; the first of 33 has one.
    for (const std::size_t silos : {2, 3, 5, 8, 33}) {
      const auto edge = [&](std::size_t e) {
        if (silos == kSilos) return edge_of_silo(e);
        return static_cast<std::size_t>(std::pow(static_cast<double>(e) / static_cast<double>(silos), 1.3) *
                                        static_cast<double>(rows_.rows()));
      };
      for (std::size_t silo = 1; silo <= silos; ++silo) {
        write_part(fmt::format("s{}", silos), fmt::format("{}", silo), edge(silo - 1), edge(silo));
      }
    }
    const TrainingRows more = make_rows({20, 20, 20}, kDim);
    write_npy(more, *data_ / "public.npy", *data_ / "labels.npy");
    const std::string fit = with_folder(
        "fit --train-x @/all/x.npy --mu 1 --train-person @/all/p.npy --ledger models.jsonl ", data_->path());
    for (const char* words : {"--train-y @/all/y.npy --classes 3 --method gd --rounds 2 --out @/m",
                              "--train-y @/all/y.npy --classes 3 --method gd --rounds 2 --seed 3 --out @/other",
                              "--train-y @/all/s.npy --max-labels 2 --classes 3 --method gd --rounds 2 --out @/sets",
                              "--targets @/all/t.npy --method ls --target-range 0,1 --out @/numbers"}) {
      const std::string line = fit + with_folder(words, data_->path());
      ASSERT_EQ(run_program(split_arguments(line), {.folder = data_->path()}).exit_code, 0) << line;
    }
  }
  static void TearDownTestSuite() { data_.reset(); }

  // Of whole persons: 5 rows each, but for the first of each silo, which has 20.
  static std::size_t edge_of_silo(std::size_t silo) { return silo * rows_.rows() / kSilos; }
  static std::int64_t person_of(std::size_t row) {
    const std::size_t silo = row / edge_of_silo(1);
    const std::size_t place = row % edge_of_silo(1);
    return static_cast<std::int64_t>(100 * silo + (place < 20 ? 0 : place / 5));
  }

  // Rows first .. end - 1: features x, labels y, label sets s, numbers t, groups g and persons p.
  static void write_part(const std::string& folder, const std::string& ending, std::size_t first, std::size_t end) {
    fs::create_directories(*data_ / folder);
    const auto path = [&](const char* name) { return fmt::format("{}/{}{}.npy", *data_ / folder, name, ending); };
    std::vector<std::int64_t> groups;
    std::vector<std::int64_t> persons;
    std::vector<double> numbers;
    std::vector<std::uint8_t> sets(kClasses * (end - first), 0);
    for (std::size_t row = first; row < end; ++row) {
      groups.push_back(static_cast<std::int64_t>(row % 3));
      persons.push_back(person_of(row));
      numbers.push_back(static_cast<double>(row) / static_cast<double>(rows_.rows()));
      for (std::size_t more = 0; more < 1 + row % 2; ++more) {
        sets[kClasses * (row - first) + (static_cast<std::size_t>(rows_.labels[row]) + more) % kClasses] = 1;
      }
    }
    write_npy(rows_.part(first, end - first), path("x"), path("y"));
    write_labels(path("g"), groups);
    write_labels(path("p"), persons);
    dpreduce::write_npy<double>(path("t"), numbers);
    dpreduce::write_npy<std::uint8_t>(path("s"), sets, kClasses);
  }

  // The words of the cell, of the rows in that folder.
  static std::string line_of(const Cell& cell, bool has_persons, const std::string& folder, const std::string& ending) {
    const std::string rows = "--" + cell.rows;
    const std::string numbers = cell.rows == "train" ? "--targets" : rows + "-targets";
    const auto file = [&](const std::string& name) {
      return fmt::format("{}/{}{}.npy ", *data_ / folder, name, ending);
    };
    return fmt::format("{} {}-x {} {} {} {} {} {} --seed 7 --ledger {}.jsonl ", cell.command, rows, file("x"),
                       cell.labels == "t" ? numbers : rows + "-y", file(cell.labels),
                       has_persons ? rows + "-person " + file("p") + " --rows-per-person 2" : "",
                       cell.has_groups ? "--groups 3 --group " + file("g") : "",
                       with_folder(cell.options, data_->path()), has_persons ? "persons" : "records");
  }

  // What a run has made: a model, statistics, or figures.
  std::string made_by(const ProgramRun& run) const {
    if (GetParam().command.starts_with("evaluate")) return run.json()["metrics"].dump();
    return bytes(GetParam().command == "fit" ? "model.safetensors" : "statistics.safetensors");
  }

  std::string made_by_ranks(bool has_persons, int ranks) const {
    const std::string folder = ranks == 0 ? "all" : fmt::format("r{}", ranks);
    const std::string ending = ranks == 0 ? "" : "{rank}";
    return made_by(succeed(line_of(GetParam(), has_persons, folder, ending), ranks));
  }

  std::string made_by_silos(bool has_persons, std::size_t silos) const {
    const std::string more = has_persons ? "--silos-per-person 1" : "";
    return made_by(run_among(silos,
                             line_of(GetParam(), has_persons, fmt::format("s{}", silos), "{rank}") +
                                 "--secure-aggregation --silo-timeout 120 " + more,
                             0));
  }

  // The sum over uneven partitions, the last of them first; what workers get and give crosses as bytes.
  static PartialSum sum_of(const TravelingPlan& plan, const TravelingTask& task, std::size_t partitions) {
    std::optional<PartialSum> sum;
    for (std::size_t p = partitions; p-- > 0;) {
      const auto edge = [&](std::size_t e) { return rows_.rows() * e * e / (partitions * partitions); };
      const TrainingRows part = rows_.part(edge(p), edge(p + 1) - edge(p));
      const RowsInMemory rows{.train_x = array_view(std::span<const float>(part.features), kDim),
                              .train_y = array_view(std::span<const std::int64_t>(part.labels))};
      const PartialSum next = PartialSum::from_bytes(partial_sum(TravelingPlan::from_bytes(plan.to_bytes()),
                                                                 TravelingTask::from_bytes(task.to_bytes()), rows,
                                                                 fmt::format("p{}", p), 1, [](double) {})
                                                         .to_bytes());
      if (sum) {
        sum->add(next);
      } else {
        sum = next;
      }
    }
    return *sum;
  }

  static std::string made_by_partitions(std::size_t partitions) {
    FitOptions options = parsed_fit(split_arguments(line_of(GetParam(), false, "all", "")));
    options.data.train = {};
    options.privacy.ledger.clear();
    const TravelingPlan plan = TravelingPlan::made(options, kDim);
    FitSession session(plan, std::nullopt, std::nullopt);
    while (session.task()) session.give(sum_of(plan, *session.task(), partitions));
    session.fitted().finish();
    const std::vector<std::byte> model = to_bytes(session.fitted().classifier);
    return {reinterpret_cast<const char*>(model.data()), model.size()};
  }

  static inline std::unique_ptr<TemporaryFolder> data_;
  static inline TrainingRows rows_;
};

TEST_P(PlaceMatrixTest, OfRecordsIsThatOfOneProcess) {
  const std::string alone = made_by_ranks(false, 0);
  for (const int ranks : {2, 3, 5}) EXPECT_TRUE(made_by_ranks(false, ranks) == alone) << ranks << " ranks";
  if (GetParam().reach == Reach::kRanks) return;
  EXPECT_TRUE(made_by_silos(false, kSilos) == alone) << "silos";
  for (const std::size_t silos : {2, 5, 8, 33}) {
    if (!runs_slow_tests()) break;
    EXPECT_TRUE(made_by_silos(false, silos) == alone) << silos << " silos";
  }
  if (GetParam().reach != Reach::kPartitions) return;
  for (const std::size_t partitions : {1, 3, 7}) {
    EXPECT_TRUE(made_by_partitions(partitions) == alone) << partitions << " partitions";
  }
}

// Ranks count a person's rows together; silos that share no person need not.
TEST_P(PlaceMatrixTest, OfPersonsIsThatOfOneProcess) {
  const std::string alone = made_by_ranks(true, 0);
  EXPECT_TRUE(made_by_ranks(true, 3) == alone) << "ranks";
  if (GetParam().reach != Reach::kRanks) {
    EXPECT_TRUE(made_by_silos(true, kSilos) == alone) << "silos";
  }
  for (const std::string& name : folder_.names()) {
    if (!name.starts_with("persons") || !name.ends_with(".jsonl")) continue;
    EXPECT_THAT(bytes(name), AllOf(HasSubstr("\"unit\":\"person\""), Not(HasSubstr("\"unit\":\"record\"")))) << name;
  }
}

std::vector<Cell> all_cells() {
  const std::string budget = "--epsilon 4 --delta 1e-5 ";
  std::vector<Cell> cells;
  for (const EveryFit& fit : every_fit()) {
    cells.push_back({fit.name, "fit", "train", "--classes 3 " + budget + fit.options, fit.reach});
  }
  for (const std::string method : {"mean", "fc --rounds 2", "ls --choose"}) {
    cells.push_back({"label_sets_" + method.substr(0, 2), "fit", "train",
                     "--classes 3 --max-labels 2 --adjacency replace-one " + budget + "--method " + method,
                     Reach::kSilos, "s"});
  }
  for (const std::string method : {"ls", "fc --rounds 2"}) {
    cells.push_back({"numbers_" + method.substr(0, 2), "fit", "train",
                     budget + "--target-range private --method " + method, Reach::kSilos, "t"});
  }
  int number = 0;
  for (const char* kinds : {"gram", "class_sums", "class_sizes", "class_grams", "gram,class_sums",
                            "class_sums,class_sizes", "gram,class_sums,class_sizes", "class_grams,class_sizes"}) {
    cells.push_back({fmt::format("release_{}", ++number), "release", "train",
                     fmt::format("--classes 3 --overwrite --center dp --statistics {} {}", kinds, budget)});
  }
  for (const auto& [name, labels, words] : std::vector<std::array<std::string, 3>>{
           {"plain", "y", "--model @/m"},
           {"auc", "y", "--model @/m --metrics auc --positive 1"},
           {"sets", "s", "--model @/sets --max-labels 2"},
           {"numbers", "t", "--model @/numbers"},
           {"all", "y",
            "--model @/m --model @/other --top-k 2 --positive 1 --metrics "
            "accuracy,recall,precision,confusion,topk,logloss,brier,calibration,auc,roc"}}) {
    cells.push_back({"evaluate_" + name, "evaluate --private --format json", "test", "--mu 4 " + words, Reach::kSilos,
                     labels, name == "all"});
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Every, PlaceMatrixTest, testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return cell.param.name; });

}  // namespace dpreduce::place_matrix_test
