#include "common/base/huge_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <sys/mman.h>

namespace dpreduce {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t whole_units(std::size_t bytes, std::size_t unit) {
  return std::max((bytes + unit - 1) / unit, std::size_t{1}) * unit;
}

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer watches the borders of what comes from the heap alone.
constexpr bool kFromHeap = true;
#else
constexpr bool kFromHeap = false;
#endif

bool is_mapped(std::size_t bytes) {
  return bytes >= kHugePage && !kFromHeap;
}

}  // namespace

void* allocate_in_huge_pages(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() - 2 * kHugePage) throw std::bad_alloc();
  if (!is_mapped(bytes)) {
    void* const memory = std::aligned_alloc(kLine, whole_units(bytes, kLine));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  const std::size_t whole = whole_units(bytes, kHugePage);
  void* const room = mmap(nullptr, whole + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  // Gives back at once the memory before the first border of huge pages, and behind the last.
  auto* const begin = static_cast<char*>(room);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(room) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + whole, kHugePage - before);
  madvise(begin + before, whole, MADV_HUGEPAGE);  // advice: it may be refused
  return begin + before;
}

void free_huge_pages(void* memory, std::size_t bytes) noexcept {
  if (!is_mapped(bytes)) return std::free(memory);
  munmap(memory, whole_units(bytes, kHugePage));
}

}  // namespace dpreduce
