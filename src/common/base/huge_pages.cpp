#include "common/base/huge_pages.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include <sys/mman.h>

namespace dpreduce {

void* allocate_in_huge_pages(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (bytes > std::numeric_limits<std::size_t>::max() - kHugePage) throw std::bad_alloc();
  const std::size_t page = bytes < kHugePage ? kLine : kHugePage;
  const std::size_t whole = std::max((bytes + page - 1) / page, std::size_t{1}) * page;
  void* memory = std::aligned_alloc(page, whole);
  if (memory == nullptr) throw std::bad_alloc();
  if (page == kHugePage) madvise(memory, whole, MADV_HUGEPAGE);  // advice: it may be refused
  return memory;
}

}  // namespace dpreduce
