// A row that a run refuses leaves nothing on the ledger: who reads it cannot tell such a run from none.

#include "common/ledger/ledger.hpp"
#include "fit/ranked_rows.hpp"
#include "fit/traveling_plan.hpp"
#include "tests/fit/fitted_rows.hpp"

namespace dpreduce::refused_rows_test {

struct RefusedCase {
  std::string name;
  std::string method;
  std::function<void(FitOptions&)> change = [](FitOptions&) {};
  bool has_public_rows = false;
  bool has_units = false;
};

void sample_rows(FitOptions& options) {
  options.method.rounds = 3;
  options.method.batch = 0.2;
  options.privacy.budget = {{.epsilon = 2.0, .delta = 1e-6}, Accountant::kRdp};
}

const std::vector<RefusedCase> kRefusedCases{
    {"mean", "mean"},
    {"mean_in_chunks_of_two_threads", "mean", [](auto& options) { options.machine.threads = 2; }},
    {"ls_class_by_class", "ls"},
    {"ls_shared", "ls", [](auto& options) { options.method.shared_gram = true; }},
    {"ls_chosen", "ls", [](auto& options) { options.method.shared_gram = options.method.choose = true; }},
    {"fc", "fc", [](auto& options) { options.method.rounds = 3; }},
    {"gd", "gd", [](auto& options) { options.method.rounds = 3; }},
    {"gd_on_samples", "gd", sample_rows},
    {"gd_on_samples_of_persons", "gd", sample_rows, false, true},
    {"adam", "adam", [](auto& options) { options.method.rounds = 3; }},
    {"newton", "newton", [](auto& options) { options.method.rounds = 2; }},
    {"auto", "auto"},
    {"fisher", "fisher"},
    {"coinpress", "coinpress"},
    {"global_adapt", "global-adapt", [](auto& options) { options.method.rounds = 2; }},
    {"public", "public", [](FitOptions&) {}, true},
    {"centered", "mean", [](auto& options) { options.rows.center = Centering::kDp; }},
    {"centered_by_public_rows", "mean", [](auto& options) { options.rows.center = Centering::kPublic; }, true},
    {"projected", "mean", [](auto& options) { options.rows.pca = 3; }},
    {"selected", "gd", [](auto& options) { options.rows.select = 3, options.method.rounds = 2; }},
    {"weighed_persons", "fisher", [](FitOptions&) {}, false, true},
    {"clipped_persons", "ls", [](FitOptions&) {}, false, true},
};

class RefusedRows : public testing::TestWithParam<RefusedCase> {
 protected:
  // The fit on as many ranks, the last of which has `of_last`. Returns what it was refused with; empty: not at all.
  std::string refusal_of(const FittedRows& of_last, int size) {
    const FittedRows others(60, 1);
    const FittedRows of_public(30, 2);
    FitOptions options = seeded_fit(GetParam().method, folder_);
    options.privacy.seed.reset();
    GetParam().change(options);
    return refusal<BadInput>([&] {
      Communicator::on_threads(size, [&](Communicator& ranks) {
        const FittedRows& own = ranks.rank() + 1 == size ? of_last : others;
        std::vector<std::int64_t> persons(own.y.size());
        for (std::size_t row = 0; row < persons.size(); ++row) persons[row] = static_cast<std::int64_t>(row / 2);
        RowsInMemory rows = own.all();
        if (GetParam().has_public_rows) rows.public_x = of_public.features();
        if (GetParam().has_units) rows.train_person = array_view(persons);
        fit(options, rows, ranks).finish();
      });
    });
  }

  TemporaryFolder folder_;
};

TEST_P(RefusedRows, LeaveNothingOnTheLedger) {
  for (const int size : {1, 3}) {
    FittedRows rows(60, 3);
    rows.x.back() = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(refusal_of(rows, size), HasSubstr("training features in memory: row 59: not a finite number"));
    EXPECT_THAT(folder_.names(), IsEmpty()) << size;
    rows.x.back() = 0.0F;
    rows.y.back() = 3;
    EXPECT_THAT(refusal_of(rows, size), HasSubstr("row 59 has label 3, outside 0 to 2"));
    EXPECT_THAT(folder_.names(), IsEmpty()) << size;
  }
  EXPECT_EQ(refusal_of(FittedRows(60, 3), 3), "");
  EXPECT_FALSE(Ledger::read(folder_ / "ledger.jsonl").charges().empty());
}

INSTANTIATE_TEST_SUITE_P(Ways, RefusedRows, testing::ValuesIn(kRefusedCases),
                         [](const auto& of) { return of.param.name; });

class RefusedRowsTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  Communicator alone_ = Communicator::alone();
  const FittedRows some_{60, 1};
  const FittedRows none_{0, 1};
};

TEST_F(RefusedRowsTest, InFilesOfShardsLeaveNothingOnTheLedger) {
  FittedRows rows(60, 3);
  rows.y.back() = -1;
  FitOptions options = seeded_fit("fc", folder_);
  options.method.rounds = 2;
  options.data.train = FittedRows(60, 2).write(folder_, "a");
  const RowFiles last = rows.write(folder_, "b");
  options.data.train.x.push_back(last.x.front());
  options.data.train.y.push_back(last.y.front());
  EXPECT_THAT(refusal<BadInput>([&] { fit(options, alone_); }), HasSubstr("label -1"));
  EXPECT_THAT(folder_.names(), testing::Not(testing::Contains(HasSubstr("ledger"))));
}

// Before anything is charged or reserved: in memory, in files, on any number of ranks.
TEST_F(RefusedRowsTest, AFitWithoutRowsIsRefusedAndOneWithAnEmptyRankIsNot) {
  const FitOptions options = seeded_fit("mean", folder_);
  const auto fit_on = [&](std::array<const FittedRows*, 3> of_ranks) {
    Communicator::on_threads(3, [&](Communicator& ranks) {
      fit(options, of_ranks[static_cast<std::size_t>(ranks.rank())]->all(), ranks).finish();
    });
  };
  EXPECT_THAT(refusal<BadInput>([&] { fit(options, none_.all(), alone_); }),
              HasSubstr("training features in memory: no rows"));
  EXPECT_THAT(refusal<BadInput>([&] { fit_on({&none_, &none_, &none_}); }), HasSubstr("no rows"));
  EXPECT_THAT(folder_.names(), IsEmpty());
  fit_on({&none_, &some_, &none_});
  EXPECT_EQ(Ledger::read(options.privacy.ledger).charges().size(), 1U);
  std::filesystem::remove(options.privacy.ledger);

  FitOptions in_files = options;
  none_.write(folder_, "0");
  in_files.data.train = {.x = {folder_ / "{rank}_x.npy"}, .y = {folder_ / "{rank}_y.npy"}};
  EXPECT_THAT(refusal<BadInput>([&] { fit(in_files, alone_); }), HasSubstr("no rows"));
  EXPECT_FALSE(std::filesystem::exists(options.privacy.ledger));
}

TEST_F(RefusedRowsTest, ASessionOfNoRowsIsRefusedAndOneWithAnEmptyPartitionIsNot) {
  for (const char* method : {"mean", "ls", "gd"}) {
    FitOptions options = seeded_fit(method, folder_);
    if (options.method.name == "gd") options.method.rounds = 2;
    const TravelingPlan plan = TravelingPlan::made(options, FittedRows::kDim);
    const auto part = [&](const FitSession& session, const FittedRows& rows, const std::string& name) {
      return partial_sum(plan, *session.task(), rows.all(), name, 1, [](double) {});
    };
    {
      FitSession session(plan, options.privacy.ledger, std::nullopt);
      PartialSum sum = part(session, none_, "a");
      sum.add(part(session, none_, "b"));
      EXPECT_THAT(refusal<BadInput>([&] { session.give(sum); }), HasSubstr("no partition has a row"));
    }
    EXPECT_THAT(folder_.names(), IsEmpty()) << method;
    FitSession session(plan, options.privacy.ledger, std::nullopt);
    while (session.task()) {
      PartialSum sum = part(session, none_, "a");
      sum.add(part(session, some_, "b"));
      session.give(sum);
    }
    session.fitted().finish();
    for (const std::string& name : folder_.names()) std::filesystem::remove(folder_ / name);
  }
}

// Nothing is written before a sum has come, so that a worker's refusal, or its loss, leaves no trace.
TEST_F(RefusedRowsTest, ASessionThatNeverGetsASumLeavesNothingOnTheLedger) {
  FitOptions options = seeded_fit("ls", folder_);
  options.privacy.seed.reset();
  { FitSession session(TravelingPlan::made(options, FittedRows::kDim), options.privacy.ledger, std::nullopt); }
  EXPECT_THAT(folder_.names(), IsEmpty());
}

// A label of no class is none of the counts, where it is not refused.
TEST(LabelCounts, LeaveOutLabelsThatAreTakenAndOfNoClass) {
  const std::vector<std::int64_t> labels{0, 7, 2, -1, 2};
  const std::vector<float> x(labels.size(), 0.0F);
  RowFiles names{.x = {"x"}, .y = {"y"}, .unlisted_labels = UnlistedLabels::kTaken};
  Communicator alone = Communicator::alone();
  const auto counts = [&] {
    WorkerRows rows = ranked_rows_in_memory(array_view(x, 1), array_view(labels), names, alone);
    return label_counts(rows.labels(), rows.range(), 3, alone);
  };
  EXPECT_EQ(counts(), (std::vector<std::uint64_t>{1, 0, 2}));
  names.unlisted_labels = UnlistedLabels::kRefused;
  EXPECT_THROW(counts(), BadInput);
}

}  // namespace dpreduce::refused_rows_test
