#include "dpreduce/config/config_file.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "dpreduce/config/command_line.hpp"
#include "dpreduce/config/error.hpp"

namespace dpreduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("dpreduce_config_test." + std::to_string(getpid()) + ".toml");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_.string();
  }

  std::string refusal(const std::string& text) {
    const std::string path = write(text);
    try {
      parse_command_line({"fit", "--config", path});
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
      return error.what();
    }
    return "accepted";
  }

  std::filesystem::path path_;
};

constexpr const char* kRun = R"(train-x = ["a.npy", "b.npy"]
train_y = "y.npy"
classes = 10
epsilon = 0.5
delta = 1e-6
dry-run = true
)";

TEST_F(ConfigFile, GivesTheOptionsOfTheCommand) {
  const auto fit = std::get<FitOptions>(parse_command_line({"fit", "--config", write(kRun)}));
  EXPECT_THAT(fit.train.x, ElementsAre("a.npy", "b.npy"));
  EXPECT_THAT(fit.train.y, ElementsAre("y.npy"));
  EXPECT_EQ(fit.classes, 10U);
  EXPECT_EQ(fit.budget.epsilon, 0.5);
  EXPECT_TRUE(fit.dry_run);
}

TEST_F(ConfigFile, TheCommandLineWins) {
  const std::string path = write(kRun);
  const auto fit = std::get<FitOptions>(
      parse_command_line({"fit", "--classes=3", "--config=" + path, "--train-x", "c.npy", "--epsilon", "2"}));
  EXPECT_THAT(fit.train.x, ElementsAre("c.npy"));
  EXPECT_EQ(fit.classes, 3U);
  EXPECT_EQ(fit.budget.epsilon, 2.0);
  EXPECT_EQ(fit.budget.delta, 1e-6);
}

TEST_F(ConfigFile, ReadsTheCommandsSectionAndPassesOverOthers) {
  const auto fit = std::get<FitOptions>(parse_command_line(
      {"fit", "--train-x", "x", "--train-y", "y", "--config", write("[fit]\nclasses = 4\n[synth]\nout = \"o\"\n")}));
  EXPECT_EQ(fit.classes, 4U);
}

TEST_F(ConfigFile, FalseLeavesAFlagAlone) {
  const auto fit = std::get<FitOptions>(parse_command_line(
      {"fit", "--train-x", "x", "--train-y", "y", "--classes", "2", "--config", write("dry-run = false\n")}));
  EXPECT_FALSE(fit.dry_run);
}

TEST_F(ConfigFile, UnknownKeysAreNamed) {
  EXPECT_THAT(refusal("epsilonn = 1\n"), HasSubstr("epsilonn"));
}

TEST_F(ConfigFile, SectionsAreCommands) {
  EXPECT_THAT(refusal("[fti]\nclasses = 3\n"), HasSubstr("[fti]"));
}

TEST_F(ConfigFile, FlagsAreTrueOrFalse) {
  EXPECT_THAT(refusal("dry-run = 3\n"), HasSubstr("true or false"));
}

TEST_F(ConfigFile, AMissingFileIsNamed) {
  EXPECT_THROW(parse_command_line({"fit", "--config", "/nonexistent/run.toml"}), UsageError);
  EXPECT_THROW(parse_command_line({"fit", "--config"}), UsageError);
}

TEST_F(ConfigFile, AHugeFileIsRefused) {
  EXPECT_THAT(refusal(std::string((1 << 20) + 1, '#')), HasSubstr("1 MiB"));
}

}  // namespace
}  // namespace dpreduce
