#include "methods/data_options.hpp"

#include "tests/methods/good_fit.hpp"
#include "tests/testing.hpp"

namespace dpreduce::data_options_test {

TEST(DataOptions, GoodOnesAreAccepted) {
  DataOptions data = good_fit().data;
  EXPECT_THAT(refusal_of(data), IsEmpty());
  EXPECT_EQ(data.most_labels(), 1U);
  data.max_labels = 10;
  EXPECT_THAT(refusal_of(data), IsEmpty());
  EXPECT_EQ(data.most_labels(), 10U);
}

TEST(DataOptions, ClassesAreFromTwo) {
  DataOptions data = good_fit().data;
  for (const std::size_t classes : {std::size_t{0}, std::size_t{1}, std::size_t{99'999'999'999}}) {
    data.classes = classes;
    EXPECT_THAT(refusal_of(data), HasSubstr("--classes"));
  }
}

TEST(DataOptions, FeaturesAndLabelsGoTogether) {
  DataOptions data = good_fit().data;
  data.test.x = {"t.npy"};
  EXPECT_THAT(refusal_of(data), HasSubstr("--test-y is missing"));
  data = good_fit().data;
  data.validation.y = {"v.npy"};
  EXPECT_THAT(refusal_of(data), HasSubstr("--validation-x is missing"));
}

TEST(DataOptions, ARowHasAtMostAllClasses) {
  DataOptions data = good_fit().data;
  for (const std::size_t most : {0, 11}) {
    data.max_labels = most;
    EXPECT_THAT(refusal_of(data), HasSubstr("must be from 1 to 10, the number of classes"));
  }
}

TEST(DataOptions, AnImbalanceIsARatioFromOne) {
  DataOptions data = good_fit().data;
  for (const double ratio : {0.5, -1.0, 2e6, std::nan("")}) {
    data.imbalance_ratio = ratio;
    EXPECT_THAT(refusal_of(data), HasSubstr("--imbalance-ratio")) << ratio;
  }
  data.imbalance_ratio = 1.0;
  data.imbalance_seed = 2;
  EXPECT_THAT(refusal_of(data), HasSubstr("--imbalance-seed goes with --imbalance-ratio"));
  data = good_fit().data;
  data.imbalance_ratio = 10.0;
  data.max_labels = 2;
  EXPECT_THAT(refusal_of(data), HasSubstr("--imbalance-ratio with --max-labels"));
}

}  // namespace dpreduce::data_options_test
