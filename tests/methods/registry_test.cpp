#include "methods/registry.hpp"

#include <nlohmann/json.hpp>

#include "methods/fit_table.hpp"
#include "tests/methods/good_fit.hpp"
#include "tests/methods/method_fixture.hpp"

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

std::string page_of(const std::string& path) {
  std::ifstream page(DPREDUCE_TEST_DATA "/../../docs/" + path);
  return "\n" + std::string{std::istreambuf_iterator<char>(page), {}};
}

// The first table of the page: its rows begin with the method, with options where it has several forms.
TEST(Registry, EveryMethodHasARowInTheTableOfTheDocuments) {
  const std::string text = page_of("reference/methods.md");
  for (const MethodEntry* method : all_methods()) {
    const std::string row = fmt::format("\n| `{}", method->name);
    const bool has_row = text.find(row + "` |") != std::string::npos || text.find(row + " --") != std::string::npos;
    EXPECT_TRUE(has_row) << "docs/reference/methods.md: no row of " << method->name;
  }
}

// The methods' first page names where each is described: a page, or a section of one.
TEST(Registry, EveryMethodIsDescribed) {
  const std::string folder = "explanation/methods/";
  const std::string index = page_of(folder + "index.md");
  for (const MethodEntry* method : all_methods()) {
    const std::string row = fmt::format("\n| [{}](", method->name);
    const std::size_t begin = index.find(row);
    ASSERT_NE(begin, std::string::npos) << "docs/explanation/methods/index.md: no row of " << method->name;
    const std::size_t link = begin + row.size();
    const std::string page = index.substr(link, index.find_first_of("#)", link) - link);
    EXPECT_NE(page_of(folder + page).find(fmt::format("# {}: ", method->name)), std::string::npos)
        << page << ": no heading of " << method->name;
  }
}

TEST(Registry, EveryMethodIsMadeOrStandsForAnother) {
  for (const MethodEntry* method : all_methods()) {
    EXPECT_NE(method->make == nullptr, method->resolve == nullptr) << method->name;
    EXPECT_TRUE(method->resolved_by.empty() || method->resolve != nullptr) << method->name;
  }
  for (const char* name : {"auto", "prototypes"}) {
    ASSERT_NE(find_method(name), nullptr) << name;
    EXPECT_NE(find_method(name)->resolve, nullptr) << name << " stands for others";
  }
  EXPECT_TRUE(find_method("auto")->whitens_rows);
  EXPECT_THAT(std::string(find_method("prototypes")->resolved_by), HasSubstr("public knowledge"));
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

using Json = nlohmann::json;

// Of a method by rounds, and what it tells beside.
Json settings_of_rounds(std::uint64_t rounds, const Json& others = Json::object()) {
  Json all{{"rounds", rounds}, {"loss", "softmax"}, {"residual_norm", 1.0}, {"iterate", "last"}, {"intercept", 0.1}};
  all.update(others);
  return all;
}

class MethodSettings : public MethodTest {};

TEST_F(MethodSettings, NameWhatAMethodIsByDefault) {
  const std::vector<std::pair<std::string, Json>> defaults{
      {"mean", Json({{"metric", "cosine"}})},
      {"fisher", Json({{"select_by", "distance"}})},
      {"coinpress", Json({{"rounds", 2}})},
      {"public", Json({{"top_k", 1}, {"d_min", 0.0}, {"d_max", 2.0}})},
      {"ls",
       Json({{"shared_gram", false}, {"gram_share", 0.5}, {"intercept", 0.0}, {"alpha", 1.0}, {"lambda", "auto"}})},
      {"adam", settings_of_rounds(150)},
      {"gd", settings_of_rounds(300)},
      {"global-adapt", settings_of_rounds(300, Json({{"residual_norm", "adaptive"}}))},
      {"newton", settings_of_rounds(6, Json({{"hessian_share", 0.5}}))},
      {"fc", settings_of_rounds(20, Json({{"intercept", 0.05}, {"gram_share", 0.1}}))},
      {"fedavg", settings_of_rounds(60, Json({{"local_steps", 5}, {"noise", "each silo's own"}}))}};
  for (const auto& [method, settings] : defaults) EXPECT_EQ(settings_of(options_of(method)), settings) << method;
}

TEST_F(MethodSettings, NameWhatWasGiven) {
  struct Given {
    std::string method;
    std::function<void(FitOptions&)> give;
    Json settings;
  };
  const std::vector<Given> all{
      {"mean", [](auto& fit) { fit.method.metric = Metric::kEuclidean; }, Json({{"metric", "euclidean"}})},
      {"fisher", [](auto& fit) { fit.rows.select_by = SelectBy::kT; }, Json({{"select_by", "t"}})},
      {"coinpress", [](auto& fit) { fit.method.rounds = 5; }, Json({{"rounds", 5}})},
      {"public", [](auto& fit) { fit.method.top_k = 3, fit.method.d_min = 0.5; },
       Json({{"top_k", 3}, {"d_min", 0.5}, {"d_max", 2.0}})},
      {"ls", [](auto& fit) { fit.method.shared_gram = true, fit.data.classes = 30; },
       Json({{"shared_gram", true}, {"gram_share", 0.3}, {"intercept", 0.0}})},
      {"fedavg", [](auto& fit) { fit.method.local_steps = 8, fit.method.learning_rate = 0.5; },
       settings_of_rounds(60, Json({{"local_steps", 8}, {"learning_rate", 0.5}, {"noise", "each silo's own"}}))},
      {"adam", [](auto& fit) { fit.method.learning_rate = 0.5, fit.method.loss = Loss::kSigmoid; },
       settings_of_rounds(150, Json({{"loss", "sigmoid"}, {"learning_rate", 0.5}}))},
      // As many more rounds as each sees fewer rows.
      {"gd", [](auto& fit) { fit.method.batch = 0.8, fit.method.learning_rate = 0.5, fit.method.radius = 3.0; },
       settings_of_rounds(375, Json({{"batch", 0.8}, {"learning_rate", 0.5}, {"radius", 3.0}}))},
      {"fc",
       [](auto& fit) { fit.method.warm_start = true, fit.method.warm_start_share = 0.25, fit.method.gram_share = 0.4; },
       settings_of_rounds(20, Json({{"intercept", 0.05}, {"warm_start_share", 0.25}, {"gram_share", 0.4}}))}};
  for (const auto& [method, give, settings] : all) {
    FitOptions options = options_of(method);
    give(options);
    EXPECT_EQ(settings_of(options), settings) << method;
  }
}

TEST_F(MethodSettings, CountsAreReleasedForCentersOnly) {
  FitOptions options = options_of("mean");
  const ReleaseTerms terms{.classes = kClasses, .dim = kInputDim};
  EXPECT_THAT(names_of(make_method(options)->requests(terms).front().blocks), ElementsAre("class_sums"));
  options.method.metric = Metric::kEuclidean;
  EXPECT_THAT(names_of(make_method(options)->requests(terms).front().blocks),
              ElementsAre("class_sums", "class_counts"));
}

TEST(Registry, AnUnknownMethodIsRefusedWithAllNames) {
  EXPECT_EQ(find_method("magic"), nullptr);
  MethodOptions options;
  options.name = "magic";
  expect_refusal<UsageError>([&] { method_entry(options); }, {"--method magic: must be one of " + all_method_names()});
}

TEST(Registry, ListsMethodsAsASentenceDoes) {
  const auto listed = [](const std::set<std::string_view>& names) {
    return methods_where([&](const MethodEntry& method) { return names.contains(method.name); });
  };
  EXPECT_EQ(listed({"gd"}), "gd");
  EXPECT_EQ(listed({"gd", "adam"}), "gd or adam");
  EXPECT_EQ(listed({"gd", "ls", "fc"}), "ls, fc or gd");
  EXPECT_THAT(methods_that_take("--batch"), HasSubstr("gd"));
  EXPECT_EQ(methods_where([](const MethodEntry& method) { return method.chooses_public_rows; }),
            "public or prototypes");
}

TEST(Registry, APublicChoiceNeedsPublicRows) {
  for (const char* name : {"public", "prototypes"}) {
    FitOptions fit = good_fit(name);
    fit.data.public_x.clear();
    EXPECT_THAT(refusal(fit), HasSubstr(fmt::format(
                                  "--method {} goes with --public-x: prototypes are chosen among public rows", name)));
    EXPECT_TRUE(may_choose_public_rows(fit));
  }
  EXPECT_FALSE(may_choose_public_rows(good_fit("mean")));
}

}  // namespace dpreduce::registry_test
