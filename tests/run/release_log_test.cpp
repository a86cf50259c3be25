// The log of releases on disk: what is taken from it is what was given, or one clear error.
#include "run/release_log.hpp"

#include "common/base/error.hpp"
#include "common/model/safetensors.hpp"
#include "common/randomness/signing_key.hpp"
#include "tests/common/data/data_files.hpp"
#include "tests/testing.hpp"

namespace dpreduce::release_log_test {

constexpr double kAtOnce = 0.0;
constexpr double kHours = 1e5;
constexpr std::size_t kCutEvery = 7;
const std::string kRun = "0123456789abcdef0123456789abcdef";

PlannedBlock block(const std::string& name, std::uint64_t elements, double sigma) {
  return {.name = name,
          .elements = elements,
          .squared_sensitivity = 1,
          .sensitivity = 1.0,
          .sigma = sigma,
          .mu = 1.0 / sigma,
          .noise = BlockNoise::kEqual,
          .triangles = 1};
}

const PlannedRelease kCenter{
    .name = "center", .rounds = 1, .blocks = {block("sum", 2, 3.5), block("count", 1, 4.0)}, .profiles = {}, .mu = 1.0};
const PlannedRelease kGradient{
    .name = "gradient", .rounds = 3, .blocks = {block("gradient", 3, 0.1)}, .profiles = {}, .mu = 1.0};

Release center() {
  return Release({{"sum", {-7, std::int64_t{1} << 62}, 3.5}, {"count", {12}, 4.0}});
}
Release gradient(std::int64_t round) {
  return Release({{"gradient", {round, -round, 10 * round}, 0.1}});
}

nlohmann::json binding() {
  return {{"method", "gd"}, {"rounds", 3}, {"list", {1, 2}}, {"rows", std::string(64, 'a')}};
}

void expect_equal(const Release& left, const Release& right) {
  ASSERT_EQ(left.blocks().size(), right.blocks().size());
  for (std::size_t b = 0; b < left.blocks().size(); ++b) {
    EXPECT_EQ(left.blocks()[b].name(), right.blocks()[b].name());
    EXPECT_EQ(left.blocks()[b].sigma(), right.blocks()[b].sigma());
    EXPECT_TRUE(std::ranges::equal(left.blocks()[b].values(), right.blocks()[b].values()));
  }
}

class ReleaseLogTest : public testing::Test {
 protected:
  std::string path() const { return folder_ / "run"; }
  std::string file(const std::string& name) const { return path() + "/" + name; }

  std::unique_ptr<ReleaseLog> bound(LogStart start, double seconds = kAtOnce) const {
    auto log = std::make_unique<ReleaseLog>(path(), start, seconds);
    log->bind(kRun, binding());
    return log;
  }

  // A center, a sum of public rows and two rounds, in four files.
  void write_four(double seconds = kAtOnce) const {
    const auto log = bound(LogStart::kNewRun, seconds);
    log->record(kCenter, center());
    log->public_sum("pca", gradient(5));
    log->record(kGradient, gradient(1));
    log->record(kGradient, gradient(2));
    log->flush();
  }

  std::map<std::string, std::string> bytes_of_files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      files.emplace(entry.path().filename(), read_bytes(entry.path()));
    }
    return files;
  }

  TemporaryFolder folder_;
};

TEST_F(ReleaseLogTest, GivesBackWhatItWasGivenAndGoesOn) {
  write_four();
  {
    const auto log = bound(LogStart::kResume);
    EXPECT_EQ(log->run_id(), kRun);
    EXPECT_EQ(log->recorded(), 4U);
    EXPECT_EQ(log->release_labels(), (std::vector<std::string>{"center", "gradient/1", "gradient/2"}));
    expect_equal(log->next(kCenter), center());
    log->public_sum("pca", gradient(5));
    expect_equal(log->next(kGradient), gradient(1));
    expect_equal(log->next(kGradient), gradient(2));
    log->record(kGradient, gradient(3));
  }
  const auto log = bound(LogStart::kResume);
  EXPECT_EQ(log->release_labels().back(), "gradient/3");
}

TEST_F(ReleaseLogTest, WritesNothingBeforeItsTimeButAllWhenFlushed) {
  {
    const auto log = bound(LogStart::kNewRun, kHours);
    log->record(kCenter, center());
    log->record(kGradient, gradient(1));
    EXPECT_FALSE(std::filesystem::exists(file("releases-000001.safetensors")));
    log->flush();
    log->flush();
    log->record(kGradient, gradient(2));  // lost
  }
  const auto log = bound(LogStart::kResume, kHours);
  EXPECT_EQ(log->recorded(), 2U);
  expect_equal(log->next(kCenter), center());
  expect_equal(log->next(kGradient), gradient(1));
  log->record(kGradient, gradient(2));
  log->flush();
  EXPECT_TRUE(std::filesystem::exists(file("releases-000003.safetensors")));
}

// Or files would tell how long rounds took, which one person with many rows decides.
TEST_F(ReleaseLogTest, NoFileTellsWhenReleasesWereWritten) {
  write_four();
  const auto files = bytes_of_files();
  EXPECT_EQ(files.size(), 5U);
  std::filesystem::remove_all(path());
  write_four(kHours);
  EXPECT_EQ(bytes_of_files(), files);
}

TEST_F(ReleaseLogTest, ReleasesThatShareAFileAreTakenOneByOne) {
  write_four();
  SafetensorsFile both = read_safetensors(file("releases-000003.safetensors"));
  both.tensors.merge(read_safetensors(file("releases-000004.safetensors")).tensors);
  both.metadata["labels"] = R"(["gradient/1","gradient/2"])";
  both.metadata.erase("sha256");
  const std::string checksum = to_hex(sha256(serialize(both)));
  both.metadata["sha256"] = checksum;
  const std::vector<std::byte> bytes = serialize(both);
  write_bytes(file("releases-000003.safetensors"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::filesystem::remove(file("releases-000004.safetensors"));
  const auto log = bound(LogStart::kResume);
  log->next(kCenter);
  log->public_sum("pca", gradient(5));
  expect_equal(log->next(kGradient), gradient(1));
  expect_equal(log->next(kGradient), gradient(2));
  log->record(kGradient, gradient(3));
  EXPECT_TRUE(std::filesystem::exists(file("releases-000005.safetensors")));
}

TEST_F(ReleaseLogTest, ANewRunIsRefusedWhereReleasesAre) {
  write_four();
  expect_refusal<ResumeMismatch>([&] { ReleaseLog(path(), LogStart::kNewRun, kAtOnce); }, {path(), "--resume"});
}

TEST_F(ReleaseLogTest, ANewRunTakesTheFolderOfOneThatReleasedNothing) {
  bound(LogStart::kNewRun).reset();
  ReleaseLog log(path(), LogStart::kNewRun, kAtOnce);
  EXPECT_TRUE(log.run_id().empty());
  log.bind("another", {{"method", "adam"}});
  EXPECT_EQ(log.run_id(), "another");
}

TEST_F(ReleaseLogTest, WithoutACheckpointTheRunBegins) {
  const auto log = std::make_unique<ReleaseLog>(path(), LogStart::kResume, kAtOnce);
  EXPECT_EQ(log->run_id(), "");
  EXPECT_EQ(log->recorded(), 0U);
  log->require_binding(binding());
  log->bind(kRun, binding());
  EXPECT_EQ(log->run_id(), kRun);
  EXPECT_TRUE(std::filesystem::exists(file("checkpoint.json")));
}

TEST_F(ReleaseLogTest, AnotherRunIsRefusedByTheFirstThingThatDiffers) {
  write_four();
  const auto resumed = [&](const std::string& name, const nlohmann::json& value) {
    nlohmann::json changed = binding();
    changed[name] = value;
    ReleaseLog(path(), LogStart::kResume, kAtOnce).require_binding(changed);
  };
  expect_refusal<ResumeMismatch>([&] { resumed("rounds", 5); }, {path(), "rounds is 3 there and 5 here"});
  expect_refusal<ResumeMismatch>([&] { resumed("rows", std::string(64, 'b')); }, {"rows is not the same"});
  expect_refusal<ResumeMismatch>([&] { resumed("list", {1, 3}); }, {"list is [1,2] there and [1,3] here"});
  expect_refusal<ResumeMismatch>([&] { resumed("new", true); }, {"new is null there and true here"});
}

TEST_F(ReleaseLogTest, PublicRowsThatChangedAreRefused) {
  write_four();
  const auto log = bound(LogStart::kResume);
  log->next(kCenter);
  expect_refusal<ResumeMismatch>([&] { log->public_sum("pca", gradient(6)); }, {"--public-x", "pca"});
}

TEST_F(ReleaseLogTest, AReleaseOutOfPlaceIsRefused) {
  write_four();
  const auto log = bound(LogStart::kResume);
  expect_refusal<BadInput>([&] { log->next(kGradient); }, {"holds center where gradient/1 comes"});
}

TEST_F(ReleaseLogTest, ABlockOfAnotherSizeIsRefused) {
  write_four();
  PlannedRelease longer = kCenter;
  longer.blocks[0].elements = 3;
  const auto log = bound(LogStart::kResume);
  expect_refusal<BadInput>([&] { log->next(longer); }, {"has no block sum of 3 numbers"});
}

TEST_F(ReleaseLogTest, AnotherVersionIsRefusedAndNamed) {
  write_four();
  std::string text = read_bytes(file("checkpoint.json"));
  const std::string key = "\"format_version\": ";
  text.at(text.find(key) + key.size()) = '7';
  write_bytes(file("checkpoint.json"), text);
  expect_refusal<ResumeMismatch>([&] { ReleaseLog(path(), LogStart::kResume, kAtOnce); }, {"version 7, known is 2"});
}

TEST_F(ReleaseLogTest, AMissingFileIsNoticed) {
  write_four();
  std::filesystem::remove(file("releases-000002.safetensors"));
  expect_refusal<BadInput>([&] { ReleaseLog(path(), LogStart::kResume, kAtOnce); },
                           {"releases-000002.safetensors: is missing", "damaged"});
  std::filesystem::remove(file("checkpoint.json"));
  expect_refusal<BadInput>([&] { ReleaseLog(path(), LogStart::kResume, kAtOnce); }, {"checkpoint.json: is missing"});
}

// Every file with any byte changed, and cut in many places.
TEST_F(ReleaseLogTest, NoDamageGoesUnnoticed) {
  write_four();
  for (const std::string name : {"checkpoint.json", "releases-000001.safetensors", "releases-000003.safetensors"}) {
    const std::string whole = read_bytes(file(name));
    for (std::size_t place = 0; place < whole.size(); ++place) {
      // White space alone does not change what a file says.
      if (whole[place] == ' ' || whole[place] == '\n') continue;
      std::string changed = whole;
      changed[place] = static_cast<char>(changed[place] ^ 1);
      std::vector<std::string> all{changed};
      if (place % kCutEvery == 0) all.push_back(whole.substr(0, place));
      for (const std::string& damaged : all) {
        write_bytes(file(name), damaged);
        try {
          const ReleaseLog log(path(), LogStart::kResume, kAtOnce);
          ADD_FAILURE() << name << ": byte " << place << (damaged == changed ? " changed" : ": cut");
        } catch (const Error& error) {
          EXPECT_TRUE(error.code() == ExitCode::kBadInput || error.code() == ExitCode::kResumeMismatch);
          EXPECT_NE(std::string(error.what()).find(path()), std::string::npos) << error.what();
        }
      }
    }
    write_bytes(file(name), whole);
  }
  EXPECT_EQ(bound(LogStart::kResume)->recorded(), 4U);
}

TEST_F(ReleaseLogTest, AFileInTheFoldersPlaceIsRefused) {
  write_bytes(path(), "file");
  expect_refusal<BadInput>([&] { ReleaseLog(path(), LogStart::kNewRun, kAtOnce); }, {"--checkpoint " + path()});
}

TEST_F(ReleaseLogTest, AFolderThatItMadeAndThatStaysEmptyIsRemoved) {
  { const ReleaseLog log(file("a/b"), LogStart::kNewRun, kAtOnce); }
  EXPECT_FALSE(std::filesystem::exists(path()));
  std::filesystem::create_directory(path());
  { const ReleaseLog log(path(), LogStart::kResume, kAtOnce); }
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(ReleaseLogTest, WhoWaitsForAFolderThatIsRemovedMakesItAgain) {
  auto ended = std::make_unique<ReleaseLog>(path(), LogStart::kNewRun, kAtOnce);
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ended.reset();
  });
  const auto log = bound(LogStart::kNewRun);
  end.join();
  log->record(kCenter, center());
  EXPECT_EQ(bytes_of_files().size(), 2U);
}

TEST_F(ReleaseLogTest, TwoRunsDoNotShareAFolder) {
  const auto log = bound(LogStart::kNewRun);
  expect_refusal<BadInput>([&] { ReleaseLog(path(), LogStart::kNewRun, kAtOnce); }, {"another run uses it"});
}

}  // namespace dpreduce::release_log_test
