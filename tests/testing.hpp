// What every test includes: the testing library, the parts of the standard library that tests use, and refusals.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dpreduce {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

/// What the Expected says that `action` throws; empty where it throws nothing.
template <typename Expected, typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  }
  return {};
}

/// Calls that are refused, and changes that spoil a T, each with what is said of it.
using RefusedCalls = std::vector<std::pair<std::function<void()>, std::string>>;
template <typename T>
using Spoils = std::vector<std::pair<std::function<void(T&)>, std::string>>;

/// Expects an Expected whose message holds every one of `parts`.
template <typename Expected, typename Action>
void expect_refusal(Action&& action, const std::vector<std::string>& parts) {
  const std::string message = refusal<Expected>(action);
  EXPECT_NE(message, "") << "nothing was thrown";
  for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
}

template <typename Expected>
void expect_refusals(const RefusedCalls& calls) {
  for (const auto& [call, message] : calls) expect_refusal<Expected>(call, {message});
}

}  // namespace dpreduce
