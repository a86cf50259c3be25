// Large arrays in huge pages, if the system provides them.
//
// A product adds into its sums tile by tile, and every row of a tile lies in a page of its own: with pages of 4 KiB the
// sums of 1024 features have more of them than the processor remembers.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dpreduce {

/// At least `bytes`, aligned to 64, in huge pages from 2 MiB on, where the system has them: fresh ones, since small
/// pages that a heap has used before stay small. Throws std::bad_alloc.
void* allocate_in_huge_pages(std::size_t bytes);

/// Gives back what was allocated for as many bytes.
void free_huge_pages(void* memory, std::size_t bytes) noexcept;

/// The same for a standard container.
template <class T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_in_huge_pages(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { free_huge_pages(memory, count * sizeof(T)); }
  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

/// For the operands and sums of products.
template <class T>
using LargeVector = std::vector<T, HugePageAllocator<T>>;

/// The same, but that new elements have no value: for numbers that are written before they are read.
template <class T>
struct UnsetHugePageAllocator : HugePageAllocator<T> {
  template <class U>
  void construct(U* element) noexcept {
    ::new (static_cast<void*>(element)) U;
  }
};
template <class T>
using LargeUnsetVector = std::vector<T, UnsetHugePageAllocator<T>>;

}  // namespace dpreduce
