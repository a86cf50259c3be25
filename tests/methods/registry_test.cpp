#include "methods/registry.hpp"

#include <nlohmann/json.hpp>

#include "fit/validated_options.hpp"
#include "methods/fit_table.hpp"
#include "methods/method_terms.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::registry_test {

// An option of a fit, or a value that it may have.
bool is_known(std::string_view option) {
  FitOptions fit;
  OptionTable table;
  declare_fit(table, fit);
  EXPECT_FALSE(table.holds(option)) << option;  // throws where there is none
  const Option& own = *table.find(option.substr(0, option.find(' ')));
  const std::string_view value = option.substr(std::min(option.find(' '), option.size() - 1) + 1);
  return value.empty() || value.starts_with("above ") || own.type.find(value) != std::string::npos;
}

TEST(Registry, EveryMethodHasANameOfItsOwnAndALineOfHelp) {
  std::set<std::string_view> names;
  for (const MethodEntry* method : all_methods()) {
    EXPECT_TRUE(names.insert(method->name).second) << method->name;
    EXPECT_EQ(find_method(method->name), method);
    EXPECT_FALSE(method->help.empty()) << method->name;
  }
}

// The first table of the page: its rows begin with the method, with options where it has several forms.
TEST(Registry, EveryMethodHasARowInTheTableOfTheDocuments) {
  std::ifstream page(DPREDUCE_TEST_DATA "/../../docs/reference/methods.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (const MethodEntry* method : all_methods()) {
    const std::string row = fmt::format("\n| `{}", method->name);
    const bool has_row = text.find(row + "` |") != std::string::npos || text.find(row + " --") != std::string::npos;
    EXPECT_TRUE(has_row) << "docs/reference/methods.md: no row of " << method->name;
  }
}

// The methods' first page names where each is described: a page, or a section of one.
TEST(Registry, EveryMethodIsDescribed) {
  const std::string folder = DPREDUCE_TEST_DATA "/../../docs/explanation/methods/";
  const auto text_of = [&](const std::string& page) {
    std::ifstream file(folder + page);
    return "\n" + std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string index = text_of("index.md");
  for (const MethodEntry* method : all_methods()) {
    const std::string row = fmt::format("\n| [{}](", method->name);
    const std::size_t begin = index.find(row);
    ASSERT_NE(begin, std::string::npos) << "docs/explanation/methods/index.md: no row of " << method->name;
    const std::size_t link = begin + row.size();
    const std::string page = index.substr(link, index.find_first_of("#)", link) - link);
    EXPECT_NE(text_of(page).find(fmt::format("# {}: ", method->name)), std::string::npos)
        << page << ": no heading of " << method->name;
  }
}

TEST(Registry, EveryMethodIsMadeOrStandsForAnother) {
  for (const MethodEntry* method : all_methods()) {
    EXPECT_NE(method->make == nullptr, method->resolve == nullptr) << method->name;
    EXPECT_TRUE(method->resolved_by.empty() || method->resolve != nullptr) << method->name;
  }
}

TEST(Registry, MethodsTakeAndRefuseOptionsThatThereAre) {
  for (const MethodEntry* method : all_methods()) {
    for (const TakenOption& taken : method->takes) EXPECT_TRUE(is_known(taken.option)) << taken.option;
    for (const RefusedOption& refused : method->refuses) {
      EXPECT_TRUE(is_known(refused.option)) << refused.option;
      EXPECT_FALSE(method->takes_option(refused.option)) << refused.option;
      EXPECT_FALSE(refused.reason.empty()) << refused.option;
    }
  }
}

TEST(Registry, AMadeMethodHasTheDefaultsThatHelpTells) {
  for (const MethodEntry* entry : all_methods()) {
    if (entry->make == nullptr) continue;
    const FitOptions options = resolved(good_fit(std::string(entry->name)), 16, 100);
    ASSERT_EQ(options.method.name, entry->name);
    const auto method = make_method(options);
    const nlohmann::json settings = method->settings();
    for (const TakenOption& taken : entry->takes) {
      std::string key(taken.option.substr(2));
      std::replace(key.begin(), key.end(), '-', '_');
      if (taken.usual.empty() || !settings.contains(key)) continue;
      EXPECT_EQ(fmt::format("{}", settings[key].get<double>()), taken.usual) << entry->name << " " << taken.option;
    }
  }
}

// What settings tell; all releases together are the whole budget. Means of a warm start take from all others alike, and
// come right before the rounds.
TEST(Registry, ReleasesOfAMethodHaveTheSharesThatItTells) {
  for (const MethodEntry* entry : all_methods()) {
    if (entry->make == nullptr) continue;
    SCOPED_TRACE(entry->name);
    for (const bool are_given : {false, true}) {
      FitOptions options = good_fit(std::string(entry->name));
      options.method.warm_start = entry->takes_option("--warm-start");
      if (are_given && options.method.warm_start) options.method.warm_start_share = 0.25;
      if (are_given && entry->takes_option("--gram-share")) options.method.gram_share = 0.4;
      const auto method = make_method(resolved(options, 16, 100));
      const nlohmann::json settings = method->settings();
      const double warm = settings.value("warm_start_share", 0.0);
      EXPECT_EQ(warm > 0.0, options.method.warm_start);
      const std::vector<ReleaseRequest> requests = method->requests({.classes = 3, .dim = 16});
      EXPECT_EQ(requests.empty(), entry->chooses_public_rows);
      double sum = 0.0;
      for (const ReleaseRequest& request : requests) {
        sum += request.share;
        if (request.name == "gram") {
          EXPECT_NEAR(request.share, (1.0 - warm) * settings["gram_share"].get<double>(), 1e-12);
        }
      }
      EXPECT_NEAR(sum, requests.empty() ? 0.0 : 1.0, 1e-12);
      if (warm == 0.0) continue;
      const ReleaseRequest& before = requests.at(requests.size() - 2);
      EXPECT_EQ(before.name, "class_means");
      EXPECT_NEAR(before.share, warm, 1e-12);
    }
  }
}

TEST(Registry, AnUnknownMethodIsRefusedWithAllNames) {
  EXPECT_EQ(find_method("magic"), nullptr);
  MethodOptions options;
  options.name = "magic";
  expect_refusal<UsageError>([&] { method_entry(options); }, {"--method magic: must be one of " + all_method_names()});
}

TEST(Registry, ListsMethodsAsASentenceDoes) {
  EXPECT_EQ(methods_where([](const MethodEntry& method) { return method.name == "gd"; }), "gd");
  EXPECT_EQ(methods_where([](const MethodEntry& method) { return method.name == "gd" || method.name == "adam"; }),
            "gd or adam");
  EXPECT_EQ(methods_where([](const MethodEntry& method) {
              return method.name == "gd" || method.name == "ls" || method.name == "fc";
            }),
            "ls, fc or gd");
  EXPECT_THAT(methods_that_take("--batch"), HasSubstr("gd"));
  EXPECT_EQ(methods_where([](const MethodEntry& method) { return method.chooses_public_rows; }),
            "public or prototypes");
}

TEST(Registry, APublicChoiceNeedsPublicRows) {
  for (const char* name : {"public", "prototypes"}) {
    FitOptions fit = good_fit(name);
    fit.data.public_x.clear();
    EXPECT_THAT(refusal(fit), HasSubstr("goes with --public-x: prototypes are chosen among public rows")) << name;
    EXPECT_TRUE(may_choose_public_rows(fit));
  }
  EXPECT_FALSE(may_choose_public_rows(good_fit("mean")));
}

}  // namespace dpreduce::registry_test
