#include "common/base/shown_text.hpp"

#include "tests/testing.hpp"

namespace dpreduce::shown_text_test {

TEST(ShownText, IsPrintableAsciiOfABoundedLength) {
  EXPECT_EQ(shown_text("a b~", 4), "a b~");
  EXPECT_EQ(shown_text("a\n\x1b[2J\x7f\xc2\x9b", 100), "a??[2J???");
  EXPECT_EQ(shown_text(std::string(100, 'x'), 32), std::string(32, 'x'));
  EXPECT_EQ(shown_text("", 32), "");
}

}  // namespace dpreduce::shown_text_test
