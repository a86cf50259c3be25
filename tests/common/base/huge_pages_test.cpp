#include "common/base/huge_pages.hpp"

#include "tests/testing.hpp"

namespace dpreduce::huge_pages_test {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

TEST(HugePages, AreAlignedCanBeWrittenToTheirEndAndAreRefusedWhereTheyAreTooMany) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, kHugePage - 1, kHugePage, kHugePage + 1}) {
    const LargeVector<char> values(bytes, 'a');
    ASSERT_EQ(values.size(), bytes);
    if (bytes == 0) continue;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values.data()) % (bytes < kHugePage ? 64 : kHugePage), 0U);
    EXPECT_EQ(values.back(), 'a');
  }
  void* memory = allocate_in_huge_pages(0);
  EXPECT_NE(memory, nullptr);
  free_huge_pages(memory, 0);
  EXPECT_THROW(allocate_in_huge_pages(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
}

}  // namespace dpreduce::huge_pages_test
