#include "commands/command_line/specs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.hpp"

namespace dpreduce {
namespace {

using testing::HasSubstr;

constexpr MechanismKind kAllKinds[] = {MechanismKind::kGaussian, MechanismKind::kSubsampled,
                                       MechanismKind::kExponential, MechanismKind::kLaplace, MechanismKind::kPure};

void expect_spec(const MechanismSpec& spec, double parameter, double sampling_rate, std::uint64_t count) {
  EXPECT_EQ(spec.parameter, parameter);
  EXPECT_EQ(spec.sampling_rate, sampling_rate);
  EXPECT_EQ(spec.count, count);
}

TEST(Specs, MechanismsHaveTheirParametersAndACount) {
  expect_spec(parse_mechanism_spec(MechanismKind::kGaussian, "1.5:10"), 1.5, 1, 10);
  expect_spec(parse_mechanism_spec(MechanismKind::kSubsampled, "1e1:1e-2:1000"), 10, 0.01, 1000);
  expect_spec(parse_mechanism_spec(MechanismKind::kExponential, ".5:3"), 0.5, 1, 3);
  expect_spec(parse_mechanism_spec(MechanismKind::kLaplace, "2:18446744073709551615"), 2, 1, 18446744073709551615U);
  expect_spec(parse_mechanism_spec(MechanismKind::kPure, "0.25:1"), 0.25, 1, 1);
  for (const MechanismKind kind : kAllKinds) {
    const bool sampled = kind == MechanismKind::kSubsampled;
    EXPECT_EQ(parse_mechanism_spec(kind, sampled ? "1:1" : "1").kind, kind);
  }
}

TEST(Specs, TheCountIsOneWhereLeftOut) {
  expect_spec(parse_mechanism_spec(MechanismKind::kGaussian, "4"), 4, 1, 1);
  expect_spec(parse_mechanism_spec(MechanismKind::kSubsampled, "4:0.5"), 4, 0.5, 1);
}

TEST(Specs, WhatIsNoMechanismIsRefusedWithItsOptionAndForm) {
  for (const MechanismKind kind : kAllKinds) {
    const std::string head = kind == MechanismKind::kSubsampled ? "1:0.5" : "1";
    for (const std::string& text :
         {std::string(), std::string(":"), std::string("a"), std::string("nan"), std::string("inf"),
          std::string("1e999"), std::string(" 1"), std::string("+1"), std::string("1,5"), std::string("0x"), head + ":",
          head + ":0", head + ":-1", head + ":1.5", head + ":1e3", head + ":18446744073709551616", head + ":1:1",
          head + ":1 ", ":" + head}) {
      try {
        parse_mechanism_spec(kind, text);
        ADD_FAILURE() << to_string(kind) << " " << text << " was accepted";
      } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("--" + std::string(to_string(kind)) + " "));
        EXPECT_THAT(error.what(), HasSubstr(std::string(parameters_of(kind)) + "[:K]"));
      }
    }
  }
  EXPECT_THROW(parse_mechanism_spec(MechanismKind::kSubsampled, "1"), UsageError);
  EXPECT_THROW(parse_mechanism_spec(MechanismKind::kSubsampled, "1:nan"), UsageError);
}

TEST(Specs, BlocksHaveNameSensitivityAndWeight) {
  const BlockSpec block = parse_block_spec("class sums:1.5:768");
  EXPECT_EQ(block.name, "class sums");
  EXPECT_EQ(block.sensitivity, 1.5);
  EXPECT_EQ(block.loss_weight, 768);
  EXPECT_EQ(parse_block_spec("a:2").loss_weight, 1);
}

TEST(Specs, WhatIsNoBlockIsRefusedWithTheForm) {
  for (const char* text : {"", "a", ":1", "a:", "a:b", "a:0", "a:-1", "a:nan", "a:inf", "a:1:", "a:1:0", "a:1:-1",
                           "a:1:inf", "a:1:1:1", "1:2:"}) {
    try {
      parse_block_spec(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("NAME:D[:W]"));
    }
  }
}

}  // namespace
}  // namespace dpreduce
