// What the system refuses while a ledger or the file of a run is read and written.
#include <csignal>

#include <sys/resource.h>

#include "common/base/error.hpp"
#include "common/ledger/ledger.hpp"
#include "common/ledger/run_file.hpp"
#include "tests/common/ledger/sample_ledger.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/testing.hpp"
#include "tests/without_calls.hpp"

namespace dpreduce::failing_files_test {

namespace fs = std::filesystem;

// System calls that fail so, and what is said where they do.
struct Failure {
  std::vector<unsigned> calls;
  unsigned error_number;
  std::vector<std::string> words;
};

// What the action says where files may have so many bytes, which stands for a full disk.
template <typename Action>
std::string said_on_full_disk(std::size_t most_bytes, const Action& action) {
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit former{};
  ::getrlimit(RLIMIT_FSIZE, &former);
  const rlimit limit{most_bytes, former.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::string said = refusal<BadInput>(action);
  ::setrlimit(RLIMIT_FSIZE, &former);
  ::signal(SIGXFSZ, handler);
  return said;
}

class FailingFiles : public testing::Test {
 protected:
  // Makes a run, which charges a release.
  void charge(const std::string& run) const {
    Ledger ledger(path_);
    ledger.reserve(sample_reservation(run));
    ledger.append(sample_entry(run + "/means/1"));
  }
  RunFile run_with_one_release() const {
    RunFile file = RunFile::make(path_, std::string(64, 'b'), SavesReleases::kYes);
    Ledger(path_).reserve(sample_reservation(file.run_id(), 2));
    file.save("means/1", std::string(64, 'd'), {{"sums", values_}});
    return file;
  }
  fs::path path_of(const RunFile& file) const { return path_.string() + "." + file.run_id() + ".releases"; }
  // The action is refused as each of these says, naming the file, which is as before. False where nothing can fail so.
  template <typename Action>
  bool are_refused(const std::vector<Failure>& failures, const fs::path& file, const Action& action) const {
    const std::string before = read_bytes(file);
    for (const Failure& failure : failures) {
      std::string said;
      const bool could = run_without(failure.calls, failure.error_number, [&] { said = refusal<BadInput>(action); });
      if (!could) return false;
      EXPECT_THAT(said, HasSubstr(file.string()));
      for (const std::string& word : failure.words) EXPECT_THAT(said, HasSubstr(word));
      EXPECT_EQ(read_bytes(file), before) << said;
    }
    return true;
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "ledger.jsonl";
  const std::vector<std::int64_t> values_ = std::vector<std::int64_t>(1000, -7);
};

TEST_F(FailingFiles, ALedgerThatCannotBeWrittenIsAsBefore) {
  charge("run-1");
  const std::vector<Failure> failures{
      {{SYS_fsync}, EIO, {"cannot sync the ledger: Input/output error"}},
      {{SYS_write}, EIO, {"cannot write the ledger: Input/output error"}},
      {{SYS_write}, 0, {"cannot write the ledger (only 0 of ", " bytes fitted: disk, quota or size limit): No space"}},
      {{SYS_write, SYS_ftruncate}, ENOSPC, {"cannot write the ledger; a torn last line remains: No space left"}},
      {{SYS_pread64}, EIO, {"cannot read the ledger: Input/output error"}}};
  if (!are_refused(failures, path_, [&] { charge("run-2"); })) GTEST_SKIP();
  charge("run-2");
  EXPECT_EQ(Ledger::read(path_).charges().size(), 2U);
}

TEST_F(FailingFiles, AFirstLineWhoseFolderCannotBeSyncedIsNotWritten) {
  find_or_make_signing_key(path_);
  const bool could = are_refused({{{SYS_fsync}, EIO, {"cannot sync the ledger's folder: Input/output error"}}}, path_,
                                 [&] { charge("run-1"); });
  if (!could) GTEST_SKIP();
  EXPECT_THAT(folder_.names(), ElementsAre("ledger.jsonl.signing-key"));
}

TEST_F(FailingFiles, ALedgerOnAFullDiskIsAsBefore) {
  find_or_make_signing_key(path_);
  EXPECT_THAT(said_on_full_disk(50, [&] { charge("run-1"); }), HasSubstr("only 50 of"));
  EXPECT_EQ(Ledger::read(path_).head().lines, 0U);
  charge("run-1");
  const std::string before = read_bytes(path_);
  const std::vector<std::pair<std::size_t, std::string>> limits{{100, "only 100 of"}, {0, "ledger: File too large"}};
  for (const auto& [room, words] : limits) {
    const std::string said = said_on_full_disk(before.size() + room, [&] { charge("run-2"); });
    EXPECT_THAT(said, AllOf(HasSubstr(path_.string()), HasSubstr(words)));
    EXPECT_EQ(read_bytes(path_), before);
  }
  charge("run-2");
  EXPECT_EQ(Ledger::read(path_).head().lines, 5U);
}

TEST_F(FailingFiles, ALedgerLargerThanOneGibibyteOrOnAStoreIsRefused) {
  write_bytes(path_, "");
  fs::resize_file(path_, (std::uintmax_t{1} << 30) + 1);
  expect_refusal<BadInput>([&] { charge("run-1"); }, {path_.string(), "larger than 1 GiB; start a new one"});
  expect_refusal<BadInput>([] { Ledger::read("s3://bucket/ledger.jsonl"); }, {"s3://bucket/ledger.jsonl", "copy it"});
}

TEST_F(FailingFiles, AReleaseThatCannotBeSavedLeavesTheFileAsBefore) {
  RunFile file = run_with_one_release();
  const std::vector<Failure> failures{
      {{SYS_fsync}, EIO, {"releases ", "cannot be written: Input/output error"}},
      {{SYS_write}, ENOSPC, {"releases ", "cannot be written: No space left"}},
      {{SYS_write, SYS_ftruncate}, EIO, {"releases ", "cannot be written, nor cut again: Input/output error"}}};
  const auto save = [&] { file.save("means/2", std::string(64, 'd'), {{"sums", values_}}); };
  if (!are_refused(failures, path_of(file), save)) GTEST_SKIP();
  const std::string before = read_bytes(path_of(file));
  for (const std::size_t room : {0U, 20U, 1000U}) {  // for nothing, a part of the header, and a part of the integers
    EXPECT_THAT(said_on_full_disk(before.size() + room, save), HasSubstr("cannot be written: File too large"));
    EXPECT_EQ(read_bytes(path_of(file)), before);
  }
  save();
}

TEST_F(FailingFiles, AFullDiskIsMetBeforeTheCharge) {
  const RunFile file = run_with_one_release();
  const auto make_room = [&] { file.make_room(values_.size()); };
  const std::string no_space = "has no space for another release: ";
  EXPECT_THAT(said_on_full_disk(fs::file_size(path_of(file)) + 8000, make_room), HasSubstr(no_space + "File too"));
  if (!are_refused({{{SYS_fallocate}, ENOSPC, {no_space + "No space"}}}, path_of(file), make_room)) GTEST_SKIP();
  for (const unsigned unsupported : {EOPNOTSUPP, ENOSYS}) {
    EXPECT_TRUE(run_without({SYS_fallocate}, unsupported, [&] { EXPECT_NO_THROW(make_room()); }));
  }
}

TEST_F(FailingFiles, AFileOfARunThatCannotBeReadLockedOrCutIsNamed) {
  std::optional<RunFile> file = run_with_one_release();
  const fs::path path = path_of(*file);
  const std::string run = file->run_id();
  RunFile::Record record{};
  record.blocks = {{"sums", 1}};
  const std::vector<Failure> unreadable{{{SYS_pread64}, EIO, {"releases ", "cannot be read: Input/output error"}}};
  if (!are_refused(unreadable, path, [&] { file->values_of(record); })) GTEST_SKIP();
  file.reset();
  fs::resize_file(path, fs::file_size(path) - 1);
  const auto open = [&] { RunFile::of_run(path_, run); };
  are_refused(unreadable, path, open);
  are_refused({{{SYS_flock}, ENOLCK, {"cannot be locked: ", "has no locks (flock)"}},
               {{SYS_ftruncate}, EIO, {"cannot be cut where its last record is torn: Input/output error"}}},
              path, open);
  EXPECT_TRUE(RunFile::of_run(path_, run)->records().empty());
}

}  // namespace dpreduce::failing_files_test
