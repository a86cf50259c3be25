// What has to be on disk is flushed before what it guards happens, and where a flush fails that does not happen. Seen
// at the system calls: a computer that is switched off in between cannot be had in a test.

#include "common/base/error.hpp"
#include "common/files/atomic_file.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/run_journal.hpp"
#include "common/randomness/private_file.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/fit/fitted_rows.hpp"
#include "tests/fit/watched_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::durability_test {

using testing::Contains;
using Kind = FileCall::Kind;

constexpr std::uint64_t kRoundsOfFit = 3;

// Follows the calls of a run, and says where one of them comes too early.
class Order {
 public:
  Order(const TemporaryFolder& folder, const std::vector<FileCall>& calls) : folder_(folder.path()) {
    for (const FileCall& call : calls) follow(call);
    for (const std::string& path : dirty_) complain(path + " was not flushed at the end");
  }
  const std::vector<std::string>& complaints() const { return complaints_; }
  std::size_t writes_to_ledger() const { return writes_to_ledger_; }
  std::size_t writes_to_journal() const { return writes_to_journal_; }
  std::size_t releases_named() const { return releases_named_; }
  std::size_t journals_removed() const { return journals_removed_; }

 private:
  static bool is_ledger(const std::string& path) { return path.ends_with("/ledger.jsonl"); }
  static bool is_journal(const std::string& path) { return path.ends_with(".journal"); }
  static bool is_release(const std::string& path) { return path.find("/releases-") != std::string::npos; }

  template <typename Is>
  void require_clean(const Is& is, const std::string& what, const std::string& before) {
    if (std::ranges::any_of(dirty_, is)) complain(fmt::format("{} before {} was flushed", before, what));
  }

  void follow(const FileCall& call) {
    const std::string& path = call.path;
    if (call.kind == Kind::kSync) dirty_.erase(path);
    if (call.kind == Kind::kWrite) {
      if (is_ledger(path)) {  // a line, which says that the journal has what repeats it
        ++writes_to_ledger_;
        require_clean(is_journal, "the journal", "a line of the ledger");
        require_clean([&](const std::string& other) { return other == folder_; }, "the folder of ledger and journal",
                      "a line of the ledger");
      }
      writes_to_journal_ += is_journal(path) ? 1 : 0;
      dirty_.insert(path);
    }
    if (call.kind == Kind::kName) {
      if (dirty_.contains("unnamed")) complain(path + " got its name before it was flushed");
      if (is_release(path)) {  // what is released is paid for
        ++releases_named_;
        require_clean(is_ledger, "the ledger", "a release");
      }
      dirty_.insert(std::filesystem::path(path).parent_path().string());
    }
    if (call.kind == Kind::kRemove) {
      if (is_journal(path)) {
        ++journals_removed_;
        require_clean(is_journal, "the overwritten journal", "its removal");
        require_clean(is_ledger, "the end of the run", "the removal of its journal");
      }
      dirty_.insert(std::filesystem::path(path).parent_path().string());
    }
  }
  void complain(std::string what) { complaints_.push_back(std::move(what)); }

  std::string folder_;
  std::set<std::string> dirty_;  // changed since it was flushed last; a folder: its names
  std::vector<std::string> complaints_;
  std::size_t writes_to_ledger_ = 0;
  std::size_t writes_to_journal_ = 0;
  std::size_t releases_named_ = 0;
  std::size_t journals_removed_ = 0;
};

class DurabilityTest : public testing::Test {
 protected:
  static FitOptions options_in(const TemporaryFolder& folder) {
    FitOptions options = seeded_fit("adam", folder);
    options.method.rounds = kRoundsOfFit;
    options.output.checkpoint = folder / "checkpoint";
    return options;
  }
  void fit_in(const TemporaryFolder& folder) {
    FittedRun run = fit(options_in(folder), rows_.all(), alone_);
    run.finish();
  }

  FittedRows rows_{30, 1};
  Communicator alone_ = Communicator::alone();
};

TEST_F(DurabilityTest, OfAFitEachFlushComesBeforeWhatItGuards) {
  const TemporaryFolder folder;
  WatchedFiles watched(folder.path());
  fit_in(folder);
  const Order order(folder, watched.calls());
  EXPECT_THAT(order.complaints(), IsEmpty());
  EXPECT_EQ(order.writes_to_ledger(), kRoundsOfFit + 2);  // a reservation, charges, an end
  EXPECT_GE(order.writes_to_journal(), kRoundsOfFit);
  EXPECT_EQ(order.releases_named(), kRoundsOfFit);
  EXPECT_EQ(order.journals_removed(), 1U);
}

// Whichever flush fails, the fit says so, and no release stands in the checkpoint that the ledger does not have.
TEST_F(DurabilityTest, AFlushThatFailsEndsTheFitBeforeWhatItGuards) {
  std::size_t number = 1;
  for (;; ++number) {
    SCOPED_TRACE(number);
    const TemporaryFolder folder;
    WatchedFiles watched(folder.path());
    const std::string checkpoint = folder / "checkpoint";
    std::string failed;
    watched.fail_sync(number, [&](const std::string& path) {
      failed = path;
      return path != checkpoint;  // that its names are flushed is more than all file systems can
    });
    const std::string said = refusal<Error>([&] { fit_in(folder); });
    if (!watched.has_failed()) break;
    EXPECT_NE(said, "") << failed;
    std::size_t released = 0;
    if (std::filesystem::exists(checkpoint)) {
      for (const auto& entry : std::filesystem::directory_iterator(checkpoint)) {
        released += entry.path().filename().string().starts_with("releases-") ? 1 : 0;
      }
    }
    const std::string ledger = options_in(folder).privacy.ledger;
    EXPECT_LE(released, std::filesystem::exists(ledger) ? Ledger::read(ledger).charges().size() : 0U) << failed;
  }
  EXPECT_GT(number, 4 * kRoundsOfFit);  // journal, ledger and checkpoint each round, and more before and after
}

TEST_F(DurabilityTest, ALedgerLineIsFlushedBeforeTheCallReturnsOrIsTakenBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const Reservation reservation{.run_id = "run",
                                .terms = sample_terms(),
                                .releases = {{.name = "sums", .rounds = 1, .mu = 1.0, .sampling_rate = 1.0}},
                                .selections = {}};
  WatchedFiles watched(folder.path());
  Ledger ledger(path);
  watched.fail_sync(1, [&](const std::string& synced) { return synced == path; });
  EXPECT_THROW(ledger.reserve(reservation, {}), BadInput);
  ASSERT_TRUE(watched.has_failed());
  EXPECT_TRUE(Ledger::read(path).open_runs().empty());
  ledger.reserve(reservation, {});
  EXPECT_EQ(Ledger::read(path).open_runs().size(), 1U);
  EXPECT_EQ(watched.calls().back().kind, Kind::kSync);
  EXPECT_EQ(watched.calls().back().path, path);
  const std::size_t before = watched.calls().size();
  ledger.end("run", RunOutcome::kStopped);
  ASSERT_EQ(watched.calls().size(), before + 2);
  EXPECT_EQ(watched.calls()[before].kind, Kind::kWrite);
  EXPECT_EQ(watched.calls()[before + 1].kind, Kind::kSync);

  std::filesystem::remove(path);  // its key stays, so that nothing else flushes the folder
  Ledger anew(path);
  const std::size_t first = watched.calls().size();
  anew.reserve(reservation, {});
  ASSERT_EQ(watched.calls().size(), first + 3);
  EXPECT_EQ(watched.calls()[first].path, folder.path()) << "the name, before a line that would be lost without it";
  EXPECT_EQ(watched.calls()[first].kind, Kind::kSync);
}

TEST_F(DurabilityTest, AJournalIsWholeAndFlushedBeforeItHasItsName) {
  const TemporaryFolder folder;
  const std::string ledger = folder / "ledger.jsonl";
  WatchedFiles watched(folder.path());
  watched.fail_sync(1, [](const std::string&) { return true; });
  EXPECT_THROW(RunJournal::make(ledger, std::string(64, 'b'), NoiseKey::from_entropy()), BadInput);
  EXPECT_TRUE(folder.names().empty());
  RunJournal journal = RunJournal::make(ledger, std::string(64, 'b'), NoiseKey::from_entropy());
  for (const auto& change : std::vector<std::function<void()>>{
           [&] { journal.add_charge("sums", std::string(32, '1')); }, [&] { journal.add_rows(std::string(64, '2')); },
           [&] { journal.begin_run(); }}) {
    const auto size = [&] { return std::filesystem::file_size(folder / folder.names().front()); };
    const std::uintmax_t before = size();
    watched.fail_sync(1, [](const std::string&) { return true; });
    EXPECT_THROW(change(), BadInput);
    EXPECT_EQ(size(), before);
    change();
    EXPECT_GT(size(), before);
    EXPECT_EQ(watched.calls().back().kind, Kind::kSync);
  }
  EXPECT_THAT(Order(folder, watched.calls()).complaints(), IsEmpty());
  watched.fail_sync(1, [](const std::string&) { return true; });
  EXPECT_THROW(journal.destroy(), BadInput);
  EXPECT_EQ(folder.names().size(), 1U) << "zeros that are not on disk yet do not let its name go";
}

TEST_F(DurabilityTest, AFileThatIsReplacedIsFlushedBeforeItHasItsName) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  for (const Existing existing : {Existing::kKeep, Existing::kReplace}) {
    WatchedFiles watched(folder.path());
    {
      AtomicFile file(path, existing);
      file.write("whole");
      watched.fail_sync(1, [](const std::string&) { return true; });
      EXPECT_THROW(file.commit(), BadInput);
    }
    EXPECT_EQ(std::filesystem::exists(path), existing == Existing::kReplace);
    AtomicFile again(path, existing);
    again.write("whole");
    again.commit();
    EXPECT_THAT(Order(folder, watched.calls()).complaints(), IsEmpty());
  }
}

// The watch itself: calls in another order are complained of.
TEST_F(DurabilityTest, AnotherOrderIsSeen) {
  const TemporaryFolder folder;
  const std::string ledger = folder / "ledger.jsonl";
  const std::string journal = folder / "ledger.jsonl.1.journal";
  const auto complaints = [&](const std::vector<FileCall>& calls) { return Order(folder, calls).complaints(); };
  const FileCall line{Kind::kWrite, ledger};
  const FileCall flushed{Kind::kSync, ledger};
  EXPECT_THAT(complaints({{Kind::kWrite, journal}, line, flushed, {Kind::kSync, journal}}),
              Contains(HasSubstr("before the journal was flushed")));
  EXPECT_THAT(complaints({line, {Kind::kName, folder / "checkpoint/releases-1"}, flushed}),
              Contains(HasSubstr("a release before the ledger was flushed")));
  EXPECT_THAT(complaints({{Kind::kWrite, "unnamed"}, {Kind::kName, journal}, {Kind::kSync, "unnamed"}}),
              Contains(HasSubstr("got its name before it was flushed")));
  EXPECT_THAT(complaints({{Kind::kWrite, journal}, {Kind::kRemove, journal}}), Contains(HasSubstr("its removal")));
  EXPECT_THAT(complaints({line}), Contains(HasSubstr("was not flushed at the end")));
  EXPECT_THAT(complaints({line, flushed}), IsEmpty());
}

}  // namespace dpreduce::durability_test
